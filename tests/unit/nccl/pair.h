// Two comms of one process, driven as NCCL's threads would: through the tables alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "abi.h"
#include "base/clock.h"

extern "C" {
extern const plait::nccl::NetV8 ncclNetPlugin_v8;
extern const plait::nccl::NetV9 ncclNetPlugin_v9;
extern const plait::nccl::NetV10 ncclNetPlugin_v10;
extern const plait::nccl::NetV11 ncclNetPlugin_v11;
extern const plait::nccl::NetV12 ncclNetPlugin_v12;
}

namespace plait::nccl {

inline const NetV12& net() { return ncclNetPlugin_v12; }
constexpr auto kSuccess = NcclResult::success;
using HandleBytes = std::array<char, handle_bytes>;

// What the plugin told its log, at warn.
inline std::string& logged() {
  static std::string text;
  return text;
}
inline void log_warnings(LogLevel level, unsigned long, const char*, int, const char* format, ...) {
  if (level != LogLevel::warn) return;
  va_list arguments;
  va_start(arguments, format);
  char line[2048];
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  logged() += line;
  logged() += '\n';
}

// What is driven: device 0, or a virtual one of the first PLAIT_TEST_VIRTUAL devices.
inline int device() {
  const char* count = std::getenv("PLAIT_TEST_VIRTUAL");
  int joined = 0;
  if (count == nullptr) return joined;
  VirtualDeviceV12 members{std::atoi(count), {0, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(net().make_virtual_device(&joined, &members), kSuccess) << logged();
  return joined;
}

// One of NCCL's communicators.
class Started {
 public:
  explicit Started(int traffic_class = unset) {
    logged().clear();
    Config config{traffic_class};
    result = net().init(&context, 7, &config, log_warnings, nullptr);
  }
  ~Started() {
    if (context != nullptr) {
      EXPECT_EQ(net().finalize(context), kSuccess);
    }
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  NcclResult result;
  void* context = nullptr;
};

// A send comm and the receive comm that it leads to.
struct Pair {
  void *send = nullptr, *receive = nullptr;

  Pair() = default;
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    close_send();
    close_receive();
  }
  void close_send() {
    if (send != nullptr) {
      EXPECT_EQ(net().close_send(send), kSuccess);
    }
    send = nullptr;
  }
  void close_receive() {
    if (receive != nullptr) {
      EXPECT_EQ(net().close_receive(receive), kSuccess);
    }
    receive = nullptr;
  }
  // `listener` listens, and made `handle`.
  void join(void* context, void* listener, HandleBytes& handle, int number = device()) {
    const auto until = Deadline::in_ms(20'000);
    while ((send == nullptr || receive == nullptr) && !until.passed()) {
      if (send == nullptr) {
        ASSERT_EQ(net().connect(context, number, handle.data(), &send, nullptr), kSuccess);
      }
      if (receive == nullptr) {
        ASSERT_EQ(net().accept(listener, &receive, nullptr), kSuccess);
      }
    }
    ASSERT_TRUE(send != nullptr && receive != nullptr) << logged();
  }
  void join(void* context, int number = device()) {
    HandleBytes handle{};
    void* listener = nullptr;
    ASSERT_EQ(net().listen(context, number, handle.data(), &listener), kSuccess) << logged();
    join(context, listener, handle, number);
    EXPECT_EQ(net().close_listen(listener), kSuccess);
  }
};

// Posts until there is room. A failure is the result.
inline void* isend(const Pair& pair, const void* data, size_t bytes, int tag, void* memory = nullptr) {
  void* request = nullptr;
  const auto until = Deadline::in_ms(20'000);
  while (request == nullptr && !until.passed()) {
    if (net().isend(pair.send, const_cast<void*>(data), bytes, tag, memory, nullptr, &request) != kSuccess)
      return nullptr;
    if (request == nullptr && pair.receive != nullptr) {
      // The other side has to move for there to be room: a poll that takes nothing.
      void* nothing = nullptr;
      (void)net().iflush(pair.receive, 0, nullptr, nullptr, nullptr, &nothing);
    }
  }
  EXPECT_NE(request, nullptr);
  return request;
}
inline void* irecv(const Pair& pair, void* data, size_t bytes, int tag, void* memory = nullptr) {
  void* request = reinterpret_cast<void*>(optional_completion);
  EXPECT_EQ(net().irecv(pair.receive, 1, &data, &bytes, &tag, &memory, nullptr, &request), kSuccess);
  EXPECT_NE(request, nullptr);
  return request;
}

// Tests all in turn until each is done; their sizes, 8 each. Empty: one failed, or time was over.
inline std::vector<std::array<int, 8>> finish(std::vector<void*> requests) {
  std::vector<std::array<int, 8>> sizes(requests.size());
  const auto until = Deadline::in_ms(30'000);
  for (size_t left = requests.size(); left != 0;) {
    for (size_t i = 0; i < requests.size(); i++) {
      int done = 0;
      if (requests[i] == nullptr) continue;
      if (net().test(requests[i], &done, sizes[i].data()) != kSuccess || until.passed()) return {};
      if (done == 0) continue;
      requests[i] = nullptr;
      left--;
    }
  }
  return sizes;
}

inline std::vector<unsigned char> pattern(size_t bytes, uint32_t seed) {
  std::vector<unsigned char> data(bytes);
  for (size_t i = 0; i < bytes; i++)
    data[i] = static_cast<unsigned char>((i * 2654435761u + seed * 97u) >> 7);
  return data;
}

}  // namespace plait::nccl
