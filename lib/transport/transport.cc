#include "transport/transport.h"

namespace plait::transport {

Result<LocalSlice> Region::slice(size_t offset, size_t bytes) const {
  if (!in_bounds(offset, bytes, memory_.bytes)) {
    return Status(Code::invalid, "slice of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                                     " is outside of a region of " + std::to_string(memory_.bytes) +
                                     " bytes");
  }
  return LocalSlice{static_cast<std::byte*>(memory_.base) + offset, bytes, this};
}

Result<RemoteSlice> RemoteRegion::slice(uint64_t offset, size_t bytes) {
  if (!in_bounds(offset, bytes, bytes_)) {
    return Status(Code::invalid, "slice of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                                     " is outside of a peer's region of " + std::to_string(bytes_) +
                                     " bytes");
  }
  return RemoteSlice{this, offset, bytes};
}

}  // namespace plait::transport
