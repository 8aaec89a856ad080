// Who belongs together after a split, and what ranks tell each other of it.
#include "runtime/family.h"

#include <gtest/gtest.h>

namespace plait::runtime {
namespace {

Wish wish(int32_t color, int32_t key, std::string_view card) {
  const auto bytes = std::as_bytes(std::span(card));
  return {color, key, {}, {bytes.begin(), bytes.end()}};
}

TEST(Wish, ComesBackAsItWas) {
  Wish sent = wish(7, -3, "a card");
  sent.status = Status(Code::system, "no descriptor left");
  Wish got;
  ASSERT_TRUE(decode(encode(sent), got));
  EXPECT_EQ(got.color, 7);
  EXPECT_EQ(got.key, -3);
  EXPECT_EQ(got.status.code(), Code::system);
  EXPECT_EQ(got.status.text(), "no descriptor left");
  EXPECT_EQ(got.card, sent.card);
}

TEST(Wish, WhatMakesNoSenseIsRefused) {
  const Bytes good = encode(wish(1, 2, ""));
  Wish got;
  for (size_t keep = 0; keep < good.size(); keep++) EXPECT_FALSE(decode(ByteView(good).first(keep), got));
  for (size_t at : {size_t(8), size_t(12)}) {  // the code, the text's length
    Bytes bad = good;
    bad[at] = std::byte(200);
    EXPECT_FALSE(decode(bad, got)) << at;
    bad[at + 3] = std::byte(0xff);
    EXPECT_FALSE(decode(bad, got)) << at;
  }
}

TEST(Family, IsOfOneColorByKeyThenRank) {
  const std::vector<Wish> all = {wish(1, 5, "0"), wish(0, 0, "1"), wish(1, -5, "2"), wish(-1, 0, ""),
                                 wish(1, 5, "4")};
  auto family = family_of(all, 4, 9);
  ASSERT_TRUE(family.ok());
  EXPECT_EQ(family->ranks, (std::vector<int32_t>{2, 0, 4}));
  EXPECT_EQ(family->rank, 2);
  EXPECT_EQ(family->name, "9.1");
  EXPECT_EQ(family->number, uint64_t(9) << 32 | 1);
  EXPECT_EQ(family->cards[1], all[0].card);
  EXPECT_EQ(describe(*family), "ranks 0, 1, 2 are ranks 2, 0, 4 of its parent");
}

TEST(Family, FailsWithThoseOfItsColorOnly) {
  std::vector<Wish> all = {wish(1, 0, ""), wish(0, 0, ""), wish(1, 0, "")};
  all[2].status = Status(Code::memory, "none left");
  auto broken = family_of(all, 0, 1);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.status().code(), Code::memory);
  EXPECT_EQ(broken.status().text().substr(0, 6), "rank 2");
  EXPECT_TRUE(family_of(all, 1, 1).ok());
}

}  // namespace
}  // namespace plait::runtime
