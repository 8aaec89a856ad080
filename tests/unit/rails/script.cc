#include "unit/rails/script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/log.h"

namespace plait::transport::rails {

namespace {

constexpr std::byte kTaken{0xee}, kFree{0x77};  // what a reader and a sender leave where they are done

std::byte get_value(size_t at) { return std::byte((at * 13 + (at >> 9) * 5 + 3) & 0xff); }

}  // namespace

Script::Script(uint64_t seed, size_t rails, const MakeRail& make, Faults& faults, const Options& options,
               int64_t patience_ms)
    : random_(seed), pair_(rails, make, options), faults_(faults), patience_ms_(patience_ms) {
  for (size_t from = 0; from < 2; ++from) {
    for (size_t i = 0; i < kStreams; ++i) {
      Stream s;
      s.from = from;
      s.index = i;
      s.slot_bytes = i == 0 ? 64 : i == 1 ? 8000 : 400'000;
      s.total = i == 0 ? 60 + random(200) : i == 1 ? 30 + random(60) : 5 + random(12);
      s.source = pair_.sides[from].expose(kSlots * s.slot_bytes, Access::none);
      streams_.push_back(s);
    }
  }
  for (Stream& s : streams_) {  // region i of a side, of those that the other may write: stream i to it
    s.target = pair_.sides[1 - s.from].expose(kSlots * s.slot_bytes, Access::write);
    std::fill_n(s.target, kSlots * s.slot_bytes, kTaken);
  }
  for (Side& side : pair_.sides) {
    std::byte* source = side.expose(kGetBytes, Access::read);
    for (size_t i = 0; i < kGetBytes; ++i) source[i] = get_value(i);
    side.expose(kGetBytes, Access::none);
  }
  gets_left_ = {random(12), random(12)};
}

void Script::wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = what;
}

std::byte Script::value(const Stream& s, uint64_t n, size_t at) const {
  return std::byte((n * 31 + at * 7 + (at >> 8) * 3 + s.index * 17 + s.from) &
                   0x6f);  // neither kTaken nor kFree
}

// Its slot was given back: source and target are the script's to write.
void Script::begin(Stream& s) {
  Message m;
  m.bytes = 1 + random(random(3) == 0 ? s.slot_bytes : std::min<size_t>(s.slot_bytes, 300));
  m.parts = 1 + random(std::min<size_t>(m.bytes, 3));
  m.add = uint16_t(1 + random(3));
  m.sum = s.adds += m.add;
  m.when = When(random(3));
  m.cookie = ++cookie_;
  if (m.when != When::never) wanted_[s.from].push_back(m.cookie);
  std::byte* slot = s.source + s.begun % kSlots * s.slot_bytes;
  for (size_t i = 0; i < m.bytes; ++i) slot[i] = value(s, s.begun, i);
  s.sent.push_back(m);
  s.begun++;
}

void Script::post_part(Stream& s) {
  Message& m = s.sent.back();
  Side& side = pair_.sides[s.from];
  const size_t base = (s.begun - 1) % kSlots * s.slot_bytes;
  const size_t from = m.bytes * m.posted / m.parts, to = m.bytes * (m.posted + 1) / m.parts;
  const bool last = m.posted + 1 == m.parts;
  // Regions of a side: its kStreams sources, then its kStreams targets, then what is got. Those of the other
  // are alike.
  Transfer t;
  t.signal = {uint16_t(s.index), last ? m.add : uint16_t{0}};
  t.when = last ? m.when : When::never;
  t.cookie = m.cookie;
  t.local = side.regions[s.index]->slice(base + from, to - from).value();
  t.remote = side.remotes[kStreams + s.index]->slice(base + from, to - from).value();
  if (side.end->post({&t, 1}) == 1 && ++m.posted == m.parts) s.whole++;
}

