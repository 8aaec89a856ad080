#include "transport/paced/paced.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "base/token_bucket.h"
#include "transport/hooks/wrap.h"

namespace plait::transport::paced {
namespace {

// A wait as short as this is not worth a sleep.
constexpr int64_t kShortestSleepNs = 50'000;

// Of a domain and its endpoints, which may outlive it.
struct Pace {
  TokenBucket bucket;
  bool refused = false;  // a post() found no tokens: whoever sleeps is to be woken when there are
};

class PacedEndpoint final : public hooks::WrappedEndpoint {
 public:
  PacedEndpoint(std::unique_ptr<Endpoint> inner, uint16_t counters, std::shared_ptr<Pace> pace)
      : WrappedEndpoint(std::move(inner), counters), pace_(std::move(pace)) {}

  size_t post(std::span<const Transfer> transfers) noexcept override {
    const size_t paid = pay(transfers);
    if (paid == 0) return 0;
    const size_t taken = inner().post(transfers.first(paid));
    for (const Transfer& t : transfers.subspan(taken, paid - taken)) pace_->bucket.give_back(t.remote.bytes);
    return taken;
  }

 private:
  // How many of them there are tokens for; takes those.
  size_t pay(std::span<const Transfer> transfers) noexcept {
    const int64_t now = now_ns();
    for (size_t i = 0; i < transfers.size(); i++) {
      const size_t bytes = transfers[i].remote.bytes;
      if (bytes > kShortBytes && pace_->bucket.wait_ns(now) > 0) {
        pace_->refused = true;
        return i;
      }
      pace_->bucket.take(bytes);
    }
    return transfers.size();
  }

  const std::shared_ptr<Pace> pace_;
};

class PacedDomain final : public hooks::WrappedDomain {
 public:
  PacedDomain(std::unique_ptr<Domain> inner, const Options& options)
      : WrappedDomain(std::move(inner)),
        capabilities_(this->inner().capabilities()),
        pace_(std::make_shared<Pace>(Pace{TokenBucket(options.rate_Bps, options.burst_bytes, now_ns())})) {
    double& bandwidth = capabilities_.cost.bandwidth_Bps;
    const auto rate = double(options.rate_Bps);
    bandwidth = bandwidth > 0 ? std::min(bandwidth, rate) : rate;
  }

  Status start() {
    poller_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!poller_ || !timer_ || !watch(timer_.get()))
      return Status::system(errno, std::string(name()) + ": a descriptor to pace on (look at ulimit -n)");
    return {};
  }

  const Capabilities& capabilities() const noexcept override { return capabilities_; }

  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override {
    auto end = inner().open(counters, cookie);
    if (!end.ok()) return end;
    return std::unique_ptr<Endpoint>(
        std::make_unique<PacedEndpoint>(std::move(end).value(), counters, pace_));
  }

  size_t poll(std::span<Done> done) noexcept override {
    if (set_) set_timer(0);
    return inner().poll(done);
  }

  bool arm() noexcept override {
    if (!follow()) return inner().arm();
    if (pace_->refused) {
      const int64_t wait = pace_->bucket.wait_ns(now_ns());
      if (wait == 0) pace_->refused = false;
      if (wait < kShortestSleepNs) return false;
      set_timer(wait);
    }
    return inner().arm();
  }
  int wait_fd() const noexcept override { return inner_fd_ < 0 ? -1 : poller_.get(); }

  // Watches what the inner domain's wait_fd() is now; false: it has none.
  bool follow() noexcept {
    const int now = inner().wait_fd();
    if (now == inner_fd_) return now >= 0;
    if (inner_fd_ >= 0) (void)epoll_ctl(poller_.get(), EPOLL_CTL_DEL, inner_fd_, nullptr);
    inner_fd_ = now >= 0 && watch(now) ? now : -1;
    return inner_fd_ >= 0;
  }

 private:
  bool watch(int fd) noexcept {
    epoll_event event{};
    event.events = EPOLLIN;
    return epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }
  // 0: never. Setting it takes back that it was readable.
  void set_timer(int64_t in_ns) noexcept {
    itimerspec when{};
    when.it_value = {in_ns / 1'000'000'000, in_ns % 1'000'000'000};
    set_ = timerfd_settime(timer_.get(), 0, &when, nullptr) == 0 && in_ns != 0;
  }

  Capabilities capabilities_;
  const std::shared_ptr<Pace> pace_;
  Fd poller_, timer_;
  int inner_fd_ = -1;  // that poller_ watches
  bool set_ = false;   // the timer
};

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(std::unique_ptr<Domain> inner, const Options& options) {
  if (options.rate_Bps == 0)
    return Status(Code::invalid, std::string(inner->name()) + ": a rate of 0 bytes a second moves nothing");
  auto domain = std::make_unique<PacedDomain>(std::move(inner), options);
  PLAIT_TRY(domain->start());
  (void)domain->follow();
  return std::unique_ptr<Domain>(std::move(domain));
}

}  // namespace plait::transport::paced
