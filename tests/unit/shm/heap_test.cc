// The allocator that users are given, over arenas of the tests' own.
#include "transport/shm/heap.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace plait::transport::shm {
namespace {

constexpr size_t kKiB = 1024, kMiB = size_t{1} << 20;

struct Rig {
  explicit Rig(size_t bytes = 64 * kMiB, size_t bound = 8 * kMiB) {
    auto made = Arena::create(bytes);
    EXPECT_TRUE(made.ok()) << made.status().text();
    arena = std::move(*made);
    arena->set_bound(bound);
    auto own = Heap::create(*arena);
    EXPECT_TRUE(own.ok()) << own.status().text();
    heap = std::move(*own);
  }
  std::byte* get(size_t bytes, size_t align = 16, Fill fill = Fill::anything) const {
    auto p = heap->allocate(bytes, align, fill);
    EXPECT_TRUE(p.ok()) << p.status().text();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*p) % align, 0U);
    EXPECT_GE(heap->usable(*p), bytes);
    return *p;
  }
  std::unique_ptr<Arena> arena;
  std::unique_ptr<Heap> heap;
};

bool all(const std::byte* p, size_t bytes, int value) {
  return std::all_of(p, p + bytes, [=](std::byte b) { return b == std::byte(value); });
}

TEST(Heap, GivesBlocksOfAllSizesAlignedAsAsked) {
  Rig rig(256 * kMiB);
  std::vector<std::byte*> blocks;
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{16}, size_t{100}, size_t{4096}, size_t{8192},
                       size_t{8193}, kMiB, 3 * kMiB}) {
    for (size_t align = 1; align <= 128 * kKiB; align *= 2) blocks.push_back(rig.get(bytes, align));
  }
  EXPECT_GT(rig.arena->used(), 4 * kMiB);
  for (std::byte* p : blocks) {
    EXPECT_FALSE(rig.heap->free(p + 8)) << "not its beginning";
    EXPECT_TRUE(rig.heap->free(p));
    EXPECT_FALSE(rig.heap->free(p)) << "once only";
    EXPECT_EQ(rig.heap->usable(p), 0U);
  }
  rig.heap->trim();
  EXPECT_EQ(rig.arena->used(), 0U);
  EXPECT_LE(rig.arena->resident(), 4 * kKiB);
}

TEST(Heap, KnowsItsOwnOnly) {
  Rig rig;
  int local = 0;
  for (auto* p : {reinterpret_cast<std::byte*>(&local), rig.arena->base(), rig.arena->base() + 5 * kMiB}) {
    EXPECT_FALSE(rig.heap->free(p));
    EXPECT_EQ(rig.heap->usable(p), 0U);
    EXPECT_EQ(rig.heap->resize(p, 10, 16).status().code(), Code::invalid);
  }
  std::byte* p = rig.get(7168);
  EXPECT_FALSE(rig.heap->free(p + 9 * 7168)) << "the rest of the slab, too short for a block";
  EXPECT_FALSE(rig.heap->free(p + 7168)) << "not allocated";
}

TEST(Heap, ZeroesWhereAskedThoughItWasUsed) {
  Rig rig;
  for (size_t bytes : {size_t{40}, size_t{4096}, 100 * kKiB, 3 * kMiB}) {
    std::byte* p = rig.get(bytes);
    std::memset(p, 0x5a, bytes);
    ASSERT_TRUE(rig.heap->free(p));
    EXPECT_EQ(rig.get(bytes), p) << "the same again, as it is";
    EXPECT_TRUE(all(p, bytes, 0x5a)) << bytes;
    ASSERT_TRUE(rig.heap->free(p));
    EXPECT_EQ(rig.get(bytes, 16, Fill::zeroes), p);
    EXPECT_TRUE(all(p, bytes, 0)) << bytes;
    ASSERT_TRUE(rig.heap->free(p));
  }
}

