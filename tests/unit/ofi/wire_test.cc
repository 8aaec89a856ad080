// What comes from outside as bytes is checked before it is used.
#include "transport/ofi/wire.h"

#include <gtest/gtest.h>

namespace plait::transport::ofi {
namespace {

TEST(OfiWire, ASignalWordHoldsAllOfIt) {
  EXPECT_EQ(signal_word(0xffff, am::kCounters - 1, kMaxAdd), UINT32_MAX);
  EXPECT_EQ(signal_word(0xabcd, 0, 0), 0xbcd00000U);
  EXPECT_TRUE(has_stamp(signal_word(0xabcd, 5, 6), 0x1bcd));
  EXPECT_FALSE(has_stamp(signal_word(0xabcd, 5, 6), 0xabcc));
  EXPECT_EQ(signal_word(0, 1, 3), 1U << 10 | 3U);
}

TEST(OfiWire, ABellSaysWhichTimeItIs) {
  EXPECT_EQ(bell(0, 0xabcd, 0x12345678), 0x0100abcd12345678U);
  for (uint64_t i : {uint64_t{0}, 5 * kBells - 1, 254 * kBells, 255 * kBells, 256 * kBells})
    EXPECT_NE(lap(i), lap(i + kBells)) << i;
  EXPECT_NE(bell(0, 0, 0), 0U) << "no bell has rung yet";
}

TEST(OfiWire, PlacesThatMakeNoSense) {
  const auto taken = [](auto change) {
    Where w;
    w.mode = uint8_t(Mode::direct);
    w.address_bytes = 16;
    w.address[15] = std::byte{1};
    w.stamp = 7;
    change(w);
    return parse_where(bytes_of(w)).has_value();
  };
  EXPECT_TRUE(taken([](Where&) {}));
  EXPECT_TRUE(taken([](Where& w) { w.address_bytes = 128; }));
  EXPECT_FALSE(taken([](Where& w) { w.mode = uint8_t(Mode::automatic); }));
  EXPECT_FALSE(taken([](Where& w) { w.address_bytes = 0; }));
  EXPECT_FALSE(taken([](Where& w) { w.address_bytes = 129; }));
  EXPECT_FALSE(taken([](Where& w) { w.address_bytes = 15; })) << "something behind it";
  EXPECT_FALSE(taken([](Where& w) { w.mode = uint8_t(Mode::messages); })) << "there are no signals to number";
  EXPECT_TRUE(taken([](Where& w) { w.mode = uint8_t(Mode::messages), w.stamp = 0; }));
  EXPECT_FALSE(parse_where(bytes_of(Where{}).first(151)));
}

TEST(OfiWire, DamagedKeys) {
  Key good;
  good.region.magic = kMaker.magic;
  good.region.version = kMaker.version;
  good.region.bytes = 2;
  const auto seal = [&] {
    good.region.sum = sum_of(good.region);
    good.sum = sum_of(good);
  };
  seal();
  ASSERT_TRUE(parse_key(bytes_of(good)).ok()) << parse_key(bytes_of(good)).status().text();
  Bytes bytes(bytes_of(good).begin(), bytes_of(good).end());
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{16};
    EXPECT_FALSE(parse_key(bytes).ok()) << "byte " << i;
    bytes[i] ^= std::byte{16};
  }
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(parse_key(ByteView(bytes).first(n)).ok());
  EXPECT_FALSE(parse_key(bytes_of(good.region)).ok()) << "what messages need is not enough";
  good.base = UINT64_MAX;
  seal();
  EXPECT_FALSE(parse_key(bytes_of(good)).ok()) << "ends beyond all memory";
  good.base = 0;
  good.region.version++;
  seal();
  EXPECT_EQ(parse_key(bytes_of(good)).status().code(), Code::version);
}

}  // namespace
}  // namespace plait::transport::ofi
