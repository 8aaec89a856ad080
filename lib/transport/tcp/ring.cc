#include "transport/tcp/ring.h"

#include <cerrno>
#include <memory>
#include <string>

namespace plait::transport::tcp {

namespace {

// The newest of what is asked for, multishot receives, came with Linux 6.0, and so did this operation; the
// kernel cannot be asked for them by name.
constexpr int kNewest = IORING_OP_SEND_ZC;

Status refused(int error) {
  std::string why = "tcp: the kernel gives no io_uring";
  if (error == EPERM || error == EACCES)
    return Status(Code::unsupported,
                  why + ": forbidden here (sysctl kernel.io_uring_disabled, or a container's seccomp rules)");
  if (error == ENOSYS) return Status(Code::unsupported, why + ": it was built without");
  if (error == ENOMEM)
    return Status(Code::unsupported, why + ": no memory for it may be locked (look at ulimit -l)");
  return Status(Code::unsupported, why + ": " + Status::system(error, "io_uring_setup").text().data());
}

bool is_new_enough(io_uring* ring) noexcept {
  const std::unique_ptr<io_uring_probe, void (*)(io_uring_probe*)> probe(io_uring_get_probe_ring(ring),
                                                                         io_uring_free_probe);
  return probe != nullptr && io_uring_opcode_supported(probe.get(), kNewest) != 0;
}

}  // namespace

// Neither COOP_TASKRUN, with which what came is seen only by a thread that enters the kernel, and it must be
// the one that asked; nor SINGLE_ISSUER: a domain belongs to one thread at a time, but to whichever.
Status Ring::open(unsigned entries, unsigned completions) {
  io_uring_params params{};
  params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL;
  params.cq_entries = completions;
  if (const int error = io_uring_queue_init_params(entries, &ring_, &params); error != 0)
    return error == -EINVAL
               ? Status(Code::unsupported, "tcp: this kernel's io_uring is older than that of Linux 6.0")
               : refused(-error);
  open_ = true;
  if (is_new_enough(&ring_)) return {};
  return Status(Code::unsupported, "tcp: this kernel's io_uring is older than that of Linux 6.0");
}

io_uring_sqe* Ring::next() noexcept {
  if (io_uring_sqe* free = io_uring_get_sqe(&ring_)) return free;
  io_uring_submit(&ring_);
  return io_uring_get_sqe(&ring_);
}

Status BufferRing::open(Ring& ring) {
  ring_pages_ = map_pages(kCount * sizeof(io_uring_buf));
  buffers_ = map_pages(kCount * kBytes);
  if (!ring_pages_ || !buffers_) return Status(Code::memory, "tcp: no address space for buffers of io_uring");
  auto* pages = reinterpret_cast<io_uring_buf_ring*>(ring_pages_.data());
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<uintptr_t>(pages);
  registration.ring_entries = kCount;
  registration.bgid = kGroup;
  if (const int error = io_uring_register_buf_ring(ring.get(), &registration, 0); error != 0)
    return refused(-error);
  ring_ = pages;
  io_uring_buf_ring_init(ring_);
  for (unsigned id = 0; id < kCount; ++id) give_back(id);
  return {};
}

void BufferRing::close(Ring& ring) noexcept {
  if (ring_ != nullptr) io_uring_unregister_buf_ring(ring.get(), kGroup);
  ring_ = nullptr;
}

void BufferRing::give_back(unsigned id) noexcept {
  io_uring_buf_ring_add(ring_, buffers_.data() + id * kBytes, kBytes, static_cast<unsigned short>(id),
                        io_uring_buf_ring_mask(kCount), 0);
  io_uring_buf_ring_advance(ring_, 1);
}

}  // namespace plait::transport::tcp
