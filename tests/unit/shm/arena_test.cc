#include "transport/shm/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "support/sanitizers.h"
#include "transport/shm/map.h"

namespace plait::transport::shm {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::unique_ptr<Arena> make(size_t bytes) {
  auto arena = Arena::create(bytes);
  EXPECT_TRUE(arena.ok()) << arena.status().text();
  return std::move(*arena);
}

bool all(const std::byte* p, size_t bytes, int value) {
  return std::all_of(p, p + bytes, [=](std::byte b) { return b == std::byte(value); });
}

TEST(Arena, GivesZeroedAlignedMemory) {
  auto arena = make(64 * kMiB);
  for (size_t bytes : {size_t{1}, size_t{4096}, size_t{4097}, kMiB, 3 * kMiB}) {
    auto p = arena->allocate(bytes);
    ASSERT_TRUE(p.ok()) << p.status().text();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*p) % (bytes < Arena::kLarge ? Arena::kAlign : Arena::kLarge), 0U);
    EXPECT_TRUE(all(*p, bytes, 0));
    EXPECT_TRUE(arena->owns(*p, bytes));
    std::memset(*p, 0xa5, bytes);
  }
}

TEST(Arena, OwnsIsACompareOfBounds) {
  auto arena = make(4 * kMiB);
  const std::byte* end = arena->base() + arena->bytes();
  EXPECT_TRUE(arena->owns(arena->base(), arena->bytes()));
  EXPECT_TRUE(arena->owns(end, 0));
  EXPECT_FALSE(arena->owns(end, 1));
  EXPECT_FALSE(arena->owns(end - 1, 2));
  EXPECT_FALSE(arena->owns(arena->base(), SIZE_MAX));
  int local = 0;
  EXPECT_FALSE(arena->owns(&local, sizeof local));
}

TEST(Arena, ZeroesWhatIsUsedAgain) {
  auto arena = make(4 * kMiB);
  for (size_t bytes : {size_t{4096}, size_t{60000}, size_t{65536}, kMiB}) {
    auto* p = *arena->allocate(bytes);
    std::memset(p, 0x5a, bytes);
    ASSERT_TRUE(arena->free(p));
    auto* q = *arena->allocate(bytes);
    EXPECT_EQ(p, q) << "best fit takes the same hole again";
    EXPECT_TRUE(all(q, bytes, 0)) << bytes;
    ASSERT_TRUE(arena->free(q));
  }
}

TEST(Arena, GivesPagesOfLargeBlocksBack) {
  auto arena = make(64 * kMiB);
  auto* p = *arena->allocate(32 * kMiB);
  std::memset(p, 1, 32 * kMiB);
  struct stat before {
  }, after{};
  ASSERT_EQ(fstat(arena->fd(), &before), 0);
  ASSERT_TRUE(arena->free(p));
  ASSERT_EQ(fstat(arena->fd(), &after), 0);
  EXPECT_GE((before.st_blocks - after.st_blocks) * 512, int64_t(31 * kMiB));
}

TEST(Arena, SaysWhenItIsFull) {
  auto arena = make(4 * kMiB);
  EXPECT_EQ(arena->allocate(5 * kMiB).status().code(), Code::memory);
  EXPECT_EQ(arena->allocate(SIZE_MAX).status().code(), Code::memory);
  EXPECT_EQ(arena->allocate(0).status().code(), Code::invalid);
  std::vector<std::byte*> got;
  for (auto p = arena->allocate(65536); p.ok(); p = arena->allocate(65536)) got.push_back(*p);
  EXPECT_EQ(got.size(), 63U);
  for (auto* p : got) EXPECT_TRUE(arena->free(p));
  EXPECT_EQ(arena->used(), 0U);
  EXPECT_TRUE(arena->allocate(2 * kMiB).ok()) << "the holes are merged";
}

TEST(Arena, FreesOnlyWhatItGave) {
  auto arena = make(4 * kMiB);
  auto* p = *arena->allocate(8192);
  int local = 0;
  EXPECT_FALSE(arena->free(p + 4096));
  EXPECT_FALSE(arena->free(reinterpret_cast<std::byte*>(&local)));
  EXPECT_FALSE(arena->free(nullptr));
  EXPECT_TRUE(arena->free(p));
  EXPECT_FALSE(arena->free(p));
}

TEST(Arena, PinnedBlocksAreNotUsedAgain) {
  auto arena = make(4 * kMiB);
  auto* p = *arena->allocate(65536);
  EXPECT_FALSE(arena->pin(p, 65537)) << "beyond the block";
  EXPECT_FALSE(arena->pin(p + 65536, 1)) << "not allocated";
  ASSERT_TRUE(arena->pin(p + 100, 1000));
  ASSERT_TRUE(arena->free(p));
  EXPECT_FALSE(arena->free(p)) << "once only";
  EXPECT_FALSE(arena->pin(p, 1)) << "freed";
  auto* q = *arena->allocate(65536);
  EXPECT_NE(p, q);
  std::memset(p, 7, 65536);  // a peer's late store
  arena->unpin(p + 100);
  auto* r = *arena->allocate(65536);
  EXPECT_EQ(p, r);
  EXPECT_TRUE(all(r, 65536, 0));
}

