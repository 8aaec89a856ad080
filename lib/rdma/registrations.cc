#include "rdma/registrations.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "rdma/explain.h"

namespace plait::rdma {

namespace {

constexpr int kPeers = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

}  // namespace

Registrations::Registrations(ibv_pd& pd, std::string_view device)
    : pid_(getpid()), pd_(pd), device_(device) {}

Result<Registrations::Held> Registrations::hold(const Span& span, int flags) {
  if ((flags & kPeers) != 0 || span.dmabuf >= 0) return pin(span, flags);
  // Who holds one promises that the memory stays, so it is good as long as somebody holds it, and no longer:
  // what is unmapped later is never met again at the same address.
  const std::lock_guard guard(lock_);
  std::erase_if(shared_, [](const auto& item) { return item.second.expired(); });
  std::weak_ptr<ibv_mr>& known = shared_[{span.base, span.bytes, flags}];
  if (auto living = known.lock(); living != nullptr) return living;
  auto made = pin(span, flags);
  if (made.ok()) known = *made;
  return made;
}

Result<Registrations::Held> Registrations::pin(const Span& span, int flags) {
  errno = 0;
  ibv_mr* mr = nullptr;
  if (span.dmabuf >= 0) {
    mr = ibv_reg_dmabuf_mr(&pd_, span.dmabuf_offset, span.bytes, reinterpret_cast<uint64_t>(span.base),
                           span.dmabuf, flags & ~IBV_ACCESS_RELAXED_ORDERING);
  } else {
    mr = ibv_reg_mr(&pd_, span.base, span.bytes, flags);
    // Memory that is read-only can be a source.
    if (mr == nullptr && errno == EFAULT && (flags & IBV_ACCESS_REMOTE_WRITE) == 0)
      mr = ibv_reg_mr(&pd_, span.base, span.bytes, flags & ~IBV_ACCESS_LOCAL_WRITE);
  }
  if (mr == nullptr) return registration_failed(errno, span.bytes, device_);
  return Held(mr, [pid = pid_](ibv_mr* made) {
    if (getpid() != pid) return;
    if (const int error = ibv_dereg_mr(made); error != 0)
      log::error("rdma: taking back a registration of {} bytes: {}", made->length, std::strerror(error));
  });
}

}  // namespace plait::rdma
