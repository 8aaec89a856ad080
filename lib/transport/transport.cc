#include "transport/transport.h"

#include <cstdio>
#include <iterator>

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

namespace {

std::string bytes_text(size_t bytes) {
  constexpr std::string_view kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits); unit++) bytes /= 1024;
  return std::to_string(bytes) + std::string(kUnits[unit]);
}

}  // namespace

std::string describe(const Capabilities& c) {
  std::string text = c.get ? "put and get" : "put";
  text += ", " + bytes_text(c.inline_bytes) + " inline, " + bytes_text(c.max_transfer) + " at once";
  if (c.target_must_poll) text += ", moves when both poll";
  text += c.detects_death ? ", tells of deaths" : ", deaths are learned of elsewhere";
  if (c.local_needs_region) text += ", from registered memory";
  if (c.holds_pages) text += ", keeps pages in memory";
  if (c.device_memory) text += ", device memory";
  char rate[32] = "";
  if (c.cost.bandwidth_Bps > 0) std::snprintf(rate, sizeof rate, ", %.2f GB/s", c.cost.bandwidth_Bps / 1e9);
  return text + rate;
}

}  // namespace plait::transport
