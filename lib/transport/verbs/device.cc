#include "transport/verbs/device.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "transport/shm/per_process.h"
#include "transport/verbs/explain.h"

namespace plait::transport::verbs {

namespace {

struct Registry {
  std::mutex lock;
  std::map<std::string, std::weak_ptr<Device>, std::less<>> devices;
};
shm::PerProcess<Registry> registry;

int flags_of(Access access, const Device::Wish& wish) noexcept {
  int flags = IBV_ACCESS_LOCAL_WRITE;
  if (may_read(access)) flags |= IBV_ACCESS_REMOTE_READ;
  if (may_write(access)) flags |= IBV_ACCESS_REMOTE_WRITE;
  // Puts to one place must land in their order, so not where peers write. A completion overtakes nothing.
  if (wish.relaxed_ordering && !may_write(access)) flags |= IBV_ACCESS_RELAXED_ORDERING;
  if (wish.on_demand) flags |= IBV_ACCESS_ON_DEMAND;
  return flags;
}

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
  const int flags = fcntl(context_->async_fd, F_GETFL);
  if (flags < 0 || fcntl(context_->async_fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return Status::system(errno, std::string(name()) + ": the descriptor of its events");
  return {};
}

Device::~Device() {
  if (!is_this_process()) return;
  if (pd_ != nullptr) ibv_dealloc_pd(pd_);
  ibv_close_device(context_);
}

Result<Device::Registration> Device::register_memory(const Memory& memory, Access access, const Wish& wish) {
  const int flags = flags_of(access, wish);
  if (access != Access::none || memory.kind == MemoryKind::device) return pin(memory, access, flags);
  // Whoever holds a region promises that its memory stays, so a registration is good as long as a region
  // holds it, and no longer: what is unmapped later is never met again at the same address.
  const std::lock_guard guard(lock_);
  std::erase_if(shared_, [](const auto& item) { return item.second.expired(); });
  std::weak_ptr<ibv_mr>& known = shared_[{memory.base, memory.bytes, flags}];
  if (auto living = known.lock(); living != nullptr) return living;
  auto made = pin(memory, access, flags);
  if (made.ok()) known = *made;
  return made;
}

Result<Device::Registration> Device::pin(const Memory& memory, Access access, int flags) {
  errno = 0;
  ibv_mr* mr = nullptr;
  if (memory.kind == MemoryKind::device) {
    mr = ibv_reg_dmabuf_mr(pd_, memory.dmabuf_offset, memory.bytes, reinterpret_cast<uint64_t>(memory.base),
                           memory.dmabuf, flags & ~IBV_ACCESS_RELAXED_ORDERING);
  } else {
    mr = ibv_reg_mr(pd_, memory.base, memory.bytes, flags);
    // Memory that is read-only can be a source.
    if (mr == nullptr && errno == EFAULT && !may_write(access))
      mr = ibv_reg_mr(pd_, memory.base, memory.bytes, flags & ~IBV_ACCESS_LOCAL_WRITE);
  }
  if (mr == nullptr) return registration_failed(errno, memory.bytes, name());
  return Registration(mr, [pid = pid_](ibv_mr* made) {
    if (getpid() != pid) return;
    if (const int error = ibv_dereg_mr(made); error != 0)
      log::error("verbs: taking back a registration of {} bytes: {}", made->length, std::strerror(error));
  });
}

void Device::subscribe(Mail& mail) {
  const std::lock_guard guard(lock_);
  mails_.push_back(&mail);
}

void Device::unsubscribe(Mail& mail) noexcept {
  const std::lock_guard guard(lock_);
  std::erase(mails_, &mail);
}

void Device::forget(Mail& mail, uint64_t endpoint) noexcept {
  const std::lock_guard guard(lock_);
  std::erase_if(mail.events, [&](const DeviceEvent& event) { return event.endpoint == endpoint; });
}

void Device::look() noexcept {
  const std::lock_guard guard(lock_);
  ibv_async_event event;
  while (ibv_get_async_event(context_, &event) == 0) {
    DeviceEvent told{event.event_type};
    switch (event.event_type) {
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
        told.endpoint = reinterpret_cast<uint64_t>(event.element.qp->qp_context);
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

}  // namespace plait::transport::verbs