// The reader: what a counter covers is there, whole; then the slot is scribbled over, and given back.
void Script::take(Stream& s) {
  Side& side = pair_.sides[1 - s.from];
  const uint64_t now = side.end->counter(uint16_t(s.index));
  if (now < s.seen) return wrong("a counter went back");
  s.seen = now;
  if (s.sent.empty() || now < s.sent.front().sum) return;
  const Message& m = s.sent.front();
  if (m.posted != m.parts) return wrong("a counter moved before its signal was posted");
  std::byte* slot = s.target + s.taken % kSlots * s.slot_bytes;
  for (size_t i = 0; i < m.bytes && !s.read; ++i) {
    if (slot[i] != value(s, s.taken, i))
      return wrong("stream " + std::to_string(s.index) + " message " + std::to_string(s.taken) + ": byte " +
                   std::to_string(i) + " of " + std::to_string(m.bytes) + " is " +
                   std::to_string(int(slot[i])) + ", not " + std::to_string(int(value(s, s.taken, i))) +
                   ": not there, or of another time");
  }
  std::fill_n(slot, s.slot_bytes, kTaken);
  s.read = true;
  Transfer credit;
  credit.signal = {uint16_t(kStreams + s.index), 1};
  if (side.end->post({&credit, 1}) == 0) return;
  s.read = false;
  s.taken++;
  s.sent.pop_front();
}

// A slot that was given back stays as it was left, whatever is under way.
void Script::check_scribbled(const Stream& s) {
  const size_t behind = s.begun - s.taken;
  if (behind == kSlots) return;
  const uint64_t n = s.begun + random(kSlots - behind);
  const std::byte* slot = s.target + n % kSlots * s.slot_bytes;
  // Each byte is as the one before it: in one call, since tests are not optimised.
  if (*slot != kTaken || std::memcmp(slot, slot + 1, s.slot_bytes - 1) != 0) wrong("something landed late");
}

void Script::start_get(size_t i) {
  Side& side = pair_.sides[i];
  const size_t at = random(kGetBytes), bytes = 1 + random(kGetBytes - at);
  Get get{++cookie_, at, bytes};
  Transfer t;
  t.verb = Verb::get;
  t.when = When::delivered;
  t.signal.counter = uint16_t(random(2 * kStreams));
  t.local = side.regions[2 * kStreams + 1]->slice(at, bytes).value();
  t.remote = side.remotes[2 * kStreams]->slice(at, bytes).value();
  t.cookie = get.cookie;
  std::fill_n(t.local.data, bytes, kFree);
  if (side.end->post({&t, 1}) == 0) return;
  gets_left_[i]--;
  gets_[i].push_back(get);
  wanted_[i].push_back(get.cookie);
}

void Script::harvest(size_t i) {
  Side& side = pair_.sides[i];
  side.poll();
  for (const Done& d : side.dones) {
    const auto wanted = std::ranges::find(wanted_[i], d.cookie);
    if (d.cookie == kEndCookie) return wrong("the endpoint failed: " + std::string(side.end->error()));
    if (wanted == wanted_[i].end()) return wrong("a Done came that nobody waits for, or twice");
    wanted_[i].erase(wanted);
    if (d.status != Code::ok)
      return wrong("a Done says " + std::string(code_name(d.status)) + ": " + std::string(side.end->error()));
    if (!gets_[i].empty() && gets_[i].front().cookie == d.cookie) {
      const std::byte* got = side.memory[2 * kStreams + 1].data();
      for (size_t at = gets_[i].front().at; at < gets_[i].front().at + gets_[i].front().bytes; ++at) {
        if (got[at] != get_value(at)) return wrong("a get brought other bytes");
      }
      gets_[i].pop_front();
    }
    // A Done frees the source, however it may have to be sent again.
    for (Stream& s : streams_) {
      if (s.from != i) continue;
      for (size_t k = 0; k < s.sent.size(); ++k) {
        if (s.sent[k].cookie != d.cookie || s.sent[k].when == When::never) continue;
        if (s.sent[k].parts == 1)
          std::fill_n(s.source + (s.taken + k) % kSlots * s.slot_bytes, s.slot_bytes, kFree);
      }
    }
  }
  side.dones.clear();
}

bool Script::over() const {
  return faults_.over() &&
         std::ranges::all_of(streams_, [](const Stream& s) { return s.taken == s.total; }) &&
         wanted_[0].empty() && wanted_[1].empty() && gets_left_[0] + gets_left_[1] == 0;
}

