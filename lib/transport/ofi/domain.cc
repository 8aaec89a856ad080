#include "transport/ofi/domain.h"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/boot_id.h"
#include "base/hash.h"

namespace plait::transport::ofi {
namespace {

constexpr int64_t kSoonNs = 200'000;  // until a send that found no room is tried again by a sleeper
constexpr uint32_t kDrowsy = 256,
                   kNap = 8;  // an endpoint quiet for so many polls is looked at in every kNap-th

Capabilities make_capabilities(const Options& options, const Choice& choice) noexcept {
  const bool direct = choice.mode == Mode::direct;
  const fi_ep_attr& ep = *choice.info->ep_attr;
  Capabilities c;
  c.get = true;
  c.local_needs_region = direct && choice.needs(FI_MR_LOCAL);
  c.holds_pages = direct && choice.needs(FI_MR_ALLOCATED);
  c.target_must_poll = true;  // a provider's progress is manual where it may be
  c.inline_bytes = kInline;
  c.max_transfer = kMaxTransfer;
  if (direct) c.max_transfer = std::min({c.max_transfer, ep.max_msg_size, ep.max_order_waw_size});
  c.key_bytes = sizeof(Key);
  c.ticket_bytes = sizeof(Ticket);
  c.depth = uint16_t(std::clamp<size_t>(choice.info->tx_attr->size, 2, kDepth));
  c.counters = kCounters;
  c.max_add = direct ? kMaxAdd : UINT16_MAX;
  c.signals =
      choice.rings() ? kBells - kSpareBells : 0;  // 0: the provider holds a sender back (FI_RM_ENABLED)
  c.cost = {10e-6, 2e-6, options.bandwidth_Bps != 0 ? options.bandwidth_Bps : choice.bandwidth_Bps()};
  return c;
}

// Network namespaces matter, since loopback addresses live in them.
uint64_t host_id() {
  struct stat net {};
  if (stat("/proc/self/ns/net", &net) != 0) net.st_ino = 0;
  return fnv1a(boot_id() + "/" + std::to_string(net.st_ino));
}

bool loopback(const fi_info& info) noexcept {
  return (info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6) &&
         info.src_addr != nullptr &&
         from_socket(static_cast<const sockaddr*>(info.src_addr), socklen_t(info.src_addrlen)).loopback();
}

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) {
  if (options.provider.empty()) return Status(Code::invalid, "ofi: no provider is named");
  auto choice = choose(options);
  if (!choice.ok()) return choice.status();
  auto device = Device::open(std::move(*choice));
  if (!device.ok()) return device.status();
  auto domain = std::make_unique<OfiDomain>(options, std::move(*device));
  PLAIT_TRY(domain->start());
  return std::unique_ptr<Domain>(std::move(domain));
}

OfiDomain::OfiDomain(const Options& options, std::shared_ptr<Device> device)
    : label_(options.label),
      device_(std::move(device)),
      capabilities_(make_capabilities(options, device_->choice)),
      pid_(getpid()) {}

Status OfiDomain::start() {
  const Choice& choice = device_->choice;
  identity_.mode = uint8_t(choice.mode);
  const uint64_t protocol = fnv1a(choice.provider()) + choice.info->ep_attr->protocol * 31 +
                            choice.info->ep_attr->protocol_version + choice.rings();
  identity_.protocol = uint32_t(protocol ^ protocol >> 32);
  if (!choice.network || loopback(*choice.info)) identity_.host = host_id();
  if (!device_->has_fd) return {};
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  epoll_event event{EPOLLIN, {}};
  if (!epoll_ || !timer_ || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event) != 0)
    return Status::system(errno, "ofi: an epoll and a timer descriptor (look at ulimit -n)");
  return {};
}

OfiDomain::~OfiDomain() {
  for (OfiEndpoint* endpoint : endpoints_) endpoint->orphan();
  // A forked child has no part in what its parent opened, and may not close it.
  if (!is_this_process()) new std::shared_ptr<Device>(device_);
}

bool OfiDomain::is_this_process() const noexcept { return getpid() == pid_; }

