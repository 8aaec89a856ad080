// Registering memory with a device.
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "rdma/explain.h"
#include "rdma/registrations.h"

namespace plait::rdma {

namespace {

class DeviceRegistrar final : public Registrar {
 public:
  DeviceRegistrar(ibv_pd& pd, std::string_view device) : pd_(pd), device_(device) {}

  Result<ibv_mr*> take(const Span& span, int flags) override {
    errno = 0;
    ibv_mr* mr = nullptr;
    if (span.dmabuf >= 0) {
      mr = ibv_reg_dmabuf_mr(&pd_, span.dmabuf_offset, span.bytes, reinterpret_cast<uint64_t>(span.base),
                             span.dmabuf, flags & ~IBV_ACCESS_RELAXED_ORDERING);
    } else {
      mr = ibv_reg_mr(&pd_, span.base, span.bytes, flags);
      // Memory that is read-only can be a source.
      if (mr == nullptr && errno == EFAULT && (flags & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND)) == 0)
        mr = ibv_reg_mr(&pd_, span.base, span.bytes, flags & ~IBV_ACCESS_LOCAL_WRITE);
    }
    if (mr == nullptr) return registration_failed(errno, span.bytes, device_);
    return mr;
  }

  void give_back(ibv_mr* made) noexcept override {
    const size_t bytes = made->length;
    if (const int error = ibv_dereg_mr(made); error != 0)
      log::error("{}: taking back a registration of {} bytes: {}", device_, bytes, std::strerror(error));
  }

 private:
  ibv_pd& pd_;
  const std::string device_;
};

}  // namespace

std::unique_ptr<Registrar> make_registrar(ibv_pd& pd, std::string_view device) {
  return std::make_unique<DeviceRegistrar>(pd, device);
}

}  // namespace plait::rdma
