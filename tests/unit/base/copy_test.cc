// copy_bytes() and its like: every relation of source and target in their pages, and nothing beside what is
// copied.
#include "base/copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace plait {
namespace {

constexpr size_t kRoom = size_t{5} << 12;

std::vector<unsigned char> pattern() {
  std::vector<unsigned char> bytes(kRoom);
  for (size_t i = 0; i < kRoom; ++i) bytes[i] = static_cast<unsigned char>(1 + (i * 31 + i / 251) % 255);
  return bytes;
}

using Copy = void (*)(void*, const void*, size_t) noexcept;

void check(Copy copy, size_t from, size_t to, size_t bytes) {
  static const std::vector<unsigned char> source = pattern();
  std::vector<unsigned char> target(kRoom, 0);
  copy(target.data() + to, source.data() + from, bytes);
  end_past_cache();
  for (size_t i = 0; i < kRoom; ++i) {
    const bool copied = i >= to && i < to + bytes;
    ASSERT_EQ(target[i], copied ? source[from + i - to] : 0)
        << "byte " << i << " of " << bytes << " copied from " << from << " to " << to;
  }
}

TEST(Copy, CopiesAllAndNothingElse) {
  for (const Copy copy :
       {Copy(copy_bytes), Copy(copy_by_vectors), Copy(copy_by_string), Copy(copy_past_cache)}) {
    for (const size_t bytes : std::initializer_list<size_t>{0, 1, 63, 64, 65, 95, 96, 127, 128, 129, 160, 191,
                                                            1024, 1025, 4096, 9001}) {
      if (copy == Copy(copy_by_vectors) && bytes < 64) continue;
      for (size_t behind = 0; behind < 34; ++behind) {
        check(copy, 100, 100 + behind, bytes);
        check(copy, 100 + behind, 100, bytes);
      }
    }
  }
}

TEST(Copy, CopiesTwice) {
  static const std::vector<unsigned char> source = pattern();
  for (const auto copy : {copy_twice, copy_also_past_cache}) {
    for (const size_t bytes : std::initializer_list<size_t>{0, 1, 31, 64, 65, 127, 200, 4096, 9001}) {
      for (const size_t first : std::initializer_list<size_t>{0, 1, 33, 63}) {
        for (const size_t second : std::initializer_list<size_t>{0, 5, 64}) {
          std::vector<unsigned char> targets[2];
          for (auto& t : targets) t.resize(kRoom, 0);
          copy(targets[0].data() + first, targets[1].data() + second, source.data() + 7, bytes);
          end_past_cache();
          for (size_t i = 0; i < kRoom; ++i) {
            for (int t : {0, 1}) {
              const size_t to = t == 0 ? first : second;
              const bool copied = i >= to && i < to + bytes;
              ASSERT_EQ(targets[t][i], copied ? source[7 + i - to] : 0) << "byte " << i << " of target " << t;
            }
          }
        }
      }
    }
  }
}

TEST(Copy, KnowsTheSlowRelations) {
  for (const int slow : {1, 2, 8, 15, 4097, -4095}) EXPECT_TRUE(copies_slowly(uintptr_t(slow))) << slow;
  for (const int fast : {0, 16, 17, 4095, 4096, -1, -15, 2048})
    EXPECT_FALSE(copies_slowly(uintptr_t(fast))) << fast;
}

}  // namespace
}  // namespace plait
