// What happens to memory is noticed, before anybody could map something else at its place. With the kernel's
// own means, where it permits them.
#include "rdma/memory_watch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/pages.h"

namespace plait::rdma {
namespace {

constexpr size_t kBytes = 64 * kPageBytes;

struct Watched : testing::Test {
  void SetUp() override {
    auto got = MemoryWatch::of_process(true);
    if (!got.ok()) GTEST_SKIP() << got.status().text();
    watch = *got;
  }
  // Where the kernel puts nobody's memory by itself: else another thread's might be where some was just
  // unmapped.
  std::byte* map(void* at = nullptr, size_t bytes = kBytes) {
    static auto next = reinterpret_cast<std::byte*>(uintptr_t{1} << 45);
    const int fixed = at == nullptr ? MAP_FIXED_NOREPLACE : MAP_FIXED;
    if (at == nullptr) at = std::exchange(next, next + 16 * bytes);
    void* got = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    EXPECT_NE(got, MAP_FAILED);
    std::memset(got, 1, bytes);
    return static_cast<std::byte*>(got);
  }
  uint32_t begin(std::byte* at, size_t bytes = kBytes) {
    const auto begun = watch->begin(at, bytes);
    EXPECT_TRUE(begun.ok()) << begun.status().text();
    return begun.ok() ? *begun : 0;
  }
  std::shared_ptr<MemoryWatch> watch;
};

TEST_F(Watched, WhatIsLeftAloneHolds) {
  std::byte* at = map();
  const uint32_t w = begin(at + 100, kBytes - 200);
  EXPECT_TRUE(watch->holds(w));
  std::memset(at, 2, kBytes);
  ASSERT_EQ(mprotect(at, kBytes, PROT_READ), 0);
  ASSERT_EQ(mprotect(at, kBytes, PROT_READ | PROT_WRITE), 0);
  munmap(map(), kBytes);
  EXPECT_TRUE(watch->holds(w)) << "others' memory is no matter";
  watch->end(w);
  munmap(at, kBytes);
}

TEST_F(Watched, WhatTakesPagesAwayIsNoticed) {
  const std::function<void(std::byte*)> ways[] = {
      [](std::byte* at) { munmap(at, kBytes); },
      [](std::byte* at) { munmap(at + kBytes - kPageBytes, kPageBytes); },
      [this](std::byte* at) { map(at); },
      [this](std::byte* at) { map(at + kPageBytes, kPageBytes); },
      [](std::byte* at) { madvise(at, kBytes, MADV_DONTNEED); },
      [](std::byte* at) { madvise(at + 5 * kPageBytes, kPageBytes, MADV_DONTNEED); },
      [](std::byte* at) { madvise(at, kPageBytes, MADV_FREE); },
      [](std::byte* at) {
        EXPECT_NE(mremap(at, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr), MAP_FAILED)
            << std::strerror(errno);
      },
      [](std::byte* at) { EXPECT_EQ(mremap(at, kBytes, kBytes / 2, 0), at); },
      [this](std::byte* at) {
        EXPECT_EQ(mremap(map(), kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, at), at);
      },
  };
  for (const auto& way : ways) {
    const uint64_t before = watch->changes();
    std::byte* at = map();
    const uint32_t w = begin(at);
    ASSERT_TRUE(watch->holds(w));
    way(at);
    EXPECT_FALSE(watch->holds(w)) << &way - ways;
    EXPECT_GT(watch->changes(), before);
    map(at);
    EXPECT_FALSE(watch->holds(w)) << "and never holds again";
    watch->end(w);
    munmap(at, kBytes);
  }
}

// The mapping grows over what was unmapped: the kernel tells of the unmapping only.
TEST_F(Watched, MemoryThatComesBackByGrowingIsOther) {
  std::byte* at = map(nullptr, 2 * kBytes);
  const uint32_t low = begin(at), high = begin(at + kBytes);
  munmap(at + kBytes, kBytes);
  ASSERT_EQ(mremap(at, kBytes, 2 * kBytes, 0), at);
  EXPECT_TRUE(watch->holds(low));
  EXPECT_FALSE(watch->holds(high));
  watch->end(low);
  watch->end(high);
  munmap(at, 2 * kBytes);
}

// Both are watched, though one of them is no more.
TEST_F(Watched, WhatOverlapsIsWatchedAsLongAsAnyOfIt) {
  std::byte* at = map();
  const uint32_t all = begin(at), part = begin(at + kPageBytes, kPageBytes);
  watch->end(all);
  EXPECT_TRUE(watch->holds(part));
  madvise(at + kPageBytes, kPageBytes, MADV_DONTNEED);
  EXPECT_FALSE(watch->holds(part));
  watch->end(part);
  munmap(at, kBytes);
}

TEST_F(Watched, MemoryThatOthersCanChangeIsRefused) {
  void* shared = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const auto refused = watch->begin(shared, kBytes);
  EXPECT_EQ(refused.status().code(), Code::unsupported);
  EXPECT_NE(refused.status().text().find("shared"), std::string_view::npos);
  munmap(shared, kBytes);
  EXPECT_FALSE(watch->begin(shared, kBytes).ok()) << "nothing is there";
}

// What a child does to its copy is no matter, and it has no watch.
TEST_F(Watched, AForkedChildIsAnother) {
  std::byte* at = map();
  const uint32_t w = begin(at);
  const pid_t child = fork();
  if (child == 0) {
    munmap(at, kBytes);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(watch->holds(w));
  watch->end(w);
  munmap(at, kBytes);
}

// Another thread maps what this one unmaps the moment that it is free, before munmap() has returned: it must
// not be told that all is as it was.
TEST_F(Watched, NobodyIsQuickerThanTheNotice) {
  constexpr int kRounds = 300;
  std::byte* const at = map();
  std::atomic<int> unmapped{-1}, checked{-1};
  std::atomic<uint32_t> watched{0};
  int wrong = 0, got = 0;
  std::thread other([&] {
    for (int round = 0; round < kRounds; ++round) {
      while (unmapped.load() < round) std::this_thread::yield();
      void* mine = MAP_FAILED;
      for (const Deadline end = Deadline::in_ms(5000); mine == MAP_FAILED && !end.passed();)
        mine = mmap(at, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                    0);
      got += mine == at;
      wrong += watch->holds(watched.load());
      checked.store(round);
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    const auto begun = watch->begin(at, kBytes);
    if (begun.ok()) watched.store(*begun);
    unmapped.store(round);
    munmap(at, kBytes);
    while (checked.load() < round) std::this_thread::yield();
    if (begun.ok()) watch->end(*begun);
  }
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(got, kRounds);
  munmap(at, kBytes);
}

// A script of everything, against a shadow that numbers pages.
TEST_F(Watched, RandomScripts) {
  const auto seed = uint32_t(now_ns());
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr size_t kPages = 16;
  std::byte* const at = map(nullptr, kPages * kPageBytes);
  std::array<uint64_t, kPages> pages{};
  uint64_t fresh = 0;
  struct One {
    uint32_t watch;
    size_t from, count;
    std::vector<uint64_t> pages;
  };
  std::vector<One> all;
  for (int step = 0; step < 3000; ++step) {
    const size_t from = random() % kPages, count = 1 + random() % (kPages - from);
    std::byte* const here = at + from * kPageBytes;
    switch (random() % 6) {
      case 0:
        munmap(here, count * kPageBytes);
        map(here, count * kPageBytes);
        std::fill_n(pages.begin() + ptrdiff_t(from), count, ++fresh);
        break;
      case 1:
        madvise(here, count * kPageBytes, MADV_DONTNEED);
        std::fill_n(pages.begin() + ptrdiff_t(from), count, ++fresh);
        break;
      case 2:
        mprotect(here, count * kPageBytes, PROT_READ | PROT_WRITE);
        break;
      case 3:
      case 4:
        if (all.size() > 20) {
          watch->end(all.front().watch);
          all.erase(all.begin());
        }
        all.push_back({begin(here, count * kPageBytes),
                       from,
                       count,
                       {pages.begin() + from, pages.begin() + from + count}});
        break;
      default:
        for (const One& one : all) {
          const bool same =
              std::equal(one.pages.begin(), one.pages.end(), pages.begin() + ptrdiff_t(one.from));
          ASSERT_EQ(watch->holds(one.watch), same) << step;
        }
    }
  }
  for (const One& one : all) watch->end(one.watch);
  munmap(at, kPages * kPageBytes);
}

// Where the kernel has guards that it does not tell of, nothing is promised but to who knows better.
TEST(MemoryWatch, GuardsThatAreNotToldOfAreFoundOut) {
  if (!MemoryWatch::of_process(true).ok()) GTEST_SKIP() << MemoryWatch::of_process(true).status().text();
  const Mapping page = map_pages(kPageBytes);
  const bool has_guards = madvise(page.data(), kPageBytes, 102) == 0;
  const auto careful = MemoryWatch::of_process(false);
  if (!has_guards) {
    EXPECT_TRUE(careful.ok()) << careful.status().text();
  } else if (!careful.ok()) {
    EXPECT_NE(careful.status().text().find("guards"), std::string_view::npos);
  }
}

TEST(MemoryWatch, KindsOfMemoryAreReadFromMaps) {
  constexpr std::string_view kMaps =
      "1000-3000 rw-p 00000000 00:00 0 \n"
      "3000-4000 rw-p 00000000 00:00 0                          [heap]\n"
      "4000-5000 r--p 00000000 00:00 0 \n"
      "6000-7000 rw-s 00000000 00:01 9                          /dev/zero (deleted)\n"
      "7000-8000 rw-p 00002000 08:01 77                         /usr/lib/x.so\n"
      "8000-9000 rw-p 00000000 00:00 0                          [anon:glibc: malloc]\n"
      "9000-a000 rw-p 00000000 00:00 0                          [stack]\n";
  EXPECT_TRUE(is_private_memory(kMaps, 0x1000, 0x3000));
  EXPECT_TRUE(is_private_memory(kMaps, 0x2000, 0x4000));
  EXPECT_TRUE(is_private_memory(kMaps, 0x8000, 0x9000));
  EXPECT_FALSE(is_private_memory(kMaps, 0x0, 0x2000));
  EXPECT_FALSE(is_private_memory(kMaps, 0x3000, 0x5000)) << "read-only";
  EXPECT_FALSE(is_private_memory(kMaps, 0x5000, 0x6000)) << "nothing";
  EXPECT_FALSE(is_private_memory(kMaps, 0x6000, 0x7000)) << "shared";
  EXPECT_FALSE(is_private_memory(kMaps, 0x7000, 0x8000)) << "a file's";
  EXPECT_FALSE(is_private_memory(kMaps, 0x8000, 0xa000)) << "the stack";
  EXPECT_FALSE(is_private_memory(kMaps, 0x9000, 0xb000));
  EXPECT_FALSE(is_private_memory("", 0x1000, 0x2000));
  EXPECT_FALSE(is_private_memory("nonsense\n-\n1000", 0x1000, 0x2000));
}

}  // namespace
}  // namespace plait::rdma
