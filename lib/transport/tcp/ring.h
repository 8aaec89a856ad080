// A ring of io_uring, and the buffers that its kernel side fills. Any thread may use it, one at a time.
#pragma once

#include <liburing.h>

#include <cstdint>

#include "base/bytes.h"
#include "base/pages.h"
#include "base/status.h"

namespace plait::transport::tcp {

class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (open_) io_uring_queue_exit(&ring_);
  }
  // Code::unsupported, and why, where the kernel refuses.
  Status open(unsigned entries, unsigned completions);
  io_uring* get() noexcept { return &ring_; }
  int fd() const noexcept { return ring_.ring_fd; }
  // Those prepared must be few: what is full is submitted first. Null: the kernel takes none.
  io_uring_sqe* next() noexcept;
  bool has_news() const noexcept { return io_uring_cq_ready(&ring_) != 0; }

 private:
  io_uring ring_{};
  bool open_ = false;
};

// Buffers of one size that the kernel fills in order of its own.
class BufferRing {
 public:
  static constexpr unsigned kCount = 128;
  static constexpr size_t kBytes = 4096;
  static constexpr int kGroup = 0;

  Status open(Ring& ring);
  // Nothing is filled any more.
  void close(Ring& ring) noexcept;
  const std::byte* data(unsigned id) const noexcept { return buffers_.data() + id * kBytes; }
  void give_back(unsigned id) noexcept;

 private:
  Mapping ring_pages_, buffers_;
  io_uring_buf_ring* ring_ = nullptr;
};

}  // namespace plait::transport::tcp
