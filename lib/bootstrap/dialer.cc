#include "bootstrap/dialer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"

namespace plait::bootstrap {
namespace {

// 2 ms, doubled each round up to a quarter of a second, give or take half: ranks that start together spread.
int64_t backoff_ns(int round, uint64_t instance) {
  const int64_t base = std::min<int64_t>(250, int64_t(2) << std::min(round, 8)) * 1'000'000;
  const uint64_t mixed = (instance + uint64_t(round)) * 0x9e3779b97f4a7c15ull;
  return base / 2 + int64_t((mixed >> 33) % uint64_t(base));
}

}  // namespace

Dialer::Dialer(const Self& self, Poller& poller, const Claim& claim, std::vector<Place> places,
               int64_t delay_ms)
    : self_(self),
      poller_(poller),
      claim_(claim),
      places_(std::move(places)),
      not_before_ns_(now_ns() + delay_ms * 1'000'000) {}

std::string Dialer::where() const {
  return "rank " + std::to_string(claim_.listener) +
         (next_ < places_.size() ? " at " + to_string(places_[next_]) : "");
}

std::unique_ptr<Link> Dialer::poll() {
  if (!link_) {
    if (now_ns() < not_before_ns_ || exhausted_) return nullptr;
    start();
    if (!link_) return nullptr;
  }
  const Link::State state = link_->state();
  if (state == Link::State::open) return std::move(link_);
  if (state == Link::State::closed) {
    failed(link_->status());
    return nullptr;
  }
  const int64_t ms = (now_ns() - link_->since_ns()) / 1'000'000;
  if (state == Link::State::connecting && ms > kConnectMs) {
    std::string from;
    for (const Interface& i : self_.sources) {
      if (i.address.family == places_[next_].ip.family)
        from += (from.empty() ? " (dialed from " : ", ") + i.name;
    }
    failed({Code::timeout, "no answer from that address" + (from.empty() ? from : from + ")") +
                               ": is it this rank's network, and no firewall between?"});
  } else if (state == Link::State::greeting && ms > kGreetingMs) {
    failed({Code::timeout, "connected, but no handshake came: is it plait that listens there?"});
  }
  return nullptr;
}

void Dialer::start() {
  if (places_.empty()) return failed({Code::invalid, "no address of it is known"});
  const Place& place = places_[next_];
  Address source;
  if (!place.on_unix() && !place.ip.loopback() && !self_.sources.empty()) {
    auto found = source_for(place.ip, self_.sources);
    if (!found.ok()) return failed(found.status());
    source = *found;
  }
  Fd fd = start_connect(place, source);
  if (!fd) {
    exhausted_ = errno == EMFILE || errno == ENFILE;
    return failed(Status::system(errno, exhausted_ ? "no descriptor left (raise ulimit -n)" : "connecting"));
  }
  if (place.on_unix()) {
    Status status = check_user(peer_process(fd.get()));
    if (!status.ok()) return failed(status);
  } else if (local_address(fd.get()) == place.ip) {
    // Nobody listens, and the kernel chose just that port for our end: we would talk to ourselves.
    return failed({Code::system, "nobody listens there"});
  }
  link_ = std::make_unique<Link>(poller_, std::move(fd), to_string(place),
                                 Handshake::dialer(self_.trusted, claim_), Link::State::connecting);
  link_->ready();  // inside a host it is connected already
}

// By value: it may be the link's own, which ends here.
void Dialer::failed(Status why) {
  link_.reset();
  why_ = Status(why.code(), where() + ": " + std::string(why.text()));
  const bool refused = why.code() == Code::auth || why.code() == Code::version;
  if (refused && refused_since_ns_ == 0) refused_since_ns_ = now_ns();
  if (!refused && why.code() != Code::peer) refused_since_ns_ = 0;
  if (++next_ < places_.size()) return;
  next_ = 0;
  not_before_ns_ = now_ns() + backoff_ns(rounds_++, self_.instance);
}

bool Dialer::hopeless() const noexcept {
  return exhausted_ || (refused_since_ns_ != 0 && now_ns() - refused_since_ns_ > kSureMs * 1'000'000);
}

int Dialer::idle_ms() const noexcept {
  if (link_) return 100;
  return int(std::clamp<int64_t>((not_before_ns_ - now_ns() + 999'999) / 1'000'000, 0, 100));
}

}  // namespace plait::bootstrap
