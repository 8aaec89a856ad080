// Owns what libfabric makes. A forked child has no part in what its parent opened: there an owner that ends
// closes nothing.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <unistd.h>

#include <memory>

namespace plait::fabric {

class InThisProcess {
 public:
  bool here() const noexcept { return getpid() == pid_; }

 private:
  pid_t pid_ = getpid();
};

template <class T>
struct CloseFid : InThisProcess {
  void operator()(T* object) const noexcept {
    if (here()) fi_close(&object->fid);
  }
};
template <class T>
using Fid = std::unique_ptr<T, CloseFid<T>>;

struct FreeInfo {
  void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

}  // namespace plait::fabric
