#include "rdma/device.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>

#include "base/per_process.h"
#include "rdma/windows.h"

namespace plait::rdma {

namespace {

struct Registry {
  std::mutex lock;
  std::map<std::string, std::weak_ptr<Device>, std::less<>> devices;
};
PerProcess<Registry> registry;

}  // namespace

Result<std::shared_ptr<Device>> Device::open(ibv_device& device) {
  const auto all =
      registry.get([]() -> Result<std::unique_ptr<Registry>> { return std::make_unique<Registry>(); });
  if (!all.ok()) return all.status();
  const std::string name = ibv_get_device_name(&device);
  const std::lock_guard guard((*all)->lock);
  std::weak_ptr<Device>& known = (*all)->devices[name];
  if (auto open = known.lock(); open != nullptr) return open;
  ibv_context* context = ibv_open_device(&device);
  if (context == nullptr)
    return Status::system(errno, name + ": opening the device (may this user use /dev/infiniband?)");
  auto opened = std::make_shared<Device>(context);
  PLAIT_TRY(opened->start());
  known = opened;
  return opened;
}

Device::Device(ibv_context* context) noexcept : pid_(getpid()), context_(context) {}

bool Device::is_this_process() const noexcept { return getpid() == pid_; }

Status Device::start() {
  pd_ = ibv_alloc_pd(context_);
  if (pd_ == nullptr) return Status::system(errno, std::string(name()) + ": a protection domain");
  if (const int error = ibv_query_device_ex(context_, nullptr, &attributes_); error != 0)
    return Status::system(error, std::string(name()) + ": asking what the device can do");
  registrations_ = std::make_unique<Registrations>(make_registrar(*pd_, name()));
  const int flags = fcntl(context_->async_fd, F_GETFL);
  if (flags < 0 || fcntl(context_->async_fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return Status::system(errno, std::string(name()) + ": the descriptor of its events");
  return {};
}

Device::~Device() {
  windows_owned_.reset();
  registrations_.reset();
  if (!is_this_process()) return;
  if (pd_ != nullptr) ibv_dealloc_pd(pd_);
  ibv_close_device(context_);
}

// With its help for forks on, libibverbs takes memory out of what a child inherits while it is registered,
// and puts it back when that ends, whatever is mapped there by then.
Status Device::keep_registrations(size_t bytes, bool trusting) {
  if (ibv_is_fork_initialized() == IBV_FORK_ENABLED)
    return Status(Code::unsupported, "libibverbs' help for forks is on (ibv_fork_init, RDMAV_FORK_SAFE)");
  auto watch = MemoryWatch::of_process(trusting);
  if (!watch.ok()) return watch.status();
  rlimit locked{};  // others need some, too
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY)
    bytes = std::min(bytes, size_t(locked.rlim_cur / 4));
  registrations_->keep(std::move(*watch), {bytes});
  return {};
}

Status Device::use_windows(const OpenPort& port) {
  const std::lock_guard guard(lock_);
  if (windows() != nullptr) return {};
  auto made = Windows::make(*this, port);
  if (!made.ok()) return made.status();
  windows_owned_ = std::move(*made);
  windows_.store(windows_owned_.get(), std::memory_order_release);
  return {};
}

void Device::subscribe(Mail& mail) {
  const std::lock_guard guard(lock_);
  mails_.push_back(&mail);
}

void Device::unsubscribe(Mail& mail) noexcept {
  const std::lock_guard guard(lock_);
  std::erase(mails_, &mail);
}

void Device::forget(Mail& mail, uint64_t user) noexcept {
  const std::lock_guard guard(lock_);
  std::erase_if(mail.events, [&](const DeviceEvent& event) { return event.user == user; });
}

void Device::look() noexcept {
  registrations_->tidy();
  const std::lock_guard guard(lock_);
  ibv_async_event event;
  while (ibv_get_async_event(context_, &event) == 0) {
    DeviceEvent told{event.event_type};
    switch (event.event_type) {
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
        told.user = reinterpret_cast<uint64_t>(event.element.qp->qp_context);
        break;
      case IBV_EVENT_PORT_ERR:
      case IBV_EVENT_PORT_ACTIVE:
      case IBV_EVENT_GID_CHANGE:
        told.port = uint8_t(event.element.port_num);
        break;
      default:
        break;
    }
    ibv_ack_async_event(&event);
    for (Mail* mail : mails_) {
      mail->events.push_back(told);
      mail->waiting.store(true, std::memory_order_release);
      eventfd_write(mail->wake.get(), 1);
    }
  }
}

std::vector<DeviceEvent> Device::take(Mail& mail) noexcept {
  const std::lock_guard guard(lock_);
  mail.waiting.store(false, std::memory_order_relaxed);
  eventfd_t count = 0;
  eventfd_read(mail.wake.get(), &count);
  return std::exchange(mail.events, {});
}

}  // namespace plait::rdma