// Two a multiple of 256 MiB apart would share a way of the level-1 cache for each offset (map.cc).
TEST(Arena, MappingsBeginAtDifferentPlaces) {
  constexpr size_t kApart = 256 * kMiB;
  auto arena = make(kApart);
  std::vector<Mapping> mappings;
  std::set<uintptr_t> places;
  for (int i = 0; i < 4; i++) {
    mappings.push_back(map_shared(arena->fd(), kApart));
    ASSERT_TRUE(mappings.back());
    const auto base = reinterpret_cast<uintptr_t>(mappings.back().data());
    EXPECT_EQ(base % Arena::kLarge, 0U);
    EXPECT_TRUE(places.insert(base % kApart).second) << "mapping " << i;
  }
  mappings.front().data()[kApart - 1] = std::byte{7};
  EXPECT_EQ(mappings.back().data()[kApart - 1], std::byte{7});
}

TEST(Arena, CannotBeShrunkByAPeer) {
  auto arena = make(4 * kMiB);
  EXPECT_NE(ftruncate(arena->fd(), 4096), 0);
  EXPECT_EQ(fcntl(arena->fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

// Random allocations and frees against a plain model: no overlap, all zero, nothing lost.
TEST(Arena, PropertyBlocksNeverOverlapAndComeZeroed) {
  constexpr uint32_t kSeed = 20240607;
  std::mt19937 random(kSeed);
  auto arena = make(32 * kMiB);
  std::map<std::byte*, std::pair<size_t, int>> live;
  for (int step = 0; step < 2000; ++step) {
    if (random() % 2 == 0 || live.empty()) {
      size_t bytes = 1 + random() % (size_t{1} << (4 + random() % 18));
      auto p = arena->allocate(bytes);
      if (!p.ok()) continue;
      ASSERT_TRUE(all(*p, bytes, 0)) << "seed " << kSeed << " step " << step;
      auto next = live.lower_bound(*p);
      ASSERT_TRUE(next == live.end() || *p + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second.first <= *p);
      std::memset(*p, 1 + step % 255, bytes);
      live[*p] = {bytes, 1 + step % 255};
    } else {
      auto victim = std::next(live.begin(), long(random() % live.size()));
      ASSERT_TRUE(all(victim->first, victim->second.first, victim->second.second)) << "seed " << kSeed;
      ASSERT_TRUE(arena->free(victim->first));
      live.erase(victim);
    }
  }
  for (auto& [p, what] : live) ASSERT_TRUE(arena->free(p));
  EXPECT_EQ(arena->used(), 0U);
  EXPECT_TRUE(arena->allocate(30 * kMiB).ok()) << "everything merged again";
}

TEST(Arena, ManyThreads) {
  auto arena = make(64 * kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        size_t bytes = size_t(1 + (i * 7919 + t * 104729) % 200000);
        auto p = arena->allocate(bytes);
        if (!p.ok()) continue;
        std::memset(*p, t + 1, bytes);
        EXPECT_TRUE(all(*p, bytes, t + 1));
        EXPECT_TRUE(arena->free(*p));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(arena->used(), 0U);
}

TEST(Arena, OneAProcessAndAnotherInAForkedChild) {
  auto mine = Arena::process();
  ASSERT_TRUE(mine.ok()) << mine.status().text();
  EXPECT_EQ(*mine, *Arena::process());
  auto* p = *(*mine)->allocate(4096);
  pid_t child = fork();
  if (child == 0) {
    bool refused = (*mine)->allocate(4096).status().code() == Code::state && !(*mine)->free(p);
    auto own = Arena::process();
    bool works = own.ok() && *own != *mine && (*own)->allocate(4096).ok();
    _exit(refused && works ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE((*mine)->free(p));
}

// Address space this process may take beyond what it has.
bool leave_room(size_t bytes) {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0;
  statm >> pages;
  rlimit limit{pages * 4096 + bytes, pages * 4096 + bytes};
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

TEST(Arena, TakesLessWhereLimitsSaySo) {
  if (test::kAddressSanitizer || test::kThreadSanitizer)
    GTEST_SKIP() << "sanitizers need the address space that this takes away";
  pid_t child = fork();
  if (child == 0) {
    if (!leave_room(size_t{1} << 30)) _exit(2);
    auto half = Arena::create(size_t{8} << 30);
    if (!half.ok() || (*half)->bytes() < Arena::kSmallest || (*half)->bytes() >= (size_t{1} << 30)) _exit(3);
    half = Status(Code::memory);
    rlimit files{8 * kMiB, 8 * kMiB};
    if (setrlimit(RLIMIT_FSIZE, &files) != 0) _exit(4);
    auto tiny = Arena::create(size_t{8} << 30);
    if (!tiny.ok() || (*tiny)->bytes() != 8 * kMiB) _exit(5);
    if (!leave_room(4 * kMiB)) _exit(6);
    _exit(Arena::create(size_t{8} << 30).status().code() == Code::memory ? 0 : 7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace plait::transport::shm
