#include "transport/am/wire.h"

#include <gtest/gtest.h>

#include <cstring>

namespace plait::transport::am {
namespace {

constexpr Maker kMaker{"test", "tests", 0x54534554, 3};

Ticket good_ticket() {
  Ticket ticket;
  ticket.head.magic = kMaker.magic;
  ticket.head.version = kMaker.version;
  ticket.head.counters = 2;
  ticket.head.domain = 5;
  ticket.head.endpoint = 7;
  std::strcpy(ticket.head.host.data(), "node7");
  ticket.address.resize(50, std::byte{3});
  return ticket;
}

TEST(MessageWire, TicketsAreTakenWholeOrNot) {
  Bytes bytes = to_bytes(good_ticket());
  const auto parsed = parse_ticket(bytes, kMaker);
  ASSERT_TRUE(parsed.ok()) << parsed.status().text();
  EXPECT_EQ(parsed->head.endpoint, 7u);
  EXPECT_EQ(parsed->address, good_ticket().address);
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(parse_ticket(ByteView(bytes).first(n), kMaker).ok()) << n;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte(1 << (bit % 8));
    EXPECT_FALSE(parse_ticket(bytes, kMaker).ok()) << "bit " << bit;
    bytes[bit / 8] ^= std::byte(1 << (bit % 8));
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(parse_ticket(bytes, kMaker).ok());
}

// Who can compute a sum still cannot make a ticket of nonsense.
TEST(MessageWire, SummedNonsenseIsRefused) {
  const auto status = [](auto change) {
    Ticket bad = good_ticket();
    change(bad);
    return parse_ticket(to_bytes(bad), kMaker).status();
  };
  EXPECT_TRUE(status([](Ticket&) {}).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.head.counters = kCounters + 1; }).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.head.endpoint = 0; }).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.head.magic++; }).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.head.zero = 1; }).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.head.zero2 = 1; }).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.head.host.fill('x'); }).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.head.host[0] = '\n'; }).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.head.host[60] = 'x'; }).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.address.clear(); }).ok());
  EXPECT_FALSE(status([](Ticket& t) { t.address.resize(kAddressMost + 1); }).ok());
  EXPECT_EQ(status([](Ticket& t) { t.head.version++; }).code(), Code::version);
}

Header of(Kind kind) {
  Header h;
  h.kind = uint8_t(kind);
  h.to = 9;
  return h;
}

bool taken(const Header& h, size_t length) { return parse_header(bytes_of(h), length).has_value(); }

TEST(MessageWire, HeadersFitTheirKind) {
  Header put = of(Kind::put);
  put.flags = kLast;
  EXPECT_TRUE(taken(put, 0));
  EXPECT_TRUE(taken(put, 100));
  put.flags = kLast | kAsked;
  put.counter = 3;
  put.add = 1;
  EXPECT_TRUE(taken(put, 100));
  put.offset = UINT64_MAX - 50;
  EXPECT_FALSE(taken(put, 100)) << "it ends beyond all memory";
  put = of(Kind::put);
  EXPECT_TRUE(taken(put, 1)) << "a part";
  EXPECT_FALSE(taken(put, 0)) << "a part of nothing";
  put.flags = kAsked;
  EXPECT_TRUE(taken(put, 1)) << "a part that asks";
  EXPECT_FALSE(taken(put, 0));
  put.flags = 4;
  EXPECT_FALSE(taken(put, 1));
  Header get = of(Kind::get);
  get.nonce = 1;
  get.value = 100;
  EXPECT_TRUE(taken(get, 0));
  EXPECT_FALSE(taken(get, 1));
  get.value = kMaxTransfer + 1;
  EXPECT_FALSE(taken(get, 0));
  Header data = of(Kind::data);
  EXPECT_FALSE(taken(data, 8)) << "a part of nothing";
  EXPECT_FALSE(taken(data, 7));
  EXPECT_TRUE(taken(data, 9));
  data.flags = kLast;
  EXPECT_TRUE(taken(data, 8));
  Header error = of(Kind::error);
  EXPECT_FALSE(taken(error, 0));
  error.value = uint8_t(Refusal::order);
  EXPECT_TRUE(taken(error, 0));
  error.value++;
  EXPECT_FALSE(taken(error, 0));
  EXPECT_FALSE(taken(of(Kind::hello), 0)) << "whose?";
  Header hello = of(Kind::hello);
  hello.value = 1;
  EXPECT_TRUE(taken(hello, 0));
  hello.flags = kLast;
  EXPECT_FALSE(taken(hello, 0));
  EXPECT_TRUE(taken(of(Kind::goodbye), 0));
  EXPECT_FALSE(taken(Header{}, 0)) << "a message that was made void";
  Header stranger = of(Kind::goodbye);
  stranger.to = 0;
  EXPECT_FALSE(taken(stranger, 0));
  EXPECT_FALSE(parse_header(bytes_of(put).first(47), 1).has_value());
}

TEST(MessageWire, IdentitiesAreChecked) {
  const auto taken = [](auto change) {
    Identity identity;
    identity.magic = kMaker.magic;
    identity.version = kMaker.version;
    change(identity);
    return parse_identity(bytes_of(identity), kMaker).has_value();
  };
  EXPECT_TRUE(taken([](Identity&) {}));
  EXPECT_TRUE(taken([](Identity& i) { i.use = 255, i.protocol = 7, i.host = 9; }))
      << "these are the fabric's";
  EXPECT_FALSE(taken([](Identity& i) { i.magic++; }));
  EXPECT_FALSE(taken([](Identity& i) { i.version++; }));
  EXPECT_FALSE(taken([](Identity& i) { i.zero = 1; }));
  EXPECT_FALSE(taken([](Identity& i) { i.zero2 = 1; }));
  EXPECT_FALSE(parse_identity(bytes_of(Identity{}).first(23), kMaker));
}

}  // namespace
}  // namespace plait::transport::am
