// The cache of registrations, over a device and a memory that are made up: pages have numbers, and a
// registration remembers those that it was made of.
#include "rdma/registrations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/clock.h"

namespace plait::rdma {
namespace {

constexpr size_t kPage = 4096, kPages = 64;
constexpr int kLocal = IBV_ACCESS_LOCAL_WRITE;

void* address(size_t page) { return reinterpret_cast<void*>((page + 16) * kPage); }
Span span(size_t page, size_t count) { return {address(page), count * kPage}; }

struct Memory {
  std::array<uint64_t, kPages> pages{};
  uint64_t fresh = 0;
  std::vector<uint64_t> of(const Span& s) const {
    const auto first = pages.begin() + ptrdiff_t(reinterpret_cast<uintptr_t>(s.base) / kPage - 16);
    return {first, first + ptrdiff_t(s.bytes / kPage)};
  }
};

struct FakeRegistration : ibv_mr {
  std::vector<uint64_t> pages;
};

struct FakeRegistrar : Registrar {
  explicit FakeRegistrar(const Memory& m) : memory(m) {}
  Result<ibv_mr*> take(const Span& s, int flags) override {
    if (locked + s.bytes > limit) return Status(Code::memory, "too much is locked");
    auto* made = new FakeRegistration;
    made->addr = s.base;
    made->length = s.bytes;
    made->handle = uint32_t(flags);
    made->pages = memory.of(s);
    locked += s.bytes;
    ++living;
    return made;
  }
  void give_back(ibv_mr* made) noexcept override {
    locked -= made->length;
    --living;
    delete static_cast<FakeRegistration*>(made);
  }
  const Memory& memory;
  size_t locked = 0, living = 0, limit = SIZE_MAX;
};

struct FakeWatch : Watch {
  explicit FakeWatch(const Memory& m) : memory(m) {}
  Result<uint32_t> begin(const void* base, size_t bytes) override {
    if (refuses) return Status(Code::unsupported, "not this memory");
    const Span s{const_cast<void*>(base), bytes};
    all.push_back({s, memory.of(s)});
    ++living;
    return uint32_t(all.size() - 1);
  }
  bool holds(uint32_t watched) noexcept override {
    return memory.of(all[watched].first) == all[watched].second;
  }
  void end(uint32_t) noexcept override { --living; }
  uint64_t changes() const noexcept override { return memory.fresh; }
  const Memory& memory;
  std::vector<std::pair<Span, std::vector<uint64_t>>> all;
  size_t living = 0;
  bool refuses = false;
};

struct Cache : testing::Test {
  void unmap(size_t page, size_t count) {
    std::fill_n(memory.pages.begin() + ptrdiff_t(page), count, ++memory.fresh);
  }
  Registrations::Held hold(size_t page, size_t count, int flags = kLocal, bool whole = false) {
    auto held = cache.hold(span(page, count), flags, whole);
    EXPECT_TRUE(held.ok()) << held.status().text();
    return held.ok() ? *held : nullptr;
  }
  static bool is_true(const Registrations::Held& held, const Memory& memory) {
    const auto& made = static_cast<const FakeRegistration&>(*held);
    return made.pages == memory.of({made.addr, made.length});
  }
  Memory memory;
  FakeRegistrar* device = new FakeRegistrar(memory);
  std::shared_ptr<FakeWatch> watch = std::make_shared<FakeWatch>(memory);
  Registrations cache{std::unique_ptr<Registrar>(device)};
};

TEST_F(Cache, KeepsNothingWhereNothingIsWatched) {
  auto one = hold(0, 4), two = hold(0, 4), part = hold(1, 1);
  EXPECT_EQ(one, two) << "shared while somebody uses just it";
  EXPECT_NE(one, part) << "nobody vouches for a part of it once the others are gone";
  one.reset();
  EXPECT_EQ(device->living, 2u);
  two.reset();
  part.reset();
  EXPECT_EQ(device->living, 0u);
  watch->refuses = true;
  cache.keep(watch, {64 * kPage});
  hold(0, 4).reset();
  EXPECT_EQ(device->living, 0u);
}

TEST_F(Cache, FindsWhatNobodyUsesByItsRange) {
  cache.keep(watch, {64 * kPage});
  ibv_mr* made = hold(4, 8).get();
  EXPECT_EQ(device->living, 1u);
  EXPECT_EQ(hold(4, 8).get(), made);
  EXPECT_EQ(hold(6, 2).get(), made) << "a part of it";
  EXPECT_NE(hold(6, 2, kLocal, true).get(), made) << "a part, but a whole one was asked for";
  EXPECT_NE(hold(4, 9).get(), made) << "more than it";
  EXPECT_NE(hold(4, 8, kLocal | IBV_ACCESS_MW_BIND).get(), made) << "other rights";
  EXPECT_EQ(cache.counts().made, 4u);
  EXPECT_EQ(cache.counts().found, 2u);
}

TEST_F(Cache, UnmappedMemoryIsNotFound) {
  cache.keep(watch, {64 * kPage});
  hold(4, 8).reset();
  unmap(11, 1);
  const auto again = hold(4, 8);
  EXPECT_TRUE(is_true(again, memory));
  EXPECT_EQ(cache.counts().found, 0u);
  EXPECT_EQ(device->living, 1u) << "the stale one has gone";
}

TEST_F(Cache, StaleOnesAreGivenBackInAQuietMoment) {
  cache.keep(watch, {64 * kPage});
  hold(0, 4).reset();
  hold(8, 4).reset();
  const auto used = hold(16, 4);
  cache.tidy();
  EXPECT_EQ(device->living, 3u);
  unmap(0, 1);
  unmap(16, 1);
  cache.tidy();
  EXPECT_EQ(device->living, 2u) << "one is used, by somebody who has broken his promise";
  EXPECT_FALSE(is_true(used, memory));
  EXPECT_NE(hold(16, 4), used);
}

TEST_F(Cache, WhatPeersReachEndsWithItsRegion) {
  cache.keep(watch, {64 * kPage});
  const int flags = kLocal | IBV_ACCESS_REMOTE_WRITE;
  auto one = hold(0, 4, flags), two = hold(0, 4, flags);
  EXPECT_NE(one, two);
  one.reset();
  EXPECT_EQ(device->living, 1u);
  two.reset();
  EXPECT_EQ(device->living, 0u);
  EXPECT_EQ(watch->living, 0u);
}

TEST_F(Cache, TheOldestGoesFirst) {
  cache.keep(watch, {10 * kPage, 3});
  for (size_t i = 0; i < 4; ++i) hold(4 * i, 2).reset();
  EXPECT_EQ(device->living, 3u) << "three at most";
  hold(4, 2).reset();  // the oldest that is left was just used
  hold(20, 2).reset();
  const uint64_t made = cache.counts().made;
  hold(4, 2).reset();
  EXPECT_EQ(cache.counts().made, made);
  hold(30, 8).reset();
  EXPECT_EQ(cache.counts().kept_bytes, 10 * kPage) << "it, and the last one before it";
  hold(40, 11).reset();
  EXPECT_EQ(device->locked, 10 * kPage) << "what is longer than all that may be kept is not kept";
  EXPECT_EQ(watch->living, device->living);
}

TEST_F(Cache, MakesRoomWhenMemoryMayNotBeLocked) {
  cache.keep(watch, {64 * kPage});
  device->limit = 10 * kPage;
  hold(0, 6).reset();
  const auto second = hold(8, 6);
  EXPECT_EQ(device->living, 1u);
  EXPECT_EQ(cache.hold(span(20, 6), kLocal).status().code(), Code::memory) << "it is used";
  EXPECT_EQ(watch->living, 1u);
}

// Whatever is held has the pages that are there, as long as who holds it keeps them.
TEST_F(Cache, RandomScripts) {
  const auto seed = uint32_t(now_ns());
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  cache.keep(watch, {40 * kPage, 8});
  std::vector<std::pair<Registrations::Held, Span>> held;
  for (int step = 0; step < 20000; ++step) {
    const size_t page = random() % kPages, count = 1 + random() % std::min<size_t>(12, kPages - page);
    const Span here = span(page, count);
    watch->refuses = random() % 8 == 0;
    if (random() % 3 != 0 && held.size() < 6) {
      const int flags = random() % 2 ? kLocal : kLocal | IBV_ACCESS_MW_BIND;
      held.emplace_back(hold(page, count, flags, random() % 4 == 0), here);
      const auto& mr = static_cast<const FakeRegistration&>(*held.back().first);
      ASSERT_EQ(mr.handle, uint32_t(flags));
      const auto at = reinterpret_cast<uintptr_t>(here.base) - reinterpret_cast<uintptr_t>(mr.addr);
      ASSERT_LE(at + here.bytes, mr.length) << step;
      const auto now = memory.of(here);
      ASSERT_TRUE(std::equal(now.begin(), now.end(), mr.pages.begin() + ptrdiff_t(at / kPage))) << step;
    } else if (!held.empty() && random() % 2 != 0) {
      held.erase(held.begin() + ptrdiff_t(random() % held.size()));
    } else if (std::ranges::none_of(held, [&](const auto& h) {
                 const auto a = reinterpret_cast<uintptr_t>(h.second.base),
                            b = reinterpret_cast<uintptr_t>(here.base);
                 return a < b + here.bytes && b < a + h.second.bytes;
               })) {
      unmap(page, count);
    }
    if (random() % 50 == 0) cache.tidy();
    ASSERT_LE(cache.counts().kept_bytes, 40 * kPage);
  }
  held.clear();
  EXPECT_LE(device->living, 8u);
  EXPECT_EQ(watch->living, device->living);
  EXPECT_GT(cache.counts().found, 100u);
}

}  // namespace
}  // namespace plait::rdma
