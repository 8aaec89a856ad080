// What plait's put with a signal costs over UCX, beside the same loop with bare UCP calls:
//
//   bench_ucx [-b BYTES] [-e BYTES] [-r ROUNDS] [-t SECONDS] [-o OFFSET] [TRANSPORTS [am | acked | put]]
//
// OFFSET: where what is sent, and where it goes, begins in its page; 16 if none, as with malloc.
//
// TRANSPORTS as UCX_TLS, "tcp" if none. The bare loop is UCX as it comes, which chooses the protocol:
//
//   am     active messages, whose target copies the bytes into a buffer, as plait's does. Of a stream 16 are
//          under way until UCX is done with them (plait: `reusable`), and the target answers the last one.
//   acked  the same, but a message of a stream is under way until the target has said that it came (plait:
//          `delivered`); it says so after each look that found some.
//   put    UCP's puts, with no signal; a stream of them is flushed in the end. Plait's as with am.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "base/clock.h"
#include "perf/bench_ucx_bare.h"
#include "transport/ucx/ucx.h"

namespace plait::perf {
namespace {

using fabric::Contestant;
using fabric::Kind;
using fabric::Load;
using fabric::Party;
using namespace transport;

constexpr size_t kOffset = 16;

class Plait final : public Contestant {
 public:
  Plait(std::string transports, Mode mode, size_t offset)
      : transports_(std::move(transports)),
        offset_(offset),
        streamed_(mode == Mode::acked ? When::delivered : When::reusable) {}

  Status meet(const Party& party, size_t most) override {
    rank_ = party.rank();
    ucx::Options options;
    options.transports = transports_;
    options.devices = device_of(transports_);
    auto domain = ucx::make_domain(options);
    if (!domain.ok()) return domain.status();
    domain_ = std::move(*domain);
    auto end = domain_->open(1, 1);
    if (!end.ok()) return end.status();
    end_ = std::move(*end);
    auto ticket = party.swap(end_->ticket());
    if (!ticket.ok()) return ticket.status();
    PLAIT_TRY(end_->connect(*ticket));
    PLAIT_TRY(wait([&] { return end_->state() != State::connecting; }));
    PLAIT_TRY(memory_.make(2 * most, offset_));
    auto region = domain_->expose({memory_.data(), memory_.size()}, Access::both);
    if (!region.ok()) return region.status();
    region_ = std::move(*region);
    auto key = party.swap(region_->key());
    if (!key.ok()) return key.status();
    auto remote = end_->import(*key);
    if (!remote.ok()) return remote.status();
    remote_ = std::move(*remote);
    most_ = most;
    // Both hear of each other before either stops polling.
    PLAIT_TRY(put(1, When::delivered));
    PLAIT_TRY(await(1));
    PLAIT_TRY(settle());
    for (int i = 0; i < 1000; ++i) domain_->poll({});
    return {};
  }

  Status run(const Load& load) override {
    if (load.kind == Kind::bandwidth) return rank_ == 0 ? stream(load) : await(seen_ + uint64_t(load.count));
    for (int i = 0; i < load.count; ++i) {
      if (rank_ == 0) PLAIT_TRY(put(load.bytes, When::never));
      PLAIT_TRY(await(seen_ + 1));
      if (rank_ == 1) PLAIT_TRY(put(load.bytes, i + 1 == load.count ? When::reusable : When::never));
    }
    return rank_ == 1 ? settle() : Status();
  }

  void progress() override { domain_->poll({}); }

 private:
  template <class F>
  Status wait(F holds) {
    for (int64_t n = 0, end = 0; !holds(); ++n) {
      dones_ += domain_->poll(some_);
      if (n % 1024 != 0) continue;
      if (end == 0) end = now_ns() + kPatienceMs * 1'000'000;
      if (end_->state() == State::failed) return Status(Code::peer, std::string(end_->error()));
      if (now_ns() > end) return late();
    }
    return {};
  }
  Status await(uint64_t signals) {
    seen_ = signals;
    return wait([&] { return end_->counter(0).load(std::memory_order_acquire) >= signals; });
  }
  Status settle() {
    PLAIT_TRY(wait([&] { return dones_ != 0; }));
    dones_ = 0;
    return {};
  }
  Status put(size_t bytes, When when) {
    const LocalSlice from{memory_.data(), bytes, region_.get()};
    const Transfer t{Verb::put, when, {0, 1}, from, {remote_.get(), most_, bytes}, 2};
    return end_->post({&t, 1}) == 1 ? Status() : wait([&] { return end_->post({&t, 1}) == 1; });
  }
  Status stream(const Load& load) {
    for (int i = 0; i < load.count; ++i) {
      PLAIT_TRY(put(load.bytes, i + 1 == load.count ? When::delivered : streamed_));
      PLAIT_TRY(wait([&] { return size_t(i) + 1 - dones_ < kWindow; }));
    }
    PLAIT_TRY(wait([&] { return dones_ == size_t(load.count); }));
    dones_ = 0;
    return {};
  }

  const std::string transports_;
  const size_t offset_;
  const When streamed_;
  int rank_ = 0;
  Memory memory_;
  std::unique_ptr<Domain> domain_;
  std::unique_ptr<Region> region_;
  std::unique_ptr<Endpoint> end_;
  std::unique_ptr<RemoteRegion> remote_;
  size_t most_ = 0, dones_ = 0;
  uint64_t seen_ = 0;
  std::array<Done, 64> some_;
};

// `-o OFFSET`, out of the arguments. False: that is no place in a page.
bool take_offset(std::vector<std::string>& rest, size_t& offset) {
  const auto at = std::ranges::find(rest, "-o");
  if (at == rest.end()) return true;
  if (at + 1 == rest.end()) return false;
  const std::string text = *(at + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), offset);
  rest.erase(at, at + 2);
  return error == std::errc() && end == text.data() + text.size() && offset < kPageBytes;
}

int run(int argc, char** argv) {
  fabric::Options options;
  std::vector<std::string> rest;
  size_t offset = kOffset;
  const Status parsed = fabric::parse(argc, argv, options, rest);
  constexpr std::array<std::string_view, 3> kModes = {"am", "acked", "put"};
  const bool placed = take_offset(rest, offset);
  const auto mode = rest.size() < 2 ? kModes.begin() : std::ranges::find(kModes, rest[1]);
  if (!parsed.ok() || !placed || rest.size() > 2 || mode == kModes.end()) {
    std::fprintf(stderr,
                 "%s\nbench_ucx [-b BYTES] [-e BYTES] [-r ROUNDS] [-t SECONDS] [-o OFFSET] [TRANSPORTS [am | "
                 "acked | put]]\n",
                 std::string(parsed.text()).c_str());
    return 2;
  }
  const std::string transports = rest.empty() ? "tcp" : rest[0];
  const auto chosen = Mode(mode - kModes.begin());
  const auto make = [&](int which) -> Result<std::unique_ptr<Contestant>> {
    if (which == 0) return std::unique_ptr<Contestant>(std::make_unique<Plait>(transports, chosen, offset));
    return make_bare(transports, chosen, offset);
  };
  return fabric::duel("ucx over " + transports + ", bare: " + std::string(*mode), make, options);
}

}  // namespace
}  // namespace plait::perf

int main(int argc, char** argv) { return plait::perf::run(argc, argv); }
