// What the versions of the tables say of devices, and that each of them moves bytes.
#include "pair.h"

#include <cstring>

namespace plait::nccl {
namespace {

template <class P>
P garbage() {
  P p;
  std::memset(static_cast<void*>(&p), 0xa5, sizeof p);
  return p;
}

template <class P>
void expect_common(const P& p) {
  EXPECT_STREQ(p.name, "tcp:lo");
  EXPECT_EQ(p.pci_path, nullptr);  // loopback is of no device
  EXPECT_EQ(p.pointer_support, pointer_host);
  EXPECT_EQ(p.reg_is_global, 0);
  EXPECT_GT(p.speed, 0);
  EXPECT_EQ(p.port, 1);
  EXPECT_GE(p.latency, 0);
  EXPECT_GT(p.max_comms, 0);
  EXPECT_EQ(p.max_receives, 8);
  EXPECT_EQ(p.device_type, DeviceType::host);
  EXPECT_EQ(p.device_version, 0);
}

template <class P>
void expect_newer(const P& p) {
  expect_common(p);
  EXPECT_EQ(p.force_flush, 0);
  EXPECT_EQ(p.virtual_device.count, 1);
  EXPECT_EQ(p.virtual_device.devices[0], 0);
  EXPECT_GT(p.max_p2p_bytes, 0u);
  EXPECT_LE(p.max_p2p_bytes, max_transfer);
  EXPECT_GT(p.max_coll_bytes, 0u);
}

TEST(Tables, PropertiesOfAllVersions) {
  Started started;
  ASSERT_EQ(started.result, kSuccess) << logged();
  auto v8 = garbage<PropertiesV8>();
  ASSERT_EQ(ncclNetPlugin_v8.get_properties(0, &v8), kSuccess);
  expect_common(v8);
  auto v9 = garbage<PropertiesV9>();
  ASSERT_EQ(ncclNetPlugin_v9.get_properties(0, &v9), kSuccess);
  expect_newer(v9);
  auto v10 = garbage<PropertiesV10>();
  ASSERT_EQ(ncclNetPlugin_v10.get_properties(0, &v10), kSuccess);
  expect_newer(v10);
  auto v11 = garbage<PropertiesV11>();
  ASSERT_EQ(ncclNetPlugin_v11.get_properties(0, &v11), kSuccess);
  expect_newer(v11);
  EXPECT_EQ(v11.max_multi_request_size, 1);
  auto v12 = garbage<PropertiesV12>();
  ASSERT_EQ(ncclNetPlugin_v12.get_properties(0, &v12), kSuccess);
  expect_newer(v12);
  EXPECT_EQ(v12.rail, unset);
  EXPECT_EQ(v12.plane, unset);
}

// PLAIT_TEST_PCI: what the first device's has to be, "none" for none (tests/lab/vm/nccl.sh).
TEST(Tables, PciPathIsThatOfTheDevice) {
  const char* expected = std::getenv("PLAIT_TEST_PCI");
  if (expected == nullptr) GTEST_SKIP() << "PLAIT_TEST_PCI is not set";
  Started started;
  ASSERT_EQ(started.result, kSuccess) << logged();
  PropertiesV12 properties;
  ASSERT_EQ(net().get_properties(0, &properties), kSuccess);
  EXPECT_STREQ(properties.pci_path != nullptr ? properties.pci_path : "none", expected);
}

TEST(Tables, ADeviceThatIsNone) {
  Started started;
  PropertiesV12 p;
  EXPECT_EQ(net().get_properties(1, &p), NcclResult::invalid_argument);
  EXPECT_EQ(net().get_properties(-1, &p), NcclResult::invalid_argument);
  HandleBytes handle{};
  void* comm = nullptr;
  EXPECT_EQ(net().listen(started.context, 7, handle.data(), &comm), NcclResult::invalid_argument);
  EXPECT_NE(logged().find("device 7 is none: there are 1"), std::string::npos) << logged();
}

// No function that NCCL calls without looking is null.
template <class T>
void expect_whole(const T& table) {
  EXPECT_STREQ(table.name, "plait");
  EXPECT_TRUE(table.init && table.devices && table.get_properties && table.listen && table.connect &&
              table.accept);
  EXPECT_TRUE(table.reg_mr && table.dereg_mr && table.isend && table.irecv && table.iflush && table.test);
  EXPECT_TRUE(table.close_send && table.close_receive && table.close_listen);
}

// 8 to 10: init once, connect without a context.
template <class T, class Connect, class Send, class Receive>
void expect_moves(const T& t, Connect connect, Send isend, Receive irecv) {
  expect_whole(t);
  HandleBytes handle{};
  void *listener = nullptr, *send = nullptr, *receive = nullptr;
  ASSERT_EQ(t.listen(0, handle.data(), &listener), kSuccess);
  const auto until = Deadline::in_ms(20'000);
  while ((send == nullptr || receive == nullptr) && !until.passed()) {
    if (send == nullptr) {
      ASSERT_EQ(connect(handle.data(), &send), kSuccess);
    }
    if (receive == nullptr) {
      ASSERT_EQ(t.accept(listener, &receive, nullptr), kSuccess);
    }
  }
  ASSERT_TRUE(send != nullptr && receive != nullptr);
  auto sent = pattern(50'000, 8);
  std::vector<unsigned char> got(50'000);
  void *memory = nullptr, *out = nullptr, *in = nullptr;
  ASSERT_EQ(t.reg_mr(receive, got.data(), got.size(), pointer_host, &memory), kSuccess);
  ASSERT_EQ(irecv(receive, got.data(), memory, &in), kSuccess);
  ASSERT_EQ(isend(send, sent.data(), &out), kSuccess);
  ASSERT_TRUE(in != nullptr && out != nullptr);
  int sent_it = 0, got_it = 0, size = 0;
  while ((sent_it == 0 || got_it == 0) && !until.passed()) {
    if (sent_it == 0) {
      ASSERT_EQ(t.test(out, &sent_it, nullptr), kSuccess);
    }
    if (got_it == 0) {
      ASSERT_EQ(t.test(in, &got_it, &size), kSuccess);
    }
  }
  EXPECT_EQ(size, 50'000);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(t.dereg_mr(receive, memory), kSuccess);
  EXPECT_EQ(t.close_send(send), kSuccess);
  EXPECT_EQ(t.close_receive(receive), kSuccess);
  EXPECT_EQ(t.close_listen(listener), kSuccess);
}

constexpr int kBytes = 50'000;

TEST(Tables, Version8Moves) {
  ASSERT_EQ(ncclNetPlugin_v8.init(nullptr), kSuccess);
  const auto& t = ncclNetPlugin_v8;
  expect_moves(
      t, [&](void* handle, void** comm) { return t.connect(0, handle, comm, nullptr); },
      [&](void* comm, void* data, void** request) {
        return t.isend(comm, data, kBytes, 1, nullptr, request);
      },
      [&](void* comm, void* data, void* memory, void** request) {
        int size = kBytes, tag = 1;
        return t.irecv(comm, 1, &data, &size, &tag, &memory, request);
      });
}

TEST(Tables, Version9Moves) {
  ASSERT_EQ(ncclNetPlugin_v9.init(nullptr), kSuccess);
  const auto& t = ncclNetPlugin_v9;
  expect_moves(
      t, [&](void* handle, void** comm) { return t.connect(0, handle, comm, nullptr); },
      [&](void* comm, void* data, void** request) {
        return t.isend(comm, data, kBytes, 1, nullptr, request);
      },
      [&](void* comm, void* data, void* memory, void** request) {
        size_t size = kBytes;
        int tag = 1;
        return t.irecv(comm, 1, &data, &size, &tag, &memory, request);
      });
}

TEST(Tables, Version10Moves) {
  ASSERT_EQ(ncclNetPlugin_v10.init(nullptr, nullptr), kSuccess);
  const auto& t = ncclNetPlugin_v10;
  Config config{unset};
  expect_moves(
      t, [&](void* handle, void** comm) { return t.connect(0, &config, handle, comm, nullptr); },
      [&](void* comm, void* data, void** request) {
        return t.isend(comm, data, kBytes, 1, nullptr, nullptr, request);
      },
      [&](void* comm, void* data, void* memory, void** request) {
        size_t size = kBytes;
        int tag = 1;
        return t.irecv(comm, 1, &data, &size, &tag, &memory, nullptr, request);
      });
}

TEST(Tables, ElevenAndTwelveAreWhole) {
  expect_whole(ncclNetPlugin_v11);
  expect_whole(ncclNetPlugin_v12);
  EXPECT_TRUE(ncclNetPlugin_v11.finalize != nullptr && ncclNetPlugin_v12.finalize != nullptr);
}

}  // namespace
}  // namespace plait::nccl
