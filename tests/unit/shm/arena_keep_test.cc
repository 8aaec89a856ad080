// Freed blocks that an arena keeps: used again as they are, given back where they are too many, never while
// pinned.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "transport/shm/arena.h"

namespace plait::transport::shm {
namespace {

constexpr size_t kKiB = 1024, kMiB = size_t{1} << 20;

std::unique_ptr<Arena> make(size_t bytes, size_t bound) {
  auto arena = Arena::create(bytes);
  EXPECT_TRUE(arena.ok()) << arena.status().text();
  (*arena)->set_bound(bound);
  return std::move(*arena);
}

bool all(const std::byte* p, size_t bytes, int value) {
  return std::all_of(p, p + bytes, [=](std::byte b) { return b == std::byte(value); });
}

TEST(ArenaKeep, UsesABlockAgainAsItIs) {
  auto arena = make(64 * kMiB, 8 * kMiB);
  EXPECT_EQ(arena->reuse(kMiB, 4096), nullptr) << "nothing is kept";
  auto* p = *arena->allocate(kMiB);
  std::memset(p, 7, kMiB);
  const size_t resident = arena->resident();
  ASSERT_TRUE(arena->keep(p));
  EXPECT_EQ(arena->kept(), kMiB);
  EXPECT_EQ(arena->used(), 0U);
  EXPECT_FALSE(arena->keep(p)) << "once only";
  EXPECT_FALSE(arena->free(p));
  EXPECT_EQ(arena->size_of(p), 0U);
  EXPECT_EQ(arena->reuse(2 * kMiB, 4096), nullptr);
  EXPECT_EQ(arena->reuse(kMiB, 4096), p);
  EXPECT_TRUE(all(p, kMiB, 7));
  EXPECT_EQ(arena->resident(), resident);
  EXPECT_EQ(arena->kept(), 0U);
  EXPECT_EQ(arena->used(), kMiB);
  EXPECT_EQ(arena->size_of(p), kMiB);
  EXPECT_EQ(arena->size_of(p + 4096), 0U);
}

TEST(ArenaKeep, GivesBackTheOldestBeyondTheBound) {
  auto arena = make(64 * kMiB, 4 * kMiB);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 6; i++) {
    blocks.push_back(*arena->allocate(kMiB));
    std::memset(blocks.back(), 1, kMiB);
  }
  for (auto* p : blocks) ASSERT_TRUE(arena->keep(p));
  EXPECT_EQ(arena->kept(), 4 * kMiB);
  EXPECT_LE(arena->resident(), 4 * kMiB + 64 * kKiB);
  for (int i = 5; i >= 2; i--) EXPECT_EQ(arena->reuse(kMiB, 4096), blocks[size_t(i)]);
  EXPECT_EQ(arena->reuse(kMiB, 4096), nullptr);
  auto* large = *arena->allocate(5 * kMiB);
  ASSERT_TRUE(arena->keep(large)) << "freed, but beyond the bound by itself";
  EXPECT_EQ(arena->kept(), 0U);
}

TEST(ArenaKeep, ASmallerBoundAndTrimGiveBack) {
  auto arena = make(64 * kMiB, 8 * kMiB);
  auto *a = *arena->allocate(2 * kMiB), *b = *arena->allocate(2 * kMiB), *page = *arena->allocate(4096);
  for (auto* p : {a, b}) std::memset(p, 1, 2 * kMiB);
  std::memset(page, 1, 4096);
  for (auto* p : {page, a, b}) ASSERT_TRUE(arena->keep(p));
  arena->set_bound(3 * kMiB);
  EXPECT_EQ(arena->kept(), 2 * kMiB);
  arena->trim();
  EXPECT_EQ(arena->kept(), 0U);
  EXPECT_LE(arena->resident(), 4 * kKiB) << "all but the arena's own first page";
  EXPECT_EQ(arena->bound(), 3 * kMiB);
  auto* again = *arena->allocate(6 * kMiB);
  EXPECT_TRUE(all(again, 6 * kMiB, 0));
}

TEST(ArenaKeep, GivesUpWhatIsKeptWhenItIsFull) {
  auto arena = make(8 * kMiB, 8 * kMiB);
  auto* p = *arena->allocate(5 * kMiB);
  ASSERT_TRUE(arena->keep(p));
  auto q = arena->allocate(6 * kMiB);
  ASSERT_TRUE(q.ok()) << q.status().text();
  EXPECT_EQ(arena->kept(), 0U);
}

TEST(ArenaKeep, DoesNotKeepWhatIsPinned) {
  auto arena = make(8 * kMiB, 8 * kMiB);
  auto* p = *arena->allocate(kMiB);
  EXPECT_FALSE(arena->pinned(p));
  ASSERT_TRUE(arena->pin(p + 10, 100));
  EXPECT_TRUE(arena->pinned(p + kMiB - 1));
  ASSERT_TRUE(arena->keep(p));
  EXPECT_EQ(arena->kept(), 0U);
  EXPECT_EQ(arena->reuse(kMiB, 4096), nullptr);
  std::memset(p, 7, kMiB);  // a peer's late store
  arena->unpin(p + 10);
  EXPECT_FALSE(arena->pinned(p));
  EXPECT_EQ(arena->used(), 0U);
  EXPECT_FALSE(arena->pin(p, 1)) << "freed";
  auto* q = *arena->allocate(kMiB);
  EXPECT_EQ(p, q);
  EXPECT_TRUE(all(q, kMiB, 0));
  ASSERT_TRUE(arena->keep(q));
  EXPECT_FALSE(arena->pin(q, 1)) << "kept, not allocated";
}

TEST(ArenaKeep, ZeroesOnlyPagesThatThereAre) {
  auto arena = make(64 * kMiB, 64 * kMiB);
  auto* p = *arena->allocate(16 * kMiB);
  for (size_t at : {size_t{0}, 5 * kMiB, 5 * kMiB + 4096, 16 * kMiB - 1}) p[at] = std::byte(1);
  const size_t resident = arena->resident();
  arena->zero(p, 16 * kMiB);
  EXPECT_EQ(arena->resident(), resident);
  EXPECT_TRUE(all(p, 16 * kMiB, 0));
  std::memset(p, 3, kMiB);
  arena->zero(p, 300 * kKiB + 5);
  EXPECT_TRUE(all(p, 300 * kKiB + 5, 0));
  EXPECT_TRUE(all(p + 300 * kKiB + 5, kMiB - 300 * kKiB - 5, 3));
}

TEST(ArenaKeep, MemoryWithAnythingInItIsNotTakenForClean) {
  auto arena = make(8 * kMiB, 0);
  auto* p = *arena->allocate(8 * kKiB);
  std::memset(p, 9, 8 * kKiB);
  ASSERT_TRUE(arena->free(p));
  auto* q = *arena->allocate(4 * kKiB, Fill::anything);
  EXPECT_EQ(p, q);
  ASSERT_TRUE(arena->free(q));
  EXPECT_TRUE(all(*arena->allocate(8 * kKiB), 8 * kKiB, 0));
}

TEST(ArenaKeep, AlignsAsAsked) {
  auto arena = make(64 * kMiB, 64 * kMiB);
  for (size_t align = 4096; align <= Arena::kLarge; align *= 2) {
    auto* p = *arena->allocate(100, Fill::anything, align);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % align, 0U) << align;
  }
}

