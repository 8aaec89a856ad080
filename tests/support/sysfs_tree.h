// A tree of files as the kernel's /sys, of a machine that a test makes up.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace plait::test {

class SysfsTree {
 public:
  SysfsTree() {
    std::string name = (std::filesystem::temp_directory_path() / "plait-sysfs-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directories(root_ / "devices");
  }
  ~SysfsTree() {
    std::error_code none;
    std::filesystem::remove_all(root_, none);
  }
  SysfsTree(const SysfsTree&) = delete;
  SysfsTree& operator=(const SysfsTree&) = delete;

  const std::filesystem::path& root() const noexcept { return root_; }

  void put(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  void link(const std::string& file, const std::filesystem::path& target) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::filesystem::create_symlink(target, root_ / file);
  }

  // The NUMA node `number` with these CPUs, `first` the first of them, in that socket.
  void numa(int number, const std::string& cpus, int first, int socket) {
    put("devices/system/node/node" + std::to_string(number) + "/cpulist", cpus);
    put("devices/system/cpu/cpu" + std::to_string(first) + "/topology/physical_package_id",
        std::to_string(socket));
  }
  // A device at "pci0000:00/0000:00:01.0/0000:01:00.0"; returns its folder.
  std::filesystem::path device(const std::string& path, const std::string& numa) {
    put("devices/" + path + "/numa_node", numa);
    const std::filesystem::path at = root_ / "devices" / path;
    link("bus/pci/devices/" + at.filename().string(), at);
    return at;
  }
  void nic(const std::string& name, const std::string& path, const std::string& numa,
           const std::string& mbps) {
    link("class/net/" + name + "/device", device(path, numa));
    put("class/net/" + name + "/speed", mbps);
  }
  void rdma(const std::string& name, const std::string& path, const std::string& numa,
            const std::string& rate) {
    link("class/infiniband/" + name + "/device", device(path, numa));
    put("class/infiniband/" + name + "/ports/1/rate", rate);
  }
  // An interface without a device: a veth, a bridge, lo.
  void no_device(const std::string& name, const std::string& mbps) {
    put("class/net/" + name + "/speed", mbps);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace plait::test