TEST(Heap, AFullArenaIsSaidAndServesTheExactSizeBefore) {
  Rig rig(8 * kMiB, 0);
  EXPECT_EQ(rig.heap->allocate(9 * kMiB, 16, Fill::anything).status().code(), Code::memory);
  EXPECT_EQ(rig.heap->allocate(SIZE_MAX, 16, Fill::anything).status().code(), Code::memory);
  // Rounded up, it would be 6.5 MiB: a part that begins at 2 MiB has 6.
  std::byte* p = rig.get(6 * kMiB - 4096 * 3);
  EXPECT_TRUE(rig.heap->free(p));
  std::vector<std::byte*> pages;
  for (auto q = rig.heap->allocate(4096, 16, Fill::anything); q.ok();
       q = rig.heap->allocate(4096, 16, Fill::anything))
    pages.push_back(*q);
  EXPECT_GE(pages.size(), 8 * kMiB / 4096 - 32);
  EXPECT_EQ(rig.heap->resize(pages[0], 8192, 16).status().code(), Code::memory);
  EXPECT_EQ(rig.heap->usable(pages[0]), 4096U) << "as it was";
  for (auto* q : pages) EXPECT_TRUE(rig.heap->free(q));
}

TEST(Heap, ResizeKeepsWhatThereIs) {
  Rig rig;
  std::byte* p = rig.get(10);
  size_t has = 10;
  std::memset(p, 1, has);
  for (size_t bytes :
       {size_t{12}, size_t{300}, size_t{9000}, kMiB, kMiB + 5, size_t{70'000}, size_t{64}, size_t{1}}) {
    p = *rig.heap->resize(p, bytes, 16);
    ASSERT_GE(rig.heap->usable(p), bytes);
    ASSERT_TRUE(all(p, std::min(has, bytes), 1)) << bytes;
    std::memset(p, 1, bytes);
    has = bytes;
  }
  EXPECT_LE(rig.heap->usable(p), 16U) << "what is much too large is let go";
  EXPECT_TRUE(rig.heap->free(p));
}

TEST(Heap, SmallBlocksOfAPinnedSlabWait) {
  Rig rig;
  std::byte *p = rig.get(256), *q = rig.get(256);
  ASSERT_TRUE(rig.arena->pin(q, 256));
  ASSERT_TRUE(rig.heap->free(p));
  EXPECT_FALSE(rig.heap->free(p));
  EXPECT_EQ(rig.heap->usable(p), 0U);
  std::vector<std::byte*> more;
  for (int i = 0; i < 600; i++) more.push_back(rig.get(256));
  EXPECT_EQ(std::count(more.begin(), more.end(), p), 0) << "peers may still store to it";
  rig.arena->unpin(q);
  for (int i = 0; i < 256; i++) more.push_back(rig.get(256));
  EXPECT_EQ(std::count(more.begin(), more.end(), p), 1);
  ASSERT_TRUE(rig.arena->pin(q, 256));
  ASSERT_TRUE(rig.heap->free(q));
  rig.heap->trim();
  rig.arena->unpin(q);
  for (auto* m : more) ASSERT_TRUE(rig.heap->free(m));
  rig.heap->trim();
  EXPECT_EQ(rig.arena->used(), 0U);
}

TEST(Heap, OneASizeStaysOpenSoThatACycleCostsNoSlab) {
  Rig rig(64 * kMiB, 0);
  const std::byte* first = rig.get(64);
  rig.heap->free(const_cast<std::byte*>(first));
  const size_t used = rig.arena->used();
  EXPECT_EQ(used, SmallBlocks::kSlab);
  for (int i = 0; i < 100; i++) {
    std::byte* p = rig.get(64);
    EXPECT_EQ(p, first);
    ASSERT_TRUE(rig.heap->free(p));
  }
  EXPECT_EQ(rig.arena->used(), used);
}

// Random calls against a model: blocks never overlap, keep what was written, are aligned, and all comes back.
TEST(Heap, PropertyAgainstAModel) {
  constexpr uint32_t kSeed = 20250612;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  Rig rig(48 * kMiB, 4 * kMiB);
  struct What {
    size_t bytes;
    int value;
  };
  std::map<std::byte*, What> live;
  const auto add = [&](std::byte* p, size_t bytes, int step) {
    auto next = live.lower_bound(p);
    ASSERT_TRUE(next == live.end() || p + bytes <= next->first) << "step " << step;
    ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= p);
    std::memset(p, 1 + step % 255, bytes);
    live[p] = {bytes, 1 + step % 255};
  };
  const auto some_bytes = [&] { return random() % (size_t{1} << (random() % 21)); };
  for (int step = 0; step < 6000; ++step) {
    const size_t bytes = some_bytes();
    auto victim = live.empty() ? live.end() : std::next(live.begin(), long(random() % live.size()));
    switch (random() % 5) {
      case 0:
      case 1: {
        const size_t align = size_t{1} << (random() % 14);
        const Fill fill = random() % 2 == 0 ? Fill::zeroes : Fill::anything;
        auto p = rig.heap->allocate(bytes, align, fill);
        if (!p.ok()) break;
        ASSERT_EQ(reinterpret_cast<uintptr_t>(*p) % align, 0U);
        ASSERT_GE(rig.heap->usable(*p), bytes);
        ASSERT_TRUE(fill == Fill::anything || all(*p, bytes, 0)) << "step " << step;
        add(*p, bytes, step);
        break;
      }
      case 2: {
        if (victim == live.end()) break;
        const What was = victim->second;
        auto p = rig.heap->resize(victim->first, bytes, 16);
        if (!p.ok()) break;
        live.erase(victim);
        ASSERT_TRUE(all(*p, std::min(bytes, was.bytes), was.value)) << "step " << step;
        add(*p, bytes, step);
        break;
      }
      default:
        if (victim == live.end()) break;
        ASSERT_TRUE(all(victim->first, victim->second.bytes, victim->second.value)) << "step " << step;
        ASSERT_TRUE(rig.heap->free(victim->first));
        live.erase(victim);
    }
    if (step % 1000 == 999) rig.heap->trim();
  }
  for (auto& [p, what] : live) ASSERT_TRUE(rig.heap->free(p));
  rig.heap->trim();
  EXPECT_EQ(rig.arena->used(), 0U);
  EXPECT_LE(rig.arena->resident(), 4 * kKiB);
}

// Blocks are made by one thread and freed by another.
TEST(Heap, ManyThreads) {
  Rig rig(64 * kMiB, 2 * kMiB);
  std::array<std::atomic<std::byte*>, 64> shelf{};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random{uint32_t(t)};
      for (int i = 0; i < 2000; ++i) {
        const size_t bytes = 8 + random() % (size_t{1} << (random() % 18));
        std::byte* p = *rig.heap->allocate(bytes, 16, i % 3 == 0 ? Fill::zeroes : Fill::anything);
        EXPECT_TRUE(i % 3 != 0 || all(p, bytes, 0));
        std::memset(p, t, 8);
        std::byte* other = shelf[random() % shelf.size()].exchange(p);
        if (other != nullptr) {
          EXPECT_TRUE(all(other, 8, int(other[0])));
          EXPECT_TRUE(rig.heap->free(other));
        }
        if (i % 500 == 0) rig.heap->trim();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& p : shelf) EXPECT_TRUE(p == nullptr || rig.heap->free(p));
  rig.heap->trim();
  EXPECT_EQ(rig.arena->used(), 0U);
}

TEST(Heap, AForkedChildHasItsOwnAndKnowsItsParents) {
  Heap* mine = *Heap::process();
  EXPECT_EQ(Heap::made(), mine);
  std::byte *small = *mine->allocate(100, 16, Fill::anything),
            *large = *mine->allocate(kMiB, 16, Fill::anything);
  EXPECT_FALSE(Heap::inherited(small));
  const pid_t child = fork();
  if (child == 0) {
    if (Heap::made() != nullptr || !Heap::inherited(small) || !Heap::inherited(large)) _exit(1);
    Heap* own = *Heap::process();
    auto p = own->allocate(100, 16, Fill::anything);
    if (own == mine || !p.ok() || Heap::inherited(*p) || !Heap::inherited(small)) _exit(2);
    _exit(!own->free(small) && !own->free(large) && own->free(*p) ? 0 : 3);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(mine->free(small));
  EXPECT_TRUE(mine->free(large));
}

}  // namespace
}  // namespace plait::transport::shm
