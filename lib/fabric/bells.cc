#include "fabric/bells.h"

namespace plait::fabric {

Status Bells::open(const Device& device) {
  memory_ = map_pages(kRing * sizeof(uint64_t));
  if (!memory_) return Status(Code::memory, "libfabric: no address space for a ring of bells");
  auto registration = device.enroll(memory_.data(), memory_.size(), FI_REMOTE_WRITE);
  if (!registration.ok()) return registration.status();
  registration_ = std::move(*registration);
  return {};
}

bool Bells::hear() noexcept {
  const auto taken = uint16_t(uint16_t(at(heard_) >> 32) - uint16_t(taken_));
  if (taken > sent_ - taken_) return false;
  taken_ += taken;
  ++heard_;
  return true;
}

bool Bells::put(uint64_t number, uint64_t bell) noexcept {
  if (number - heard_ >= kRing || bell >> 56 != lap(number)) return false;
  at(number) = bell;
  return true;
}

bool Bells::ringing() const noexcept {
  for (uint64_t i = 0; i < kRing; ++i) {
    if (rang(heard_ + i)) return true;
  }
  return false;
}

}  // namespace plait::fabric
