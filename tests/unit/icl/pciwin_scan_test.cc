// How pciwin finds its device, in a tree of files like sysfs; windows that hold no pod.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pods.h"

namespace plait::icl {
namespace {

namespace fs = std::filesystem;

// A machine with PCI devices, as sysfs would show it.
class Sysfs {
 public:
  Sysfs() {
    fs::create_directories(root_);
    setenv("ICL_PCIWIN_SYSFS", root_.c_str(), 1);
  }
  ~Sysfs() {
    unsetenv("ICL_PCIWIN_SYSFS");
    fs::remove_all(root_);
  }
  void add(const std::string& address, const std::string& vendor, const std::string& device,
           uintmax_t bytes) const {
    const fs::path folder = root_ / address;
    fs::create_directories(folder);
    write(folder / "vendor", vendor + "\n");
    write(folder / "device", device + "\n");
    write(folder / "enable", "0\n");
    write(folder / "resource2", "");
    fs::resize_file(folder / "resource2", bytes);
  }
  std::string read(const std::string& file) const {
    std::ifstream in(root_ / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void remove(const std::string& file) const { fs::remove(root_ / file); }

 private:
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  const fs::path root_ = new_path();
};

std::string found(const char* address) {
  icl_device* d = nullptr;
  if (icl_open(address, nullptr, &d) != ICL_OK) return icl_last_error();
  icl_device_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(icl_query_device(d, &info), ICL_OK);
  EXPECT_STREQ(info.driver, "pciwin");
  EXPECT_EQ(icl_close(d), ICL_OK);
  return info.address;
}

bool says(const std::string& text) { return std::string(icl_last_error()).find(text) != std::string::npos; }

TEST(PciwinScan, TakesTheFirstThatItKnows) {
  const Sysfs sysfs;
  sysfs.add("0000:00:03.0", "0x1af4", "0x1000", 1 << 20);  // a NIC
  sysfs.add("0000:00:06.0", "0x1af4", "0x1110", 1 << 20);
  sysfs.add("0000:00:05.0", "0x1af4", "0x1110", 1 << 20);
  sysfs.add("not-a-device", "0x1af4", "0x1110", 1 << 20);
  ICL_OK_(icl_pciwin_create("", "ring 2", nullptr));
  EXPECT_EQ(sysfs.read("0000:00:05.0/enable").substr(0, 1), "1") << "or its BARs answer nothing";
  EXPECT_EQ(sysfs.read("0000:00:06.0/enable").substr(0, 1), "0") << "is none of ours";
  for (const char* address :
       {"pciwin", "pciwin:", "pciwin:0000:00:05.0", "pciwin?chips=1", "pciwin:?chips=0"})
    EXPECT_EQ(found(address), "pciwin:0000:00:05.0") << address;
  ICL_OK_(icl_pciwin_create("0000:00:06.0", "ring 3", nullptr));
  EXPECT_EQ(found("pciwin:0000:00:06.0?chips=0-2"), "pciwin:0000:00:06.0");
}

TEST(PciwinScan, SaysWhatIsMissing) {
  const Sysfs sysfs;
  icl_device* d = nullptr;
  EXPECT_EQ(icl_open("pciwin", nullptr, &d), ICL_ERR_NO_DEVICE);
  EXPECT_TRUE(says("1af4:1110")) << icl_last_error();
  EXPECT_EQ(icl_open("pciwin:0000:00:05.0", nullptr, &d), ICL_ERR_NO_DEVICE);
  EXPECT_TRUE(says("0000:00:05.0")) << icl_last_error();
  for (const char* address : {"pciwin:0000:00:05", "pciwin:0000:00:05.0x", "pciwin:window", "pciwin:../../x",
                              "pciwin:00000000000000000000000000:00:05.0", "pciwin?chip=0"})
    EXPECT_EQ(icl_open(address, nullptr, &d), ICL_ERR_INVALID) << address;
  sysfs.add("0000:00:05.0", "0x1af4", "0x1110", 0);
  EXPECT_EQ(icl_open("pciwin", nullptr, &d), ICL_ERR_INVALID) << "the BAR is empty";
  sysfs.remove("0000:00:05.0/resource2");
  EXPECT_EQ(icl_open("pciwin", nullptr, &d), ICL_ERR_NO_DEVICE);
  EXPECT_TRUE(says("resource2")) << icl_last_error();
  EXPECT_EQ(icl_pciwin_create(nullptr, "ring 2", nullptr), ICL_ERR_INVALID);
  EXPECT_EQ(icl_pciwin_create("", nullptr, nullptr), ICL_ERR_INVALID);
  EXPECT_EQ(icl_pciwin_destroy(nullptr), ICL_ERR_INVALID);
}

TEST(PciwinScan, AWindowWithoutAPodIsNoDevice) {
  const Sysfs sysfs;
  icl_device* d = nullptr;
  sysfs.add("0000:00:05.0", "0x1af4", "0x1110", 1 << 20);
  EXPECT_EQ(icl_open("pciwin", nullptr, &d), ICL_ERR_NO_DEVICE);
  EXPECT_TRUE(says("icl-pod create pciwin:0000:00:05.0")) << icl_last_error();
  EXPECT_EQ(icl_pciwin_create("", "ring 2; mtu=16384", nullptr), ICL_ERR_INVALID) << "it does not fit";
  EXPECT_TRUE(says("needs a window of")) << icl_last_error();
  EXPECT_EQ(icl_pciwin_create("", "ring 2; mtu=17", nullptr), ICL_ERR_INVALID);
  ICL_OK_(icl_pciwin_create("", "ring 2", nullptr));
  EXPECT_EQ(icl_pciwin_create("", "ring 2", nullptr), ICL_ERR_BUSY);
  ICL_OK_(icl_open("pciwin?chips=0", nullptr, &d));
  EXPECT_EQ(icl_pciwin_destroy(""), ICL_ERR_BUSY) << "a chip runs";
  EXPECT_TRUE(says("chip 0")) << icl_last_error();
  ICL_OK_(icl_close(d));
  ICL_OK_(icl_pciwin_destroy(""));
  EXPECT_EQ(icl_open("pciwin", nullptr, &d), ICL_ERR_NO_DEVICE);
  ICL_OK_(icl_pciwin_create("", "ring 2", nullptr));
}

TEST(PciwinScan, PodsOfEmuAreEmus) {
  const Pod emu("ring 2" + kFast), window(Driver::pciwin, "ring 2" + kFast);
  icl_device* d = nullptr;
  EXPECT_EQ(icl_open(("pciwin:" + emu.path()).c_str(), nullptr, &d), ICL_ERR_INVALID);
  EXPECT_EQ(icl_open(("emu:" + window.path()).c_str(), nullptr, &d), ICL_ERR_INVALID);
}

}  // namespace
}  // namespace plait::icl
