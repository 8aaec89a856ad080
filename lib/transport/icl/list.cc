#include <dirent.h>
#include <sys/stat.h>

#include <charconv>

#include "transport/icl/device.h"

namespace plait::transport::icl {
namespace {

constexpr const char* kShm = "/dev/shm";
constexpr size_t kMostPods = 16;

struct Count {
  uint32_t owned = 0, dead = 0, ports = 0, up = 0;
};

Count count(icl_device* pod, const icl_device_info& info) {
  Count all;
  for (uint32_t i = 0; i < info.chips; i++) {
    icl_chip_info chip{};
    chip.struct_size = sizeof chip;
    if (icl_query_chip(pod, i, &chip) != ICL_OK) continue;
    all.owned += chip.state == ICL_CHIP_RUNNING;
    all.dead += chip.state == ICL_CHIP_DEAD;
    for (uint32_t p = 0; p < info.ports; p++) {
      icl_port_info port{};
      port.struct_size = sizeof port;
      if (icl_query_port(pod, i, p, &port) != ICL_OK || port.planned_chip == ICL_ANY) continue;
      all.ports++;
      all.up += port.state == ICL_PORT_UP;
    }
  }
  return all;
}

std::string text_of(const icl_device_info& info, const Count& all) {
  return std::to_string(info.chips) + " chips, " + std::to_string(all.owned) + " run, " +
         std::to_string(all.dead) + " dead; " + std::to_string(all.up / 2) + " of " +
         std::to_string(all.ports / 2) + " links up";
}

RailListing describe_pod(const std::string& address, icl_device* pod) {
  RailListing one{"icl:" + address, {}, {}};
  icl_device_info info{};
  info.struct_size = sizeof info;
  if (icl_query_device(pod, &info) != ICL_OK) {
    one.missing = icl_last_error();
    return one;
  }
  const Count all = count(pod, info);
  (all.owned < info.chips ? one.can : one.missing) = text_of(info, all);
  if (all.owned >= info.chips) one.missing += ": every chip has its process";
  return one;
}

}  // namespace

std::vector<RailListing> list() {
  std::vector<RailListing> all;
  DIR* folder = opendir(kShm);
  while (const dirent* entry = folder == nullptr ? nullptr : readdir(folder)) {
    const std::string path = std::string(kShm) + "/" + entry->d_name, address = "emu:" + path;
    struct stat file {};
    if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid != geteuid()) continue;
    icl_device* pod = nullptr;
    if (icl_open(address.c_str(), nullptr, &pod) != ICL_OK) continue;  // something else
    all.push_back(describe_pod(address, pod));
    (void)icl_close(pod);
    if (all.size() == kMostPods) break;
  }
  if (folder != nullptr) closedir(folder);
  if (icl_device* window = nullptr; icl_open("pciwin", nullptr, &window) == ICL_OK) {
    all.push_back(describe_pod("pciwin", window));
    (void)icl_close(window);
  }
  if (all.empty())
    all.push_back(
        {"icl", "",
         "there is no pod of emulated chips in /dev/shm, and no PCI device with a window: icl-pod makes "
         "pods"});
  return all;
}

Result<Options> parse_detail(std::string_view detail) {
  Options options;
  const size_t mark = detail.find('#');
  options.address = detail.substr(0, mark);
  if (options.address.empty())
    return Status(Code::invalid, "icl needs an address: PLAIT_NETWORK=icl:emu:/dev/shm/pod");
  if (mark == detail.npos) return options;
  const std::string_view chip = detail.substr(mark + 1);
  const auto [stop, error] = std::from_chars(chip.data(), chip.data() + chip.size(), options.chip);
  if (error != std::errc() || stop != chip.data() + chip.size() || options.chip < 0 ||
      options.chip >= ICL_MAX_CHIPS)
    return Status(Code::invalid, "\"" + std::string(chip) + "\" is no chip: they count from 0 to 1023");
  return options;
}

}  // namespace plait::transport::icl
