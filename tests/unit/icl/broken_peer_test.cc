// A peer that writes anything anywhere into the pod's shared memory: who else is there neither crashes nor
// hangs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <random>

#include "pods.h"

namespace plait::icl {
namespace {

struct Mapping {
  explicit Mapping(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat st {};
    fstat(fd, &st);
    bytes = static_cast<size_t>(st.st_size);
    base = static_cast<unsigned char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
  }
  ~Mapping() { munmap(base, bytes); }
  unsigned char* base;
  size_t bytes;
};

class BrokenPeer : public testing::TestWithParam<Driver> {};
INSTANTIATE_TEST_SUITE_P(Drivers, BrokenPeer, testing::Values(Driver::emu, Driver::pciwin),
                         [](const auto& i) {
                           return std::string(i.param == Driver::emu ? "emu" : "pciwin");
                         });

TEST_P(BrokenPeer, WordsOfTheWindowAreStrangers) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::minstd_rand random(seed);
  for (int round = 0; round < 4; round++) {
    Pod pod(GetParam(), "ring 3; mbps=0 latency=0ns memory=4M silent=60s");
    icl_device* d = pod.open("0-2");
    End a, b;
    a.open(d, 0, 64, 500);
    b.open(d, 1, 64, 500);
    connect(a, b);
    const Mapping m(pod.path());
    // Memory of chips is anybody's bytes; of pciwin it is elsewhere, and most of the window is empty.
    const size_t to = GetParam() == Driver::emu ? m.bytes - 3 * (4 << 20) : size_t{900000};
    for (int i = 0; i < 3000; i++) {
      size_t taken;
      const icl_descriptor w = a.with_signal(a.write(20000, 0, 1), 0, 1);
      icl_completion none;
      if (i % 8 == 0) icl_post(a.queue, &w, 1, &taken);
      icl_poll(a.ring, &none, 1);
      const size_t at = 4096 + (random() % ((to - 4096) / 8)) * 8;
      // Full 64 bits; small numbers, and one off what is there, do most harm.
      uint64_t value = static_cast<uint64_t>(random()) << 33 ^ random();
      if (i % 3 == 0) value = random() % 40;
      if (i % 3 == 1) value = *reinterpret_cast<volatile uint64_t*>(m.base + at) + 1;
      *reinterpret_cast<volatile uint64_t*>(m.base + at) = value;
      if (i % 16 == 0) usleep(100);
    }
    a.close();
    b.close();
  }
}

TEST_P(BrokenPeer, ADamagedFileIsRefused) {
  for (const size_t at :
       {size_t{0}, size_t{8}, size_t{24}, size_t{28}, size_t{36}, size_t{4096}, size_t{4100}}) {
    Pod pod(GetParam(), "ring 4" + kFast);
    {
      const Mapping m(pod.path());
      m.base[at + 3] ^= 0x55;
    }
    icl_device* d = nullptr;
    EXPECT_EQ(icl_open(pod.address("0").c_str(), nullptr, &d), ICL_ERR_INVALID) << at;
  }
  Pod cut(GetParam(), "ring 4" + kFast);
  ASSERT_EQ(truncate(cut.path().c_str(), 8192), 0);
  icl_device* d = nullptr;
  EXPECT_EQ(icl_open(cut.address("0").c_str(), nullptr, &d), ICL_ERR_INVALID);
}

TEST(Addresses, AreRefusedByWord) {
  Pod pod("ring 4" + kFast);
  icl_device* d = nullptr;
  for (const char* chips : {"4", "", "0,0", "2-1", "0-", "x", "0,", "-1", "99999999999"})
    EXPECT_EQ(icl_open(pod.address(chips).c_str(), nullptr, &d), ICL_ERR_INVALID) << chips;
  for (const char* address :
       {"", "emu", "nvlink:0", ":", "emu:/dev/shm/none-such", "pciwin:/dev/shm/none-such"})
    EXPECT_EQ(icl_open(address, nullptr, &d), ICL_ERR_NO_DEVICE) << address;
  pod.open("1");
  EXPECT_EQ(icl_open(pod.address("0-3").c_str(), nullptr, &d), ICL_ERR_BUSY);
  EXPECT_NE(std::string(icl_last_error()).find("chip 1"), std::string::npos) << icl_last_error();
  EXPECT_EQ(icl_emu_create(pod.path().c_str(), "ring 4", nullptr), ICL_ERR_BUSY);
  EXPECT_EQ(icl_emu_create("/dev/shm/none", "ring 4; mtu=65", nullptr), ICL_ERR_INVALID);
  EXPECT_EQ(icl_emu_create("/dev/shm/none", "ring 4; mbps=1x", nullptr), ICL_ERR_INVALID);
}

TEST(Structs, OfOtherVersions) {
  Pod pod("ring 2" + kFast);
  struct {
    icl_config config;
    uint64_t more;
  } later{};
  later.config.struct_size = sizeof later;
  icl_device* d = nullptr;
  later.more = 1;
  EXPECT_EQ(icl_open(pod.address("0").c_str(), &later.config, &d), ICL_ERR_INVALID);
  later.more = 0;
  ICL_OK_(icl_open(pod.address("0").c_str(), &later.config, &d));
  icl_port_info info{};
  EXPECT_EQ(icl_query_port(d, 0, 0, &info), ICL_ERR_INVALID) << "no size";
  info.struct_size = offsetof(icl_port_info, far_chip);
  info.far_chip = 77;
  ICL_OK_(icl_query_port(d, 0, 0, &info));
  EXPECT_EQ(info.far_chip, 77u) << "an older caller's struct ends there";
  EXPECT_EQ(info.quads, 4u);
  EXPECT_EQ(icl_query_port(d, 0, 2, &info), ICL_ERR_INVALID);
  EXPECT_EQ(icl_query_port(d, 2, 0, &info), ICL_ERR_INVALID);
  ICL_OK_(icl_close(d));
  EXPECT_EQ(icl_close(nullptr), ICL_ERR_INVALID);
  EXPECT_EQ(icl_poll(nullptr, nullptr, 0), 0u);
}

}  // namespace
}  // namespace plait::icl
