// What comes from outside as bytes is checked before it is used.
#include "transport/ofi/wire.h"

#include <gtest/gtest.h>

namespace plait::transport::ofi {
namespace {

Header put_of(uint32_t length) {
  Header h;
  h.kind = Kind::put;
  h.sequence = 1;
  h.length = length;
  return h;
}

Bytes message(const Header& header, size_t body) {
  Bytes m;
  append(m, header);
  m.resize(m.size() + body);
  return m;
}

TEST(OfiWire, AMessageHasAsManyBytesAsItSays) {
  EXPECT_TRUE(parse_header(message(put_of(0), 0)));
  EXPECT_TRUE(parse_header(message(put_of(7), 7)));
  EXPECT_FALSE(parse_header(message(put_of(7), 6)));
  EXPECT_FALSE(parse_header(message(put_of(7), 8)));
  const Bytes whole = message(put_of(0), 0);
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(parse_header(ByteView(whole).first(n)));
}

TEST(OfiWire, HeadersThatMakeNoSense) {
  const auto refused = [](auto change, size_t body = 0) {
    Header h = put_of(uint32_t(body));
    change(h);
    return !parse_header(message(h, body));
  };
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind(0); }));
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind(6); }));
  EXPECT_TRUE(refused([](Header& h) { h.zero = 1; }));
  EXPECT_TRUE(refused([](Header& h) { h.wants_ack = 2; }));
  EXPECT_TRUE(refused([](Header& h) { h.counter = kCounters; }));
  EXPECT_TRUE(refused([](Header& h) { h.offset = UINT64_MAX; }, 2)) << "ends beyond all memory";
  EXPECT_TRUE(refused([](Header& h) { h.value = 1; }));
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::get; })) << "a get of nothing";
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::get, h.value = kMaxTransfer + 1; }));
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::get, h.value = 1, h.add = 1; }))
      << "a get signals nothing";
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::get, h.value = 1; }, 1)) << "a get brings nothing";
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::data; })) << "no data";
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::data, h.nonce = 1; }, 1));
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::ack; })) << "of nothing";
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::ack, h.value = 1, h.wants_ack = 1; }));
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::refuse; }));
  EXPECT_TRUE(refused([](Header& h) { h.kind = Kind::refuse, h.value = 6; }));
  EXPECT_FALSE(refused([](Header& h) { h.kind = Kind::refuse, h.value = 5; }));
}

TEST(OfiWire, ASignalWordHoldsAllOfIt) {
  EXPECT_EQ(signal_word(0xffff, kCounters - 1, kMaxAdd), UINT32_MAX);
  EXPECT_EQ(signal_word(0xabcd, 0, 0), 0xabcd0000U);
  EXPECT_EQ(signal_word(0, 1, 3), 1U << 10 | 3U);
}

TEST(OfiWire, ABellSaysWhichTimeItIs) {
  EXPECT_EQ(bell(0, 0xabcd, 0x12345678), 0x0100abcd12345678U);
  for (uint64_t i : {uint64_t{0}, 5 * kBells - 1, 254 * kBells, 255 * kBells, 256 * kBells})
    EXPECT_NE(lap(i), lap(i + kBells)) << i;
  EXPECT_NE(bell(0, 0, 0), 0U) << "no bell has rung yet";
}

template <class T, class Parse>
void refuses_damage(T good, Parse parse) {
  good.sum = sum_of(good);
  ASSERT_TRUE(parse(bytes_of(good)).ok()) << parse(bytes_of(good)).status().text();
  Bytes bytes(bytes_of(good).begin(), bytes_of(good).end());
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{16};
    EXPECT_FALSE(parse(ByteView(bytes)).ok()) << "byte " << i;
    bytes[i] ^= std::byte{16};
  }
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(parse(ByteView(bytes).first(n)).ok());
  good.version = kVersion + 1;
  good.sum = sum_of(good);
  EXPECT_EQ(parse(bytes_of(good)).status().code(), Code::version);
}

TEST(OfiWire, DamagedTicketsAndKeys) {
  Ticket ticket;
  ticket.mode = uint8_t(Mode::direct);
  ticket.address_bytes = 16;
  refuses_damage(ticket, parse_ticket);
  Key key;
  key.bytes = 1;
  refuses_damage(key, parse_key);
  key.base = UINT64_MAX;
  key.bytes = 2;
  key.sum = sum_of(key);
  EXPECT_FALSE(parse_key(bytes_of(key)).ok()) << "ends beyond all memory";
  ticket.mode = uint8_t(Mode::automatic);
  ticket.sum = sum_of(ticket);
  EXPECT_FALSE(parse_ticket(bytes_of(ticket)).ok());
  ticket.mode = uint8_t(Mode::messages);
  ticket.address_bytes = 129;
  ticket.sum = sum_of(ticket);
  EXPECT_FALSE(parse_ticket(bytes_of(ticket)).ok());
}

}  // namespace
}  // namespace plait::transport::ofi
