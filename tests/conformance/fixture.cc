#include "conformance/fixture.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <utility>

#include "support/all_are.h"

namespace plait::transport::conformance {
namespace {

// Of a pattern, what lies from `begin` on. Made apart, and copied and compared as a range: sanitizers note a
// range at once, and each byte of a loop.
using Block = std::array<std::byte, 1024>;
__attribute__((no_sanitize("address", "thread"))) void make(Block& block, uint8_t seed,
                                                            size_t begin) noexcept {
  std::byte* bytes = block.data();
  for (size_t k = 0, i = begin; k < sizeof(Block); k++, i++)
    bytes[k] = std::byte((i * 31 + (i >> 8) * 7 + (i >> 16) * 13 + seed * 97 + 13) & 0xff);
}

const Exclusion* excluded(const Backend& backend) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  for (const Exclusion& e : backend.excluded) {
    if (std::string(test.name()).starts_with(e.test)) return &e;
  }
  return nullptr;
}

}  // namespace

void fill_pattern(std::byte* to, size_t bytes, uint8_t seed) noexcept {
  Block block;
  for (size_t i = 0; i < bytes; i += sizeof block) {
    make(block, seed, i);
    std::memcpy(to + i, block.data(), std::min(sizeof block, bytes - i));
  }
}

bool holds_pattern(const std::byte* at, size_t bytes, uint8_t seed, size_t begin) noexcept {
  Block block;
  for (size_t i = 0; i < bytes; i += sizeof block) {
    make(block, seed, begin + i);
    if (std::memcmp(at + i, block.data(), std::min(sizeof block, bytes - i)) != 0) return false;
  }
  return true;
}

void Buffer::fill(uint8_t seed) noexcept { fill_pattern(data(), size(), seed); }

bool Buffer::holds(uint8_t seed, size_t offset, size_t bytes) const noexcept {
  return holds_pattern(data() + offset, std::min(bytes, size() - offset), seed, offset);
}

bool Buffer::all(std::byte value) const noexcept { return plait::test::all_are(data(), size(), value); }

void Rank::poll() {
  Done some[16];
  size_t n = domain->poll(some);
  dones.insert(dones.end(), some, some + n);
}

int Rank::count(uint64_t cookie) const noexcept {
  return int(std::count_if(dones.begin(), dones.end(), [&](const Done& d) { return d.cookie == cookie; }));
}

int Rank::oks(uint64_t cookie) const noexcept {
  return int(std::count_if(dones.begin(), dones.end(),
                           [&](const Done& d) { return d.cookie == cookie && d.status == Code::ok; }));
}

RemoteRegion* Side::import(const Buffer& buffer) {
  auto remote = end->import(buffer.region->key());
  EXPECT_TRUE(remote.ok()) << remote.status().text();
  if (!remote.ok()) return nullptr;
  remotes.push_back(std::move(remote).value());
  return remotes.back().get();
}

Transfer put(LocalSlice from, RemoteSlice to, Signal signal, When when, uint64_t cookie) {
  return {Verb::put, when, signal, from, to, cookie};
}

Transfer get(LocalSlice to, RemoteSlice from, uint64_t cookie, uint16_t counter) {
  return {Verb::get, When::delivered, {counter, 0}, to, from, cookie};
}

Transfer signal_only(Signal signal, When when, uint64_t cookie) {
  return {Verb::put, when, signal, {}, {}, cookie};
}

void Conformance::SetUp() {
  if (const Exclusion* e = excluded(GetParam())) GTEST_SKIP() << e->why;
  auto made = GetParam().make();
  if (!made.ok() && made.status().code() == Code::unsupported) GTEST_SKIP() << made.status().text();
  ASSERT_TRUE(made.ok()) << made.status().text();
  world_ = std::move(made).value();
  ASSERT_GE(world_->size(), kRanks);
  for (int i = 0; i < world_->size(); ++i) ranks_.push_back({&world_->domain(i), {}});
}

void Conformance::TearDown() {
  for (Link& link : links_) {
    link.a.remotes.clear();
    link.b.remotes.clear();
    link.a.end.reset();
    link.b.end.reset();
  }
  buffers_.clear();
  world_.reset();
}