TEST(ArenaKeep, AForkedChildKeepsNothing) {
  auto arena = make(8 * kMiB, 8 * kMiB);
  auto *p = *arena->allocate(kMiB), *q = *arena->allocate(kMiB);
  ASSERT_TRUE(arena->keep(q));
  const pid_t child = fork();
  if (child == 0) {
    arena->trim();
    arena->set_bound(0);
    _exit(!arena->keep(p) && arena->reuse(kMiB, 4096) == nullptr && arena->kept() == kMiB ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(arena->reuse(kMiB, 4096), q);
}

// As users do: blocks of classes of size, kept and reused, beside blocks of plait's own, which come zeroed.
TEST(ArenaKeep, PropertyAgainstAModel) {
  constexpr uint32_t kSeed = 20250611;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  auto arena = make(32 * kMiB, 4 * kMiB);
  std::map<std::byte*, std::pair<size_t, int>> live;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 2 == 0 || live.empty()) {
      size_t bytes = 1 + random() % (size_t{1} << (10 + random() % 12));
      const bool own = random() % 3 == 0;
      if (!own) bytes = Kept::Classes::round_up(bytes);
      std::byte* p = own ? nullptr : arena->reuse(bytes, 4096);
      if (p == nullptr) {
        auto made = arena->allocate(bytes, own ? Fill::zeroes : Fill::anything);
        if (!made.ok()) continue;
        p = *made;
        ASSERT_TRUE(!own || all(p, bytes, 0)) << "step " << step;
      }
      ASSERT_GE(arena->size_of(p), bytes);
      auto next = live.lower_bound(p);
      ASSERT_TRUE(next == live.end() || p + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second.first <= p);
      std::memset(p, 1 + step % 255, bytes);
      live[p] = {bytes, 1 + step % 255};
    } else {
      auto victim = std::next(live.begin(), long(random() % live.size()));
      ASSERT_TRUE(all(victim->first, victim->second.first, victim->second.second));
      ASSERT_TRUE(random() % 3 == 0 ? arena->free(victim->first) : arena->keep(victim->first));
      live.erase(victim);
    }
    ASSERT_LE(arena->kept(), 4 * kMiB);
    if (step % 500 == 499) arena->trim();
  }
  for (auto& [p, what] : live) ASSERT_TRUE(arena->keep(p));
  EXPECT_EQ(arena->used(), 0U);
  arena->trim();
  EXPECT_LE(arena->resident(), 4 * kKiB);
  EXPECT_TRUE(arena->allocate(30 * kMiB).ok()) << "everything merged again";
}

TEST(ArenaKeep, ManyThreads) {
  auto arena = make(64 * kMiB, 2 * kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const size_t bytes = Kept::Classes::round_up(size_t(1 + (i * 7919 + t * 104729) % 200000));
        std::byte* p = arena->reuse(bytes, 4096);
        if (p == nullptr) p = *arena->allocate(bytes, Fill::anything);
        std::memset(p, t + 1, bytes);
        if (i % 10 == 0) arena->zero(p, bytes);
        EXPECT_TRUE(all(p, bytes, i % 10 == 0 ? 0 : t + 1));
        EXPECT_TRUE(arena->keep(p));
        if (i % 50 == 0) arena->trim();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(arena->used(), 0U);
}

}  // namespace
}  // namespace plait::transport::shm
