// What comes from outside as bytes is checked before it is used.
#include "transport/ofi/wire.h"

#include <gtest/gtest.h>

namespace plait::transport::ofi {
namespace {

TEST(OfiWire, ASignalWordHoldsAllOfIt) {
  EXPECT_EQ(signal_word(0xffff, {am::kCounters - 1, kMaxAdd}), UINT32_MAX);
  EXPECT_EQ(signal_word(0xabcd, {}), 0xbcd00000U);
  EXPECT_EQ(signal_word(0, {1, 3}), 1U << 10 | 3U);
  EXPECT_EQ(signal_word(0, {1, 0}), 0U) << "what adds nothing needs no counter";
  EXPECT_TRUE(has_stamp(signal_word(0xabcd, {5, 6}), 0x1bcd));
  EXPECT_FALSE(has_stamp(signal_word(0xabcd, {5, 6}), 0xabcc));
  EXPECT_EQ(signal_of(signal_word(0xabcd, {5, 6})).counter, 5);
  EXPECT_EQ(signal_of(signal_word(0xabcd, {5, 6})).add, 6);
}

TEST(OfiWire, PlacesThatMakeNoSense) {
  const auto taken = [](auto change, size_t address = 16) {
    Where w;
    w.mode = uint8_t(Mode::direct);
    w.stamp = 7;
    change(w);
    Bytes bytes;
    append(bytes, w);
    bytes.resize(bytes.size() + address);
    ByteView view = bytes;
    return parse_where(view) && view.size() == address;
  };
  EXPECT_TRUE(taken([](Where&) {}));
  EXPECT_TRUE(taken([](Where&) {}, kMostAddress));
  EXPECT_FALSE(taken([](Where&) {}, kMostAddress + 1));
  EXPECT_FALSE(taken([](Where&) {}, 0)) << "no address";
  EXPECT_FALSE(taken([](Where& w) { w.mode = 0; }));
  EXPECT_FALSE(taken([](Where& w) { w.mode = 3; }));
  EXPECT_FALSE(taken([](Where& w) { w.zero = 1; }));
  EXPECT_FALSE(taken([](Where& w) { w.mode = uint8_t(Mode::messages); })) << "there are no signals to number";
  EXPECT_TRUE(taken([](Where& w) { w.mode = uint8_t(Mode::messages), w.stamp = 0; }));
  const Where whole;
  ByteView part = bytes_of(whole).first(sizeof whole - 1);
  EXPECT_FALSE(parse_where(part));
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
