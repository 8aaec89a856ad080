#include "rdma/hub.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "base/random.h"

namespace plait::rdma {

namespace {

constexpr size_t kFirstChannels = 8;  // that the first queues are for
constexpr uint8_t kReads = 16;        // reads under way at a queue pair, at most
constexpr uint64_t kSlotMask = kSlots - 1, kSlotBits = kIndexBits - kNumbersBits;

Status at(const std::string& place, const Status& status) {
  return status.ok() ? status : Status(status.code(), place + ": " + std::string(status.text()));
}

}  // namespace

Hub::Hub(std::string name, const ChannelOptions& options, UsablePort&& port)
    : name_(std::move(name)),
      options_(options),
      device_(std::move(port.device)),
      port_(std::move(port.port)),
      place_(port_.port.device + " port " + std::to_string(port_.port.port) + ", GID " +
             std::to_string(port_.port.gid_index) + " " + to_string(port_.gid.entry.gid)) {}

Status Hub::start() {
  poller_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  mail_.wake = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  channel_.reset(ibv_create_comp_channel(&device_->context()));
  if (!poller_ || !mail_.wake || channel_ == nullptr)
    return Status::system(errno, place_ + ": descriptors to wait for completions (look at ulimit -n)");
  const int flags = fcntl(channel_->fd, F_GETFL);
  if (fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return Status::system(errno, place_ + ": a descriptor");
  for (const int fd : {channel_->fd, device_->context().async_fd, mail_.wake.get()}) PLAIT_TRY(watch(fd));
  if (options_.connect == Connect::cm) PLAIT_TRY(at(place_, start_manager()));
  const auto most = inline_limit(*device_, options_.inline_bytes);
  if (!most.ok()) return at(place_, most.status());
  inline_bytes_ = *most;
  PLAIT_TRY(grow());
  device_->subscribe(mail_);
  log::info("{}: {}, {}, {}; inline {} bytes", name_, place_, describe(port_.port), port_.port.gid_why,
            *most);
  return {};
}

Status Hub::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return Status::system(errno, place_ + ": watching a descriptor");
}

Status Hub::start_manager() {
  if (port_.gid.entry.link == Link::infiniband)
    return Status(Code::unsupported, "the connection manager is used with IP addresses only; use tickets");
  const Manager::Options wish{options_.traffic_class, options_.timeout, options_.retries,
                              options_.rnr_retries};
  manager_ = std::make_unique<Manager>(wish, [this](uint64_t id, const Status& status) {
    if (Channel* channel = by_id(id); channel != nullptr) channel->connected(status);
  });
  PLAIT_TRY(manager_->start(port_.gid.entry.gid));
  return watch(manager_->fd());
}

void Hub::keep_registrations(size_t bytes, bool trusting, bool windows) {
  Status status = device_->keep_registrations(bytes, trusting);
  if (status.ok() && windows) status = device_->use_windows(port_);
  if (!status.ok())
    log::info("{}: registrations that are not used any more are not kept{}: {}", name_,
              device_->registrations().keeps() ? " of what peers reach" : "", status.text());
}

void Hub::orphan_all() noexcept {
  for (Channel* channel : slots_) {
    if (channel != nullptr) channel->orphan();
  }
  slots_.clear();
}

Hub::~Hub() {
  if (device_->is_this_process()) {
    device_->unsubscribe(mail_);
    return;
  }
  // A forked child: what the kernel holds is its parent's.
  if (manager_ != nullptr) manager_->abandon();
  for (auto& queues : queues_) (void)queues.release();
  (void)channel_.release();
}

// Queues with room for one channel more.
Result<Queues*> Hub::room() {
  const auto found = std::ranges::find_if(queues_, [](const auto& queues) { return queues->take(); });
  if (found != queues_.end()) return found->get();
  PLAIT_TRY(grow());
  queues_.back()->take();
  return queues_.back().get();
}

Status Hub::grow() {
  const size_t receives = size_t(options_.signals) + kControls;
  const size_t channels = queues_.empty() ? kFirstChannels : 2 * queues_.back()->users();
  auto made = Queues::make(*device_, *channel_, {receives, receives + options_.depth + kControls}, channels);
  if (made.ok()) queues_.push_back(std::move(*made));
  return made.status();
}

Station Hub::station_at(uint32_t slot) const {
  const ibv_device_attr& limits = device_->attributes().orig_attr;
  Station s;
  s.link = port_.gid.entry.link;
  s.mtu = uint8_t(port_.attributes.active_mtu);
  while (options_.mtu != 0 && bytes_of_mtu(ibv_mtu(s.mtu)) > options_.mtu) --s.mtu;
  s.lid = port_.attributes.lid;
  s.packet = uint32_t(random_word()) & 0xffffff;
  s.slot = slot;
  s.signals = options_.signals;
  s.cm_port = manager_ == nullptr ? uint16_t(0) : manager_->port();
  s.reads = uint8_t(std::clamp(std::min(limits.max_qp_rd_atom, limits.max_qp_init_rd_atom), 1, int(kReads)));
  s.gid = port_.gid.entry.gid;
  s.nonce = random_word();
  return s;
}

Result<Hub::Room> Hub::admit(Channel& channel) {
  if (free_slots_.empty() && slots_.size() == kSlots)
    return Status(Code::memory, name_ + ": it has " + std::to_string(kSlots) + " endpoints already");
  const size_t most = size_t(options_.depth) + kControls;
  if (!requests_.reserve(most))
    return Status(Code::memory, name_ + ": no address space for an endpoint's transfers");
  auto queues = room();
  if (!queues.ok()) {
    requests_.unreserve(most);
    return queues.status();
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(uint32_t(slots_.size()));
    slots_.push_back(nullptr);
    connecting_.reserve(slots_.size());
  }
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot] = &channel;
  serial_ = serial_ == UINT32_MAX ? 1 : serial_ + 1;
  return Room{uint64_t{serial_} << kSlotBits | slot, *queues, station_at(slot)};
}

void Hub::remove(Channel& channel) noexcept {
  const auto slot = uint32_t(channel.id() & kSlotMask);
  slots_[slot] = nullptr;
  free_slots_.push_back(slot);
  requests_.unreserve(size_t(options_.depth) + kControls);
}

Channel* Hub::by_id(uint64_t id) noexcept {
  const uint64_t slot = id & kSlotMask;
  Channel* channel = slot < slots_.size() ? slots_[slot] : nullptr;
  return channel != nullptr && channel->id() == id ? channel : nullptr;
}

}  // namespace plait::rdma
