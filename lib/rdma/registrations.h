// Memory that a device may reach. Registrations of memory that only this side's own transfers use are shared
// by all who have registered the same bytes, while one of them lives.
#pragma once

#include <infiniband/verbs.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "base/status.h"

namespace plait::rdma {

struct Span {
  void* base = nullptr;
  size_t bytes = 0;
  int dmabuf = -1;  // a descriptor: memory of an accelerator, `dmabuf_offset` bytes into it
  uint64_t dmabuf_offset = 0;
};

class Registrations {
 public:
  explicit Registrations(ibv_pd& pd, std::string_view device);

  // Any thread. `flags`: of enum ibv_access_flags. Released by the last who holds it, in this process only.
  using Held = std::shared_ptr<ibv_mr>;
  Result<Held> hold(const Span& span, int flags);

 private:
  Result<Held> pin(const Span& span, int flags);

  const int pid_;
  ibv_pd& pd_;
  const std::string device_;
  std::mutex lock_;
  std::map<std::tuple<void*, size_t, int>, std::weak_ptr<ibv_mr>> shared_;  // base, bytes, flags
};

}  // namespace plait::rdma
