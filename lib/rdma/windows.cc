#include "rdma/windows.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "rdma/explain.h"

namespace plait::rdma {

namespace {

constexpr int64_t kBindMs = 1000;  // it is an affair of the device's alone

}  // namespace

Windows::Windows(Device& device) noexcept : pid_(getpid()), device_(device) {}

Result<std::unique_ptr<Windows>> Windows::make(Device& device, const OpenPort& port) {
  const ibv_device_attr& able = device.attributes().orig_attr;
  if ((able.device_cap_flags & IBV_DEVICE_MEM_WINDOW) == 0 || able.max_mw == 0)
    return Status(Code::unsupported, "it has no memory windows");
  std::unique_ptr<Windows> made(new Windows(device));
  PLAIT_TRY(made->start(port));
  return made;
}

Windows::~Windows() {
  if (getpid() == pid_) return;
  binder_.abandon();
  (void)done_.release();
}

Status Windows::start(const OpenPort& port) {
  done_.reset(ibv_create_cq(&device_.context(), 4, nullptr, nullptr, 0));
  if (done_ == nullptr) return Status::system(errno, "a completion queue (ulimit -l?)");
  PLAIT_TRY(binder_.make(device_, {done_.get(), nullptr, 4, 0, 0}));
  Path self;
  self.port = port.port.port;
  self.gid_index = uint8_t(port.port.gid_index);
  self.gid = port.gid.entry.gid;
  self.lid = port.attributes.lid;
  self.global = port.gid.entry.link != Link::infiniband;
  self.mtu = port.attributes.active_mtu;
  self.queue_pair = binder_.number();
  PLAIT_TRY(binder_.init(self.port, 0));
  return binder_.bring_up(self);
}

Result<Windows::Held> Windows::bind(ibv_mr& mr, unsigned rights) {
  ibv_mw* raw = ibv_alloc_mw(&device_.pd(), IBV_MW_TYPE_1);
  if (raw == nullptr) return Status::system(errno, "a memory window");
  Held window(raw, [pid = pid_](ibv_mw* made) {
    if (getpid() != pid) return;
    if (const int error = ibv_dealloc_mw(made); error != 0)
      log::error("rdma: taking back a memory window: {}", std::strerror(error));
  });
  ibv_mw_bind wish{};
  wish.send_flags = IBV_SEND_SIGNALED;
  wish.bind_info = {&mr, reinterpret_cast<uint64_t>(mr.addr), mr.length, rights};
  const std::lock_guard guard(lock_);
  if (broken_) return Status(Code::state, "memory windows failed before");
  broken_ = true;
  if (const int error = ibv_bind_mw(binder_.get(), raw, &wish); error != 0)
    return Status::system(error, "binding a memory window");
  PLAIT_TRY(finish());
  broken_ = false;
  return window;
}

Status Windows::finish() {
  ibv_wc done{};
  for (const Deadline end = Deadline::in_ms(kBindMs);; sched_yield()) {
    const int count = ibv_poll_cq(done_.get(), 1, &done);
    if (count > 0 && done.status == IBV_WC_SUCCESS) return {};
    if (count > 0) return Status(Code::system, sentence(done.status, "binding a memory window"));
    if (count < 0 || end.passed())
      return Status(Code::timeout, "binding a memory window: no answer of the device");
  }
}

}  // namespace plait::rdma
