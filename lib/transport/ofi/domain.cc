#include "transport/ofi/domain.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/hash.h"
#include "base/host.h"

namespace plait::transport::ofi {
namespace {

constexpr int64_t kSoonNs = 200'000;  // until a send that found no room is tried again by a sleeper
constexpr uint32_t kDrowsy = 256,
                   kNap = 8;  // an endpoint quiet for so many polls is looked at in every kNap-th

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
    : MessageDomain(kMaker, options.label), device_(std::move(device)) {
  const Choice& choice = device_->choice;
  const fi_ep_attr& ep = *choice.info->ep_attr;
  Capabilities& c = capabilities_;
  c.ticket_bytes += sizeof(Where);
  c.depth = uint16_t(std::clamp<size_t>(choice.info->tx_attr->size, 2, kDepth));
  c.cost = {10e-6, 2e-6, options.bandwidth_Bps != 0 ? options.bandwidth_Bps : choice.bandwidth_Bps()};
  if (choice.mode != Mode::direct) return;
  c.local_needs_region = choice.needs(FI_MR_LOCAL);
  c.holds_pages = choice.needs(FI_MR_ALLOCATED);
  c.max_transfer = std::min(ep.max_msg_size, ep.max_order_waw_size);
  c.key_bytes = sizeof(Key);
  c.max_add = kMaxAdd;
  if (choice.rings()) c.signals = kBells - DirectEndpoint::kSpareBells;
}

Status OfiDomain::start() {
  const Choice& choice = device_->choice;
  const uint64_t protocol = fnv1a(choice.provider()) + choice.info->ep_attr->protocol * 31 +
                            choice.info->ep_attr->protocol_version + choice.rings();
  identity_.use = uint8_t(choice.mode);
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
  orphan_all();
  // A forked child has no part in what its parent opened, and may not close it.
  if (!is_this_process()) new std::shared_ptr<Device>(device_);
}

bool OfiDomain::reaches(ByteView peer) const noexcept {
  const auto other = am::parse_identity(peer, kMaker);
  return other && other->use == identity_.use && other->protocol == identity_.protocol &&
         other->host == identity_.host;
}

Result<std::unique_ptr<Region>> OfiDomain::expose(const Memory& memory, Access access) {
  auto plain = MessageDomain::expose(memory, access);
  if (!plain.ok() || device_->choice.mode != Mode::direct) return plain;
  return DirectRegion::make(device_, std::move(*plain), access);
}

Result<std::unique_ptr<am::MessageEndpoint>> OfiDomain::make(const am::TicketHead& mine, uint64_t cookie) {
  armed_queues_.reserve(endpoints().size());
  std::unique_ptr<OfiEndpoint> endpoint;
  if (device_->choice.mode == Mode::direct) {
    endpoint = std::make_unique<DirectEndpoint>(*this, mine, cookie);
  } else {
    endpoint = std::make_unique<OfiEndpoint>(*this, mine, cookie);
  }
  PLAIT_TRY(endpoint->start());
  return std::unique_ptr<am::MessageEndpoint>(std::move(endpoint));
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
  size_t budget = kPollBytes;
  const size_t many = endpoints().size();
  for (size_t i = 0; i < many; ++i) {
    const size_t turn = (i + polls_) % many;
    auto* const endpoint = static_cast<OfiEndpoint*>(endpoints()[turn]);
    if (endpoint == nullptr) continue;
    if (endpoint->quiet < kDrowsy || (polls_ + turn) % kNap == 0 || many == 1) endpoint->progress(budget);
  }
  return work(done, budget);
}

// fi_trywait() may take what has come, and bells ring without a completion: so they are looked at after it.
bool OfiDomain::arm() noexcept {
  armed_queues_.clear();
  if (!idle()) return false;
  for (am::MessageEndpoint* each : endpoints()) {
    auto* const endpoint = static_cast<OfiEndpoint*>(each);
    if (endpoint != nullptr && endpoint->queue() != nullptr) armed_queues_.push_back(&endpoint->queue()->fid);
  }
  if (epoll_ && !armed_queues_.empty() &&
      fi_trywait(device_->fabric.get(), armed_queues_.data(), int(armed_queues_.size())) != 0)
    return false;
  bool soon = starved_;
  for (am::MessageEndpoint* each : endpoints()) {
    auto* const endpoint = static_cast<OfiEndpoint*>(each);
    if (endpoint == nullptr) continue;
    endpoint->quiet = 0;
    const auto rest = endpoint->rest();
    if (rest == OfiEndpoint::Rest::now) return false;
    soon |= rest == OfiEndpoint::Rest::soon;
  }
  if (soon && epoll_) set_timer(kSoonNs);
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
