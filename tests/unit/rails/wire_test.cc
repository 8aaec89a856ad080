#include "transport/rails/wire.h"

#include <gtest/gtest.h>

namespace plait::transport::rails {
namespace {

Bytes some(size_t size, uint8_t value) { return Bytes(size, std::byte{value}); }

TEST(RailsWire, ATicketIsWhatWasMade) {
  const Bytes a = some(10, 1), b = some(0, 2), c = some(300, 3), d = some(7, 4);
  Ticket ticket{6, 20, 2048, {a, b}, {c, d}};
  const Bytes bytes = make_ticket(ticket);
  const auto parsed = parse_ticket(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.status().text();
  EXPECT_EQ(parsed->counters, 6);
  EXPECT_EQ(parsed->window, 20);
  EXPECT_EQ(parsed->cell_bytes, 2048u);
  ASSERT_EQ(parsed->tickets.size(), 2u);
  EXPECT_TRUE(std::equal(c.begin(), c.end(), parsed->keys[0].begin(), parsed->keys[0].end()));
  EXPECT_FALSE(parse_key(bytes).ok());
  ticket.window = kWindow + 1;
  EXPECT_EQ(parse_ticket(make_ticket(ticket)).status().code(), Code::invalid);
  ticket.window = 0;
  EXPECT_EQ(parse_ticket(make_ticket(ticket)).status().code(), Code::invalid);
}

TEST(RailsWire, EveryDamageIsFound) {
  const Bytes a = some(10, 1), b = some(20, 2);
  const Bytes good = make_key({4096, Access::read, {a, b}});
  ASSERT_TRUE(parse_key(good).ok());
  for (size_t i = 0; i < good.size() * 8; ++i) {
    Bytes bad = good;
    bad[i / 8] ^= std::byte(1 << i % 8);
    EXPECT_FALSE(parse_key(bad).ok()) << "bit " << i;
  }
  const Bytes line = make_line({.kind = LineKind::offer, .rail = 1, .generation = 2, .number = 3}, a);
  ASSERT_TRUE(parse_line(line).has_value());
  for (size_t i = 0; i < line.size() * 8; ++i) {
    Bytes bad = line;
    bad[i / 8] ^= std::byte(1 << i % 8);
    EXPECT_FALSE(parse_line(bad).has_value()) << "bit " << i;
  }
  for (size_t n = 0; n < line.size(); ++n) EXPECT_FALSE(parse_line(ByteView(line).first(n)).has_value()) << n;
}

TEST(RailsWire, ReportsAreOfAllCountersAndKeepToTheWindow) {
  Bytes report;
  append(report, Landed{5, 0b101, 2});
  append(report, Landed{7, 0, 0});
  ASSERT_TRUE(parse_landed(report, 2, 3).has_value());
  EXPECT_EQ((*parse_landed(report, 2, 3))[0].next, 5u);
  EXPECT_FALSE(parse_landed(report, 2, 2).has_value());
  EXPECT_FALSE(parse_landed(report, 1, 8).has_value());
  EXPECT_FALSE(parse_landed(report, 3, 8).has_value());
}

}  // namespace
}  // namespace plait::transport::rails