bool OfiDomain::reaches(ByteView peer) const noexcept {
  const auto other = parse_identity(peer);
  return other && other->mode == identity_.mode && other->protocol == identity_.protocol &&
         other->host == identity_.host;
}

Result<std::unique_ptr<Endpoint>> OfiDomain::open(uint16_t counters, uint64_t cookie) {
  if (!is_this_process()) return Status(Code::state, "ofi: a domain cannot be used in a forked child");
  if (counters > kCounters) {
    return Status(Code::invalid, "ofi: " + std::to_string(counters) +
                                     " counters asked for, an endpoint has at most " +
                                     std::to_string(kCounters));
  }
  if (!dones_.reserve(kDepth + 1))
    return Status(Code::memory, "ofi: no address space for an endpoint's transfers");
  endpoints_.reserve(endpoints_.size() + 1);
  armed_queues_.reserve(endpoints_.size() + 1);
  std::unique_ptr<OfiEndpoint> endpoint;
  if (device_->choice.mode == Mode::direct) {
    endpoint = std::make_unique<DirectEndpoint>(*this, counters, cookie);
  } else {
    endpoint = std::make_unique<MessageEndpoint>(*this, counters, cookie);
  }
  endpoints_.push_back(endpoint.get());
  PLAIT_TRY(endpoint->start());
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void OfiDomain::forget(OfiEndpoint& endpoint) noexcept {
  endpoint.leave_dones(orphans_);
  std::erase(endpoints_, &endpoint);
  gone_++;
}

void OfiDomain::watch(OfiEndpoint& endpoint, bool on) noexcept {
  int fd = -1;
  if (!epoll_ || fi_control(&endpoint.queue()->fid, FI_GETWAIT, &fd) != 0) return;
  epoll_event event{EPOLLIN, {}};
  epoll_ctl(epoll_.get(), on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event);
}

size_t OfiDomain::poll(std::span<Done> done) noexcept {
  if (timed_) set_timer(0);
  starved_ = false;
  ++polls_;
  size_t budget = kPollBytes, count = 0;
  const size_t many = endpoints_.size();
  for (size_t i = 0; i < many; ++i) {
    const size_t turn = (i + polls_) % many;
    OfiEndpoint& endpoint = *endpoints_[turn];
    if (endpoint.quiet < kDrowsy || (polls_ + turn) % kNap == 0 || many == 1) endpoint.progress(budget);
  }
  for (; count < done.size() && !orphans_.empty(); orphans_.pop()) done[count++] = orphans_.front().done;
  if (orphans_.empty()) {
    for (; gone_ != 0; gone_--) dones_.unreserve(kDepth + 1);
  }
  for (OfiEndpoint* endpoint : endpoints_) {
    if (count == done.size()) break;
    count += endpoint->harvest(done.subspan(count));
  }
  return count;
}

bool OfiDomain::arm() noexcept {
  bool soon = starved_;
  armed_queues_.clear();
  if (!orphans_.empty()) return false;
  for (OfiEndpoint* endpoint : endpoints_) {
    endpoint->quiet = 0;
    const auto rest = endpoint->rest();
    if (rest == OfiEndpoint::Rest::now) return false;
    soon |= rest == OfiEndpoint::Rest::soon;
    if (endpoint->queue() != nullptr) armed_queues_.push_back(&endpoint->queue()->fid);
  }
  if (!epoll_) return true;
  if (!armed_queues_.empty() &&
      fi_trywait(device_->fabric.get(), armed_queues_.data(), int(armed_queues_.size())) != 0)
    return false;
  // It lets what has come in, and knows of completions only, not of bells.
  const auto wakes = [](const OfiEndpoint* e) { return e->rest() == OfiEndpoint::Rest::now; };
  if (std::ranges::any_of(endpoints_, wakes)) return false;
  if (soon) set_timer(kSoonNs);
  return true;
}

// From now; 0: never.
void OfiDomain::set_timer(int64_t ns) noexcept {
  itimerspec when{};
  when.it_value.tv_nsec = ns;
  timerfd_settime(timer_.get(), 0, &when, nullptr);
  timed_ = ns != 0;
}

}  // namespace plait::transport::ofi
