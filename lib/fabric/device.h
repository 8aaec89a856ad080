// A provider's domain, open, and memory registered with it.
#pragma once

#include "fabric/provider.h"

namespace plait::fabric {

// Memory that a provider may move from or to. Its end takes it back: peers cannot reach it any more. Empty:
// of memory that needs none.
class Registration {
 public:
  Registration() = default;
  Registration(Fid<fid_mr> mr, uint64_t base) noexcept : mr_(std::move(mr)), base_(base) {}
  // What a peer writes to: the provider's name of the first byte, and its key.
  uint64_t base() const noexcept { return base_; }
  uint64_t key() const noexcept { return mr_ ? fi_mr_key(mr_.get()) : 0; }
  // What goes with a local buffer.
  void* descriptor() const noexcept { return mr_ ? fi_mr_desc(mr_.get()) : nullptr; }

 private:
  Fid<fid_mr> mr_;
  uint64_t base_ = 0;
};

class Device {
 public:
  static Result<std::shared_ptr<Device>> open(Choice choice);
  explicit Device(Choice choice) : choice_(std::move(choice)) {}

  // `rights`: FI_REMOTE_WRITE and the like, or 0: nobody else's, and empty where the provider does not ask
  // for it. Any thread. The device must outlive it.
  Result<Registration> enroll(void* base, size_t bytes, uint64_t rights) const;

  const Choice& choice() const noexcept { return choice_; }
  fid_fabric* fabric() const noexcept { return fabric_.get(); }
  fid_domain* domain() const noexcept { return domain_.get(); }
  // Whether completion queues have a descriptor to sleep on.
  bool has_fd() const noexcept { return has_fd_; }

 private:
  const Choice choice_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  bool has_fd_ = false;
};

}  // namespace plait::fabric