std::string Script::where() const {
  std::string text;
  for (const Stream& s : streams_) {
    text += "; stream " + std::to_string(s.from) + "." + std::to_string(s.index) + ": " +
            std::to_string(s.begun) + " begun, " + std::to_string(s.whole) + " whole, " +
            std::to_string(s.taken) + " taken of " + std::to_string(s.total);
  }
  for (size_t i = 0; i < 2; ++i) {
    text += "; side " + std::to_string(i) + ": " + std::to_string(wanted_[i].size()) + " Dones wanted, " +
            std::to_string(gets_[i].size()) + " gets, rails live:";
    for (const RailReport& rail : pair_.sides[i].domain->report()) text += " " + std::to_string(rail.live);
  }
  for (const Side& side : pair_.sides) text += "\n" + side.domain->describe();
  return text + "; " + faults_.now();
}

std::string Script::sums() const {
  uint64_t messages = 0, deaths = 0, returns = 0, resent = 0;
  for (const Stream& s : streams_) messages += s.taken;
  for (const Side& side : pair_.sides) {
    for (const RailReport& rail : side.domain->report())
      deaths += rail.deaths, returns += rail.returns, resent += rail.resent;
  }
  return std::to_string(messages) + " messages, " + std::to_string(deaths) + " deaths, " +
         std::to_string(returns) + " returns, " + std::to_string(resent) + " parts sent again";
}

std::string Script::run() {
  if (!pair_.connect(2 * kStreams)) return "it does not connect";
  Patience patience(patience_ms_);
  while (wrong_.empty() && !over()) {
    for (Stream& s : streams_) {
      if (!faults_.over() && s.begun == s.total) ++s.total;
      // What the peer's credits say, not what the shadow knows.
      const uint64_t back = pair_.sides[s.from].end->counter(uint16_t(kStreams + s.index));
      if (back > s.taken) wrong("a credit came that was not given");
      if (s.whole == s.begun && s.begun < s.total && s.begun - back < kSlots && random(3) == 0) begin(s);
      if (s.whole < s.begun) post_part(s);
    }
    for (size_t i = 0; i < 2; ++i) {
      if (!faults_.over()) gets_left_[i] = std::max<size_t>(gets_left_[i], 1);
      if (gets_left_[i] != 0 && gets_[i].empty() && random(20) == 0) start_get(i);
    }
    for (size_t i = random(3); i > 0; --i) harvest(random(2));
    for (Stream& s : streams_) {
      if (random(2) == 0) take(s);
      if (random(10) == 0) check_scribbled(s);
    }
    faults_.step(pair_, random_);
    for (const Side& side : pair_.sides) {
      if (side.end->state() != State::ready) wrong("the endpoint failed: " + std::string(side.end->error()));
    }
    if (patience.over()) wrong("it hangs" + where());
  }
  faults_.heal_all(pair_);
  if (!wrong_.empty()) return wrong_;
  if (!pair_.pump([&] { return pair_.all_live(); })) return "a rail did not come back";
  const bool came = pair_.pump([&] {
    return std::ranges::all_of(streams_, [&](const Stream& s) {
      return pair_.sides[s.from].end->counter(uint16_t(kStreams + s.index)) >= s.total;
    });
  });
  if (!came) return "a credit does not come" + where();
  for (int i = 0; i < 100; ++i) pair_.poll();
  for (const Stream& s : streams_) {
    if (pair_.sides[1 - s.from].end->counter(uint16_t(s.index)) != s.adds) return "a counter is not exact";
    if (pair_.sides[s.from].end->counter(uint16_t(kStreams + s.index)) != s.total)
      return "a credit is not exact";
  }
  if (!pair_.a.dones.empty() || !pair_.b.dones.empty()) return "a Done came that nobody waits for";
  for (size_t i = 0; i < streams_.size() * 20; ++i) check_scribbled(streams_[i % streams_.size()]);
  return wrong_;
}

int run_tests(int argc, char** argv, Seeds& seeds) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--seeds") seeds.count = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seed") seeds.first = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--fault") seeds.fault = argv[i + 1];
  }
  if (std::getenv("PLAIT_LOG") == nullptr) log::set_level(log::Level::error);
  return RUN_ALL_TESTS();
}

}  // namespace plait::transport::rails
