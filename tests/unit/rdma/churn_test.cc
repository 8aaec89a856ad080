// The cache over the kernel's real memory: a pipe stands for the device. vmsplice() puts pages into it as a
// device registers them: what it reads later is what those pages hold, wherever they are mapped by then, or
// nowhere.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/pages.h"
#include "rdma/registrations.h"

namespace plait::rdma {
namespace {

struct Pipe {
  Fd out, in;
  Pipe() {
    int both[2] = {-1, -1};
    if (pipe2(both, O_CLOEXEC | O_NONBLOCK) == 0) out = Fd(both[0]), in = Fd(both[1]);
  }
};

struct PipeRegistration : ibv_mr {
  Pipe pipe;
  // What the device would send.
  std::vector<char> read() const {
    const Pipe copy;
    std::vector<char> bytes(length);
    size_t got = 0;
    if (tee(pipe.out.get(), copy.in.get(), length, 0) != ssize_t(length)) return {};
    for (ssize_t n = 1; n > 0 && got < length; got += size_t(std::max<ssize_t>(n, 0)))
      n = ::read(copy.out.get(), bytes.data() + got, length - got);
    return got == length ? bytes : std::vector<char>();
  }
};

struct PipeRegistrar : Registrar {
  Result<ibv_mr*> take(const Span& span, int) override {
    auto made = std::make_unique<PipeRegistration>();
    made->addr = span.base;
    made->length = span.bytes;
    const iovec all{span.base, span.bytes};
    if (vmsplice(made->pipe.in.get(), &all, 1, 0) != ssize_t(span.bytes))
      return Status::system(errno, "vmsplice");
    return made.release();
  }
  void give_back(ibv_mr* made) noexcept override { delete static_cast<PipeRegistration*>(made); }
};

// One thread's share: memory of all kinds comes and goes, and whatever the cache says is registered is what
// is there.
void churn(Registrations& cache, uint32_t seed, int rounds, std::atomic<int>& wrong) {
  std::mt19937 random(seed);
  std::vector<std::pair<char*, size_t>> mapped;  // to be used again
  for (int round = 0; round < rounds; ++round) {
    const size_t bytes = kPageBytes * (1 + random() % 8) - random() % 100;
    const bool heap = random() % 3 == 0;
    char* at = nullptr;
    if (!heap && !mapped.empty() && random() % 2 == 0) {
      at = mapped.back().first;  // as it was, emptied, or mapped anew
      const size_t all = mapped.back().second;
      mapped.pop_back();
      if (random() % 3 == 0) madvise(at, all, MADV_DONTNEED);
      if (random() % 3 == 0)
        mmap(at, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    } else if (heap) {
      at = static_cast<char*>(std::malloc(9 * kPageBytes));
    } else {
      void* got = mmap(nullptr, 9 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      at = got == MAP_FAILED ? nullptr : static_cast<char*>(got);
    }
    if (at == nullptr) continue;
    std::memset(at, int(random()), bytes);
    std::memcpy(at, &round, sizeof round);
    if (const auto held = cache.hold({at, bytes}, 0); held.ok()) {
      at[bytes - 1] = char(round);  // after it was registered
      const auto& mr = static_cast<const PipeRegistration&>(**held);
      const auto sent = mr.read();
      const auto skip = size_t(at - static_cast<char*>(mr.addr));
      wrong += sent.empty() || std::memcmp(sent.data() + skip, at, bytes) != 0;
    }
    if (heap)
      std::free(at);
    else if (random() % 3 == 0)
      munmap(at, 9 * kPageBytes);
    else
      mapped.emplace_back(at, 9 * kPageBytes);
  }
  for (const auto& [at, bytes] : mapped) munmap(at, bytes);
}

TEST(Churn, WhatIsFoundIsWhatIsThere) {
  auto watch = MemoryWatch::of_process(true);
  if (!watch.ok()) GTEST_SKIP() << watch.status().text();
  const auto seed = uint32_t(now_ns());
  SCOPED_TRACE("seed " + std::to_string(seed));
  Registrations cache(std::make_unique<PipeRegistrar>());
  cache.keep(*watch, {size_t{4} << 20, 64});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { churn(cache, seed + i, 1500, wrong); });
  for (int i = 0; i < 1000; ++i) {
    cache.tidy();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  // While others unmap nothing is sure to be found: a find that meets an unmapping under way finds nothing.
  churn(cache, seed + 4, 500, wrong);
  EXPECT_EQ(wrong, 0);
  const auto counts = cache.counts();
  EXPECT_GT(counts.found, 0u);
  std::printf("made %lu, found %lu\n", static_cast<unsigned long>(counts.made),
              static_cast<unsigned long>(counts.found));
}

}  // namespace
}  // namespace plait::rdma
