#include "runtime/dump.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/dump_signal.h"
#include "runtime/json_text.h"
#include "runtime/names.h"

namespace plait::runtime {

namespace {

using collectives::Collective;

constexpr uint32_t kMostRuns =
    256;  // of ranks with equal numbers: bounds the file, whatever the size of the job

std::string_view name_of(Why why) noexcept {
  static constexpr std::string_view kNames[] = {"created", "error", "signal", "call"};
  return kNames[size_t(why)];
}

int64_t unix_ms() noexcept {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return int64_t(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}

void write_identity(JsonText& out, const Recorder& r, Why why) noexcept {
  const Recorder::Identity& who = r.who();
  out.raw("{\"plait_dump\": 1,\n\"why\": ").quoted(name_of(why));
  out.raw(", \"clock_ns\": ").number(now_ns()).raw(", \"unix_ms\": ").number(unix_ms());
  out.raw(",\n\"job\": ").quoted(who.job).raw(", \"communicator\": ").number(who.communicator);
  if (!who.split.empty()) out.raw(", \"split\": ").quoted(who.split);
  out.raw(", \"rank\": ").number(who.rank).raw(", \"size\": ").number(who.size);
  out.raw(",\n\"host\": ").quoted(who.host).raw(", \"pid\": ").number(int64_t(getpid()));
  out.raw(", \"signal\": ").raw(answers_signal() ? "true" : "false");
  out.raw(", \"created\": ").raw(r.is_created() ? "true" : "false");
}

void write_failure(JsonText& out, const Recorder& r) noexcept {
  const Recorder::Failure* f = r.failure();
  if (f == nullptr) return;
  out.raw(",\n\"error\": {\"status\": ").number(int32_t(f->code));
  out.raw(", \"name\": ").quoted(code_name(f->code)).raw(", \"culprit\": ").number(f->culprit);
  out.raw(", \"operation\": ").number(f->operation).raw(", \"text\": ").quoted(f->text).raw("}");
}

void write_wait(JsonText& out, const Recorder& r, uint64_t running) noexcept {
  Recorder::Wait wait;
  if (!r.read_wait(running, &wait)) return;
  const int64_t now = now_ns();
  out.raw(",\n\"waiting\": {\"operation\": ").number(wait.operation);
  out.raw(", \"ms\": ").number((now - wait.since_ns) / 1'000'000);
  out.raw(", \"seen_ms_ago\": ").number((now - wait.seen_ns) / 1'000'000);
  out.raw(", \"for\": ").quoted(wait.peers).raw("}");
}

// The latest operation of each rank as far as it is known here, ranks with equal numbers together.
void write_arrivals(JsonText& out, const Recorder& r) noexcept {
  const int32_t size = r.who().size;
  out.raw(",\n\"arrived\": [");
  uint32_t runs = 0;
  for (int32_t first = 0; first < size && runs < kMostRuns;) {
    uint64_t number = 0, next = 0;
    const bool known = r.arrived(first, &number);
    int32_t last = first;
    while (last + 1 < size && r.arrived(last + 1, &next) == known && (!known || next == number)) last++;
    if (known) {
      out.raw(runs++ > 0 ? ", " : "").raw("{\"ranks\": [").number(first).raw(", ").number(last);
      out.raw("], \"operation\": ").number(number).raw("}");
    }
    first = last + 1;
  }
  out.raw("]");
}

std::string_view name_of(transport::rails::RailEvent::What what) noexcept {
  static constexpr std::string_view kNames[] = {"out", "settled", "back"};
  return size_t(what) < std::size(kNames) ? kNames[size_t(what)] : "?";
}

void write_rail_event(JsonText& out, const RailRecord::Event& e) noexcept {
  using What = transport::rails::RailEvent::What;
  out.raw("{\"ms_ago\": ").number((now_ns() - e.at_ns) / 1'000'000);
  out.raw(", \"operation\": ").number(e.operation).raw(", \"rank\": ").number(e.rank);
  out.raw(", \"rail\": ").number(uint32_t(e.rail)).raw(", \"what\": ").quoted(name_of(e.what));
  if (e.what == What::settled) out.raw(", \"parts\": ").number(e.parts).raw(", \"bytes\": ").number(e.bytes);
  if (e.what != What::back) out.raw(", \"why\": ").quoted(e.why);
  out.raw("}");
}

void write_rails(JsonText& out, const Recorder& r) noexcept {
  const RailRecord* rails = r.rails();
  if (rails == nullptr) return;
  out.raw(",\n\"rails\": [");
  bool any = false;
  for (const transport::rails::RailCounts& c : rails->counts()) {
    out.raw(any ? ",\n" : "\n").raw("{\"name\": ").quoted(c.name);
    out.raw(", \"parts\": ").number(uint64_t(c.parts)).raw(", \"bytes\": ").number(uint64_t(c.bytes));
    out.raw(", \"resent\": ").number(uint64_t(c.resent));
    out.raw(", \"resent_bytes\": ").number(uint64_t(c.resent_bytes));
    out.raw(", \"deaths\": ").number(uint64_t(c.deaths));
    out.raw(", \"returns\": ").number(uint64_t(c.returns)).raw("}");
    any = true;
  }
  out.raw("],\n\"rail_events\": [");
  any = false;
  const uint64_t latest = rails->latest();
  for (uint64_t n = latest > RailRecord::kEvents ? latest - RailRecord::kEvents + 1 : 1; n <= latest; n++) {
    RailRecord::Event event;
    if (!rails->read(n, &event)) continue;  // overtaken meanwhile
    out.raw(any ? ",\n" : "\n");
    write_rail_event(out, event);
    any = true;
  }
  out.raw("]");
}

void write_call(JsonText& out, const Recorder& r, const CallId& call) noexcept {
  if (const auto maker = maker_name(call.kind); !maker.empty()) {
    out.raw(", \"kind\": ").quoted(maker);
    return;
  }
  if (call.kind >= collectives::kCollectives) return;
  const auto kind = Collective(call.kind);
  out.raw(", \"kind\": ").quoted(call_name(kind, call.counts > 0));
  if (kind != Collective::barrier) {
    if (call.counts > 0) out.raw(", \"counts\": ").number(call.counts);
    if (call.counts_hash != 0) out.raw(", \"counts_hash\": ").number(call.counts_hash);
    if (call.counts == 0 || call.counts_hash != 0) out.raw(", \"count\": ").number(call.count);
    out.raw(", \"dtype\": ").quoted(dtype_name(call.dtype));
    if (collectives::reduces(kind)) out.raw(", \"op\": ").quoted(op_name(call.op));
    if (collectives::rooted(kind)) out.raw(", \"root\": ").number(call.root);
    out.raw(", \"in_place\": ").raw(call.in_place != 0 ? "true" : "false");
  }
  if (const auto name = r.algorithm(call); !name.empty()) out.raw(", \"algorithm\": ").quoted(name);
  if (call.codec != 0) out.raw(", \"codec_hash\": ").number(call.codec);
}

void write_operations(JsonText& out, const Recorder& r, uint64_t latest, uint64_t done) noexcept {
  out.raw(",\n\"operations\": [");
  bool any = false;
  for (uint64_t n = latest > Recorder::kEntries ? latest - Recorder::kEntries + 1 : 1; n <= latest; n++) {
    CallId call;
    if (!r.read(n, &call)) continue;  // overtaken meanwhile
    const std::string_view state = n <= done                ? "done"
                                   : r.failure() != nullptr ? "failed"
                                   : n == done + 1          ? "running"
                                                            : "queued";
    out.raw(any ? ",\n" : "\n").raw("{\"number\": ").number(n).raw(", \"state\": ").quoted(state);
    write_call(out, r, call);
    out.raw("}");
    any = true;
  }
  out.raw("]");
}

}  // namespace

int write_dump(const Recorder& r, Why why, int fd) noexcept {
  // What is done is read first: an operation that ends meanwhile is shown running, never one as done that is
  // not.
  const uint64_t done = r.done(), latest = r.latest();
  JsonText out(fd);
  write_identity(out, r, why);
  out.raw(",\n\"started\": ").number(latest).raw(", \"done\": ").number(done);
  write_failure(out, r);
  write_wait(out, r, latest > done ? done + 1 : 0);
  write_arrivals(out, r);
  write_rails(out, r);
  write_operations(out, r, latest, done);
  out.raw("}\n");
  return out.finish();
}

}  // namespace plait::runtime
