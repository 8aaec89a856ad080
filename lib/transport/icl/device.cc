#include "transport/icl/device.h"

#include <charconv>
#include <mutex>
#include <vector>

namespace plait::transport::icl {
namespace {

constexpr uint32_t kQueues = 1024, kExports = 8192;

std::mutex mutex;
std::vector<std::weak_ptr<Device>>& opened() {
  static auto* all = new std::vector<std::weak_ptr<Device>>;
  return *all;
}

// Behind "?chips=": one chip; -1: none is said.
Result<int> take_chip(std::string& address) {
  constexpr std::string_view kChips = "?chips=";
  const size_t mark = address.find('?');
  if (mark == address.npos) return -1;
  int chip = -1;
  const char *at = address.data() + mark + kChips.size(), *end = address.data() + address.size();
  if (address.compare(mark, kChips.size(), kChips) != 0) at = end;
  const auto [stop, error] = std::from_chars(at, end, chip);
  if (error != std::errc() || stop != end || chip < 0)
    return Status(Code::invalid, "icl: \"" + address.substr(mark) + "\" is not ?chips= and one chip");
  address.resize(mark);
  return chip;
}

Result<std::shared_ptr<Device>> open_chip(const std::string& address, int chip) {
  icl_config config{};
  config.struct_size = sizeof config;
  config.max_queues = kQueues;
  config.max_exports = kExports;
  icl_device* device = nullptr;
  const icl_status status = icl_open((address + "?chips=" + std::to_string(chip)).c_str(), &config, &device);
  if (status != ICL_OK) return failure(status, "icl:" + address);
  auto made = std::make_shared<Device>(device, address, uint32_t(chip));
  opened().push_back(made);
  return made;
}

Result<uint32_t> chips_of(const std::string& address) {
  icl_device* observer = nullptr;
  icl_device_info info{};
  info.struct_size = sizeof info;
  icl_status status = icl_open(address.c_str(), nullptr, &observer);
  if (status == ICL_OK) status = icl_query_device(observer, &info);
  if (status != ICL_OK) return failure(status, "icl:" + address);
  (void)icl_close(observer);
  return info.chips;
}

// First the one that is preferred, then each that is free.
Result<std::shared_ptr<Device>> open_any(const std::string& address, int prefer) {
  const auto chips = chips_of(address);
  if (!chips.ok()) return chips.status();
  if (prefer >= 0 && uint32_t(prefer) < *chips) return open_chip(address, prefer);
  for (uint32_t chip = 0; chip < *chips; chip++) {
    auto device = open_chip(address, int(chip));
    if (device.ok() || device.status().code() != Code::state) return device;
  }
  return Status(Code::state, "icl:" + address + ": all " + std::to_string(*chips) +
                                 " chips are owned by other processes: make a larger pod, or end those");
}

}  // namespace

Code code_of(icl_status status) noexcept {
  switch (status) {
    case ICL_OK:
      return Code::ok;
    case ICL_ERR_INVALID:
    case ICL_ERR_CYCLE:
      return Code::invalid;
    case ICL_ERR_NO_MEMORY:
      return Code::memory;
    case ICL_ERR_NO_DEVICE:
    case ICL_ERR_UNSUPPORTED:
      return Code::unsupported;
    case ICL_ERR_SYSTEM:
      return Code::system;
    case ICL_ERR_BUSY:
    case ICL_ERR_STATE:
    case ICL_ERR_AGAIN:
      return Code::state;
    case ICL_ERR_DENIED:
      return Code::auth;
    case ICL_ERR_TIMEOUT:
      return Code::timeout;
    case ICL_ERR_ABORTED:
    case ICL_ERR_FLUSHED:
      return Code::aborted;
    default:  // refused, unreachable, a link down, a chip dead or reset, nonsense on the wire
      return Code::peer;
  }
}

Status failure(icl_status status, const std::string& who) {
  return {code_of(status), who + ": " + icl_last_error() + " (" + icl_status_name(status) + ")"};
}

Result<std::shared_ptr<Device>> Device::open(const Options& options) {
  std::string address = options.address;
  const auto said = take_chip(address);
  if (!said.ok()) return said.status();
  const int chip = options.chip >= 0 ? options.chip : *said;
  std::lock_guard lock(mutex);
  std::erase_if(opened(), [](const auto& one) { return one.expired(); });
  for (const auto& one : opened()) {
    auto device = one.lock();
    if (device && device->is_this_process() && device->address() == address &&
        (chip < 0 || uint32_t(chip) == device->chip()))
      return device;
  }
  return chip >= 0 ? open_chip(address, chip) : open_any(address, options.prefer);
}

}  // namespace plait::transport::icl
