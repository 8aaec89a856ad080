// memory.h: malloc's face, what is kept, and what it means in forked children, for operations and for peers.
#include <cerrno>
#include <cstring>
#include <random>

#include "support/ranks.h"

namespace plait::test {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

bool all(const void* p, size_t bytes, int value) {
  const auto* b = static_cast<const unsigned char*>(p);
  return std::all_of(b, b + bytes, [=](unsigned char x) { return x == value; });
}

plait_memory_usage usage() {
  plait_memory_usage u{};
  u.struct_size = sizeof u;
  EXPECT_EQ(plait_mem_usage(&u), PLAIT_OK) << plait_last_error(nullptr);
  return u;
}

template <class Check>
int in_child(Check check) {
  const pid_t child = fork();
  if (child == 0) _exit(check());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Malloc, NeedsNoInitAndIsShared) {
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{5000}, size_t{9000}, 3 * kMiB}) {
    void* p = plait_malloc(bytes);
    ASSERT_NE(p, nullptr) << plait_last_error(nullptr);
    const size_t align = bytes >= 2 * kMiB ? 2 * kMiB : bytes > 8192 ? 4096 : bytes >= 64 ? 64 : 16;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % align, 0U) << bytes;
    EXPECT_GE(plait_usable_size(p), bytes);
    EXPECT_EQ(plait_mem_is_shared(p, bytes), 1);
    std::memset(p, 1, plait_usable_size(p));
    plait_free(p);
    EXPECT_EQ(plait_usable_size(p), 0U);
  }
  int local = 0;
  EXPECT_EQ(plait_mem_is_shared(&local, sizeof local), 0);
  EXPECT_EQ(plait_usable_size(&local), 0U);
  EXPECT_EQ(plait_usable_size(nullptr), 0U);
}

