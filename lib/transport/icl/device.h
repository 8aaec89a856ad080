// A chip of this process: opened once, shared by all domains and regions that use it, closed with the last.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>

#include "drivers/icl/icl.h"
#include "transport/icl/icl.h"

namespace plait::transport::icl {

Code code_of(icl_status status) noexcept;
// `who`, a colon and what the driver said of this thread's last failed call.
Status failure(icl_status status, const std::string& who);

class Device {
 public:
  // The one that `options` ask for; an open one where there is.
  static Result<std::shared_ptr<Device>> open(const Options& options);
  Device(icl_device* device, std::string address, uint32_t chip) noexcept
      : handle_(device), address_(std::move(address)), chip_(chip) {}
  ~Device() { (void)icl_close(handle_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  icl_device* handle() const noexcept { return handle_; }
  const std::string& address() const noexcept { return address_; }  // without the chip
  uint32_t chip() const noexcept { return chip_; }
  // Handles are of the process that made them.
  bool is_this_process() const noexcept { return process_ == getpid(); }

 private:
  icl_device* const handle_;
  const std::string address_;
  const uint32_t chip_;
  const pid_t process_ = getpid();
};

}  // namespace plait::transport::icl
