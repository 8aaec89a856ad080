#include "transport/hooks/trace.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/clock.h"

namespace plait::transport::hooks {
namespace {

class TraceEndpoint final : public WrappedEndpoint {
 public:
  TraceEndpoint(std::unique_ptr<Endpoint> inner, uint16_t counters, std::shared_ptr<TraceRing> ring,
                uint32_t id)
      : WrappedEndpoint(std::move(inner), counters), ring_(std::move(ring)), id_(id) {}
  ~TraceEndpoint() override { note_close(); }

  Status connect(ByteView peer_ticket) noexcept override {
    Status status = inner().connect(peer_ticket);
    ring_->add({.event = TraceEvent::connect, .status = status.code(), .endpoint = id_});
    return status;
  }
  size_t post(std::span<const Transfer> transfers) noexcept override {
    size_t taken = inner().post(transfers);
    for (const Transfer& t : transfers.first(taken)) note(TraceEvent::post, t);
    if (taken < transfers.size()) note(TraceEvent::full, transfers[taken]);
    return taken;
  }
  void close() noexcept override {
    inner().close();
    note_close();
  }

 private:
  void note(TraceEvent event, const Transfer& t) noexcept {
    ring_->add({.event = event,
                .verb = t.verb,
                .when = t.when,
                .endpoint = id_,
                .counter = t.signal.counter,
                .add = t.signal.add,
                .bytes = t.remote.bytes,
                .cookie = t.cookie});
  }
  void note_close() noexcept {
    if (!std::exchange(closed_, true)) ring_->add({.event = TraceEvent::close, .endpoint = id_});
  }

  std::shared_ptr<TraceRing> ring_;
  uint32_t id_;
  bool closed_ = false;
};

std::string line(const TraceRecord& r, int64_t start_ns) {
  static constexpr const char* kEvents[] = {"open", "connect", "post", "full", "done", "close"};
  static constexpr const char* kVerbs[] = {"put", "get", "flush"};
  static constexpr const char* kWhens[] = {"never", "reusable", "delivered"};
  std::string text = fmt::format("{:.9f} {:<7}", double(r.at_ns - start_ns) * 1e-9, kEvents[size_t(r.event)]);
  if (r.event == TraceEvent::done) {
    return text + fmt::format(" cookie={} status={}\n", r.cookie, code_name(r.status));
  }
  text += fmt::format(" endpoint={}", r.endpoint);
  if (r.event == TraceEvent::post || r.event == TraceEvent::full) {
    text += fmt::format(" {} bytes={} counter={} add={} when={} cookie={}", kVerbs[size_t(r.verb)], r.bytes,
                        r.counter, r.add, kWhens[size_t(r.when)], r.cookie);
  }
  if (r.event == TraceEvent::connect) text += fmt::format(" status={}", code_name(r.status));
  return text + "\n";
}

}  // namespace

void TraceRing::add(TraceRecord record) noexcept {
  record.at_ns = now_ns();
  ring_[total_++ % ring_.size()] = record;
}

std::vector<TraceRecord> TraceRing::records() const {
  std::vector<TraceRecord> all;
  uint64_t kept = std::min<uint64_t>(total_, ring_.size());
  for (uint64_t i = total_ - kept; i < total_; ++i) all.push_back(ring_[i % ring_.size()]);
  return all;
}

std::string TraceRing::text() const {
  std::vector<TraceRecord> all = records();
  std::string text;
  if (total_ > all.size())
    text += fmt::format("({} earlier records were overwritten)\n", total_ - all.size());
  for (const TraceRecord& r : all) text += line(r, all.front().at_ns);
  return text;
}

TraceDomain::TraceDomain(std::unique_ptr<Domain> inner, size_t records)
    : WrappedDomain(std::move(inner)), ring_(std::make_shared<TraceRing>(records)) {}

Result<std::unique_ptr<Endpoint>> TraceDomain::open(uint16_t counters, uint64_t cookie) {
  auto end = inner().open(counters, cookie);
  if (!end.ok()) return end;
  uint32_t id = opened_++;
  ring_->add({.event = TraceEvent::open, .endpoint = id, .cookie = cookie});
  return std::unique_ptr<Endpoint>(
      std::make_unique<TraceEndpoint>(std::move(end).value(), counters, ring_, id));
}

size_t TraceDomain::poll(std::span<Done> done) noexcept {
  size_t n = inner().poll(done);
  for (const Done& d : done.first(n)) {
    ring_->add({.event = TraceEvent::done, .status = d.status, .cookie = d.cookie});
  }
  return n;
}

}  // namespace plait::transport::hooks