TEST(Malloc, CallocZeroesWhatWasUsed) {
  for (const size_t bytes : {size_t{24}, size_t{4000}, size_t{100'000}, 4 * kMiB}) {
    void* p = plait_malloc(bytes);
    std::memset(p, 0xff, bytes);
    plait_free(p);
    void* q = plait_calloc(bytes / 8, 8);
    EXPECT_EQ(p, q) << "the same block";
    EXPECT_TRUE(all(q, bytes, 0));
    plait_free(q);
  }
}

TEST(Malloc, WhatCannotBeIsNullWithErrnoAndASentence) {
  errno = 0;
  EXPECT_EQ(plait_malloc(SIZE_MAX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(contains(plait_last_error(nullptr), "plait_malloc")) << plait_last_error(nullptr);
  errno = 0;
  EXPECT_EQ(plait_malloc(PTRDIFF_MAX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(contains(plait_last_error(nullptr), "shared memory is full")) << plait_last_error(nullptr);
  errno = 0;
  EXPECT_EQ(plait_calloc(SIZE_MAX / 2, 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  for (const size_t alignment : {size_t{0}, size_t{3}, size_t{96}, 4 * kMiB}) {
    errno = 0;
    EXPECT_EQ(plait_aligned_alloc(alignment, 8), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  int local = 0;
  errno = 0;
  EXPECT_EQ(plait_realloc(&local, 8), nullptr);
  EXPECT_EQ(errno, EINVAL);
  void* p = plait_malloc(10);
  errno = 0;
  EXPECT_EQ(plait_realloc(p, SIZE_MAX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_GE(plait_usable_size(p), 10U) << "as it was";
  plait_free(p);
}

TEST(Malloc, FreeLeavesStrangersAloneAndSaysSo) {
  int local = 7;
  errno = 99;
  plait_free(nullptr);
  plait_free(&local);
  EXPECT_EQ(errno, 99);
  EXPECT_TRUE(contains(plait_last_error(nullptr), "plait_free")) << plait_last_error(nullptr);
  EXPECT_EQ(local, 7);
  void* p = plait_malloc(20'000);
  plait_free(p);
  plait_free(p);
  EXPECT_TRUE(contains(plait_last_error(nullptr), "freed before"));
}

TEST(Malloc, AlignsAsAsked) {
  for (size_t alignment = 1; alignment <= 2 * kMiB; alignment *= 2) {
    for (const size_t bytes : {size_t{1}, size_t{100}, size_t{5000}, size_t{100'000}}) {
      void* p = plait_aligned_alloc(alignment, bytes);
      ASSERT_NE(p, nullptr) << plait_last_error(nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % alignment, 0U);
      EXPECT_GE(plait_usable_size(p), bytes);
      plait_free(p);
    }
  }
}

TEST(Malloc, ReallocIsMallocAndFreeAtItsEnds) {
  auto* p = static_cast<char*>(plait_realloc(nullptr, 6));
  std::memcpy(p, "plait", 6);
  p = static_cast<char*>(plait_realloc(p, 1 * kMiB));
  EXPECT_STREQ(p, "plait");
  p = static_cast<char*>(plait_realloc(p, 6));
  EXPECT_STREQ(p, "plait");
  EXPECT_EQ(plait_realloc(p, 0), nullptr);
  EXPECT_EQ(plait_usable_size(p), 0U);
}

TEST(Malloc, OneAllocatorWithPlaitMemAlloc) {
  ASSERT_EQ(plait_init(nullptr), PLAIT_OK);
  for (const size_t bytes : {size_t{1}, size_t{64}, size_t{4096}, size_t{4097}, 3 * kMiB}) {
    void* dirty = plait_aligned_alloc(4096, bytes);
    std::memset(dirty, 1, bytes);
    EXPECT_EQ(plait_mem_free(dirty), PLAIT_OK);
    void* p = nullptr;
    ASSERT_EQ(plait_mem_alloc(bytes, &p), PLAIT_OK);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 4096, 0U);
    EXPECT_TRUE(all(p, bytes, 0)) << bytes;
    p = plait_realloc(p, bytes + 10);
    plait_free(p);
    EXPECT_EQ(plait_mem_free(p), PLAIT_ERR_INVALID);
  }
  plait_finalize();
}

TEST(Kept, ABoundATrimAndAnAccountOfIt) {
  EXPECT_EQ(plait_mem_trim(), PLAIT_OK);
  EXPECT_EQ(plait_mem_keep(16 * kMiB), PLAIT_OK);
  const plait_memory_usage before = usage();
  EXPECT_EQ(before.keep_most, 16 * kMiB);
  EXPECT_EQ(before.kept, 0U);
  EXPECT_GE(before.capacity, before.used);
  void *a = plait_malloc(8 * kMiB), *b = plait_malloc(8 * kMiB), *c = plait_malloc(8 * kMiB);
  for (void* p : {a, b, c}) std::memset(p, 1, 8 * kMiB);
  EXPECT_GE(usage().used, before.used + 24 * kMiB);
  EXPECT_GE(usage().resident, before.resident + 24 * kMiB);
  for (void* p : {a, b, c}) plait_free(p);
  EXPECT_EQ(usage().kept, 16 * kMiB);
  EXPECT_EQ(usage().used, before.used);
  EXPECT_LE(usage().resident, before.resident + 16 * kMiB);
  void* again = plait_malloc(8 * kMiB - 100);
  EXPECT_EQ(again, c) << "the latest of this size";
  plait_free(again);
  EXPECT_EQ(plait_mem_keep(8 * kMiB), PLAIT_OK);
  EXPECT_EQ(usage().kept, 8 * kMiB);
  EXPECT_EQ(plait_mem_trim(), PLAIT_OK);
  EXPECT_EQ(usage().kept, 0U);
  EXPECT_LE(usage().resident, before.resident);
  EXPECT_EQ(plait_mem_usage(nullptr), PLAIT_ERR_INVALID);
  plait_memory_usage none{};
  EXPECT_EQ(plait_mem_usage(&none), PLAIT_ERR_INVALID);
}

// An object with static lifetime, a framework's tensor: destroyed in the child, too.
TEST(Malloc, AForkedChildHasItsOwnMemory) {
  void *small = plait_malloc(100), *large = plait_malloc(kMiB);
  std::memset(small, 1, 100);
  const std::string before = plait_last_error(nullptr);
  EXPECT_EQ(in_child([&] {
              plait_free(small);
              plait_free(large);
              if (before != plait_last_error(nullptr)) return 1;
              if (plait_usable_size(small) != 0 || plait_mem_is_shared(small, 1) != 0) return 2;
              errno = 0;
              if (plait_realloc(small, 200) != nullptr || errno != EINVAL) return 3;
              void* own = plait_malloc(100);
              if (own == nullptr || own == small || plait_mem_is_shared(own, 100) != 1) return 4;
              static_cast<char*>(small)[1] = 2;  // the same bytes
              plait_free(own);
              return plait_mem_trim() == PLAIT_OK ? 0 : 5;
            }),
            0);
  EXPECT_EQ(static_cast<char*>(small)[1], 2);
  EXPECT_GE(plait_usable_size(small), 100U);
  plait_free(small);
  plait_free(large);
}

// Buffers that come and go, of sizes that are like each other, while they are summed: what peers map is
// always what the rank has now.
TEST(Malloc, BuffersOfOperationsComeAndGo) {
  constexpr uint32_t kSeed = 20250613;
  const std::string job = fresh_job();
  run_ranks({3, 1}, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    std::mt19937 random(kSeed);
    for (int i = 0; i < 60; i++) {
      const size_t count = 1 + random() % (size_t{1} << (random() % 19));
      auto* in = static_cast<float*>(plait_malloc(count * sizeof(float)));
      auto* out = static_cast<float*>(plait_calloc(count, sizeof(float)));
      if (in == nullptr || out == nullptr) return plait_last_error(nullptr);
      std::fill_n(in, count, float(rank + i));
      if (plait_allreduce(c.comm, in, out, count, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr) != PLAIT_OK)
        return c.last();
      const float sum = float(size * (size - 1) / 2 + i * size);
      if (!std::all_of(out, out + count, [=](float x) { return x == sum; }))
        return "wrong sums in round " + std::to_string(i) + ", seed " + std::to_string(kSeed);
      plait_free(in);
      plait_free(out);
      if (i % 20 == 7) plait_mem_trim();
    }
    return "";
  });
}

}  // namespace
}  // namespace plait::test