Buffer& Conformance::buffer(int rank, size_t bytes, Access access) {
  Buffer& made = buffers_.emplace_back();
  made.rank = rank;
  made.memory = world_->allocate(rank, bytes);
  auto region = world_->domain(rank).expose(made.memory, access);
  if (!region.ok()) {
    ADD_FAILURE() << region.status().text();
    std::abort();  // nothing after this can run
  }
  made.region = std::move(region).value();
  return made;
}

Side Conformance::open(int rank, uint16_t counters) {
  Side side;
  side.rank = rank;
  side.cookie = end_cookie_++;
  auto end = world_->domain(rank).open(counters, side.cookie);
  if (!end.ok()) {
    ADD_FAILURE() << end.status().text();
    std::abort();
  }
  side.end = std::move(end).value();
  side.ticket.assign(side.end->ticket().begin(), side.end->ticket().end());
  return side;
}

Link& Conformance::link(int a, int b, uint16_t counters) {
  Link& made = links_.emplace_back();
  made.a = open(a, counters);
  made.b = open(b, counters);
  Status sa = made.a.end->connect(made.b.end->ticket());
  Status sb = made.b.end->connect(made.a.end->ticket());
  EXPECT_TRUE(sa.ok()) << sa.text();
  EXPECT_TRUE(sb.ok()) << sb.text();
  EXPECT_TRUE(make_ready(made.a, made.b)) << made.a.end->error() << made.b.end->error();
  return made;
}

bool Conformance::make_ready(Side& a, Side& b) {
  return pump([&] { return a.end->state() == State::ready && b.end->state() == State::ready; });
}

bool Patience::is_over() {
  const int64_t now = now_ns();
  longest_ns_ = std::max(longest_ns_, now - std::exchange(looked_ns_, now));
  looks_++;
  if (!deadline_.passed()) return false;
  std::cerr << "nothing came of " << looks_ << " looks in " << kPatienceMs
            << " ms, the longest time between two " << longest_ns_ / 1'000'000 << " ms\n";
  return true;
}

void Conformance::poll_all() {
  for (int i = 0; i < world_->size(); ++i) {
    if (world_->alive(i)) rank(i).poll();
  }
}

bool Conformance::pump(const std::function<bool()>& holds) {
  for (Patience patience; !holds();) {
    if (patience.is_over()) return false;
    poll_all();
  }
  return true;
}

bool Conformance::post_all(Side& side, std::vector<Transfer> transfers) {
  std::span<const Transfer> left = transfers;
  return pump([&] {
    left = left.subspan(side.end->post(left));
    return left.empty();
  });
}

bool Conformance::put_bytes(Side& side, const Buffer& from, RemoteRegion* to, Signal signal, When when,
                            uint64_t cookie) {
  size_t most = std::min<size_t>(caps().max_transfer, from.size());
  std::vector<Transfer> parts;
  for (size_t at = 0; at < from.size(); at += most) {
    size_t bytes = std::min(most, from.size() - at);
    parts.push_back(put(from.local(at, bytes), to->slice(at, bytes).value(), {signal.counter, 0}));
  }
  parts.back().signal = signal;
  parts.back().when = when;
  parts.back().cookie = cookie;
  return post_all(side, std::move(parts));
}

void Conformance::kill(int dead) {
  world_->kill(dead);
  for (Link& link : links_) {
    for (Side* side : {&link.a, &link.b}) {
      if (side->rank != dead) continue;
      side->remotes.clear();
      side->end.reset();
    }
  }
  std::erase_if(buffers_, [&](const Buffer& b) { return b.rank == dead; });
  world_->drop(dead);
}

bool Conformance::fails(Side& side, const Transfer& transfer) {
  Rank& own = rank(side.rank);
  bool taken = false;
  bool failed = pump([&] {
    if (!taken) taken = side.end->post({&transfer, 1}) == 1;
    return own.count(side.cookie) != 0 || own.count(transfer.cookie) != 0;
  });
  return failed && own.oks(side.cookie) == 0 && own.oks(transfer.cookie) == 0;
}

}  // namespace plait::transport::conformance
