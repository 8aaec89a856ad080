// What tests of sends and receives share: ranks as threads, over shared memory, TCP or both
// (PLAIT_TEST_RANKS_PER_HOST).
#pragma once

#include <string>
#include <vector>

#include "support/ranks.h"

namespace plait::test {

// Words for what went wrong, or nothing.
inline std::string ok(plait_status status, plait_comm* comm) {
  return status == PLAIT_OK ? "" : std::string(plait_status_string(status)) + ": " + plait_last_error(comm);
}

inline std::string expect(plait_status got, plait_status want, const std::string& text,
                          std::initializer_list<const char*> parts) {
  if (got != want)
    return std::string("status ") + plait_status_string(got) + " (" + text + "), not " +
           plait_status_string(want);
  for (const char* part : parts) {
    if (!contains(text, part)) return "the text lacks \"" + std::string(part) + "\": " + text;
  }
  return {};
}

#define OK(call)                                       \
  do {                                                 \
    const std::string words = ok((call), c.comm);      \
    if (!words.empty()) return #call " said " + words; \
  } while (0)

// Memory of either kind.
class Memory {
 public:
  Memory(size_t bytes, bool shared) : bytes_(bytes) {
    if (!shared || plait_mem_alloc(bytes == 0 ? 1 : bytes, &block_) != PLAIT_OK) own_.resize(bytes + 1);
  }
  ~Memory() { plait_mem_free(block_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* data() { return block_ != nullptr ? static_cast<char*>(block_) : own_.data(); }
  void fill(int seed) {
    for (size_t i = 0; i < bytes_; i++) data()[i] = char(i * 7 + i / 251 + size_t(seed));
  }
  bool holds(int seed) {
    for (size_t i = 0; i < bytes_; i++) {
      if (data()[i] != char(i * 7 + i / 251 + size_t(seed))) return false;
    }
    return true;
  }

 private:
  const size_t bytes_;
  void* block_ = nullptr;
  std::vector<char> own_;
};

inline plait_status send(plait_comm* comm, Memory& from, size_t bytes, int peer, int tag,
                         plait_request** request = nullptr) {
  return plait_send(comm, from.data(), bytes, PLAIT_UINT8, peer, tag, nullptr, request);
}
inline plait_status receive(plait_comm* comm, Memory& to, size_t bytes, int peer, int tag,
                            plait_request** request = nullptr) {
  return plait_recv(comm, to.data(), bytes, PLAIT_UINT8, peer, tag, nullptr, request);
}

// Runs ranks as threads; whatever one says fails the test.
inline void ranks(int size, const std::function<std::string(Comm&, int)>& main, int64_t timeout_ms = 60'000) {
  const std::string job = fresh_job();
  EXPECT_EQ(run_threads(0, size, size,
                        [&](int rank, int n) -> std::string {
                          Comm c(job, rank, n, timeout_ms);
                          return c.status != PLAIT_OK ? c.error : main(c, rank);
                        }),
            "");
}

}  // namespace plait::test
