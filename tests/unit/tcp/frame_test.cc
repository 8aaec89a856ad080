// What peers and strangers may write: parsers take what is right, field by field, and nothing else.
#include "transport/tcp/frame.h"

#include <random>

#include "rig.h"

namespace plait::transport::tcp::test {
namespace {

Header header(FrameKind kind) {
  Header h;
  h.kind = uint8_t(kind);
  return h;
}

Header good_put() {
  Header h = header(FrameKind::put);
  h.flags = kLast | kAsked;
  h.counter = 3;
  h.add = 1;
  h.slot = 7;
  h.length = 100;
  h.nonce = 99;
  h.offset = 1000;
  return h;
}

Header good_get() {
  Header h = header(FrameKind::get);
  h.slot = 7;
  h.nonce = 99;
  h.offset = 5;
  h.value = 1 << 20;
  return h;
}

Header good_data() {
  Header h = header(FrameKind::data);
  h.length = kPiece;
  return h;
}

bool parses(const Header& h) { return parse_header(bytes_of(h)).has_value(); }

TEST(TcpFrame, GoodOnesParseUnchanged) {
  Header ack = header(FrameKind::ack), error = header(FrameKind::error);
  ack.value = uint64_t{1} << kLaneShift | 12345;
  error.value = uint64_t(Refusal::bounds);
  Header signal = header(FrameKind::put), nothing = header(FrameKind::data);
  signal.flags = kLast;
  nothing.flags = kLast;
  for (const Header& h : {good_put(), good_get(), good_data(), ack, error, signal, nothing,
                          header(FrameKind::get), header(FrameKind::ack), header(FrameKind::goodbye)}) {
    auto parsed = parse_header(bytes_of(h));
    ASSERT_TRUE(parsed.has_value()) << h.kind;
    EXPECT_EQ(std::memcmp(&*parsed, &h, sizeof h), 0);
  }
}

TEST(TcpFrame, LengthsOtherThanAHeadersAreRefused) {
  Bytes bytes(sizeof(Header) + 1);
  const Header h = good_put();
  std::memcpy(bytes.data(), &h, sizeof h);
  for (size_t n = 0; n < sizeof h; ++n) EXPECT_FALSE(parse_header(ByteView(bytes).first(n)).has_value());
}

struct Bad {
  const char* what;
  Header header;
};

std::vector<Bad> bad_headers() {
  std::vector<Bad> all;
  auto add = [&](const char* what, Header h, auto change) {
    change(h);
    all.push_back({what, h});
  };
  for (int kind = 0; kind < 256; ++kind) {
    if (std::strchr("PGDAEB", kind) == nullptr || kind == 0)
      all.push_back({"no such kind", header(FrameKind(uint8_t(kind)))});
  }
  for (const Header& h :
       {good_put(), good_get(), good_data(), header(FrameKind::ack), header(FrameKind::goodbye)}) {
    add("the unused field", h, [](Header& x) { x.zero = 1; });
    add("too long", h, [](Header& x) { x.length = kPiece + 1; });
    add("longest", h, [](Header& x) { x.length = UINT32_MAX; });
    add("unknown flags", h, [](Header& x) { x.flags |= 4; });
  }
  add("asked, not last", good_put(), [](Header& x) { x.flags = kAsked; });
  add("a signal, not last", good_put(), [](Header& x) { x.flags = 0; });
  add("a counter without an add", good_put(), [](Header& x) { x.add = 0; });
  add("a put with a value", good_put(), [](Header& x) { x.value = 1; });
  add("empty, with a region", good_put(), [](Header& x) { x.length = 0; });
  add("empty, not last", header(FrameKind::put), [](Header&) {});
  add("a put that wraps", good_put(), [](Header& x) { x.offset = UINT64_MAX - 50; });
  add("a get that wraps", good_get(), [](Header& x) { x.offset = UINT64_MAX - 50; });
  add("a get too long", good_get(), [](Header& x) { x.value = kMaxTransfer + 1; });
  add("a get that signals", good_get(), [](Header& x) { x.add = 1; });
  add("a get with bytes", good_get(), [](Header& x) { x.length = 1; });
  add("an empty get of a region", good_get(), [](Header& x) { x.value = 0; });
  add("data with a region", good_data(), [](Header& x) { x.nonce = 1; });
  add("data with an offset", good_data(), [](Header& x) { x.offset = 1; });
  add("data that signals", good_data(), [](Header& x) { x.add = 1; });
  add("no data, not last", good_data(), [](Header& x) { x.length = 0; });
  add("an ack of no lane", header(FrameKind::ack),
      [](Header& x) { x.value = (kLastFrameLane + 1) << kLaneShift; });
  add("an ack with bytes", header(FrameKind::ack), [](Header& x) { x.length = 1; });
  add("an error of no kind", header(FrameKind::error), [](Header&) {});
  add("an unknown error", header(FrameKind::error), [](Header& x) { x.value = 7; });
  add("a goodbye with a value", header(FrameKind::goodbye), [](Header& x) { x.value = 1; });
  return all;
}

TEST(TcpFrame, EveryBadFieldIsRefused) {
  for (const Bad& bad : bad_headers())
    EXPECT_FALSE(parses(bad.header)) << bad.what << ", kind " << bad.header.kind;
}

TEST(TcpFrame, AnyBytesAreReadWithoutHarm) {
  std::mt19937_64 random(4711);
  Bytes bytes(sizeof(Header));
  for (int i = 0; i < 200'000; ++i) {
    for (auto& b : bytes) b = std::byte(random());
    bytes[0] = std::byte("PGDAEB"[random() % 6]);
    if (i % 2 == 0) std::memset(bytes.data() + 1, 0, 7);
    if (auto h = parse_header(bytes)) {
      EXPECT_LE(h->length, kPiece);
    }
  }
}

template <class T, class Parse>
void every_change_is_refused(const T& good, Parse parses_it) {
  ASSERT_TRUE(parses_it(bytes_of(good)));
  Bytes bytes(bytes_of(good).begin(), bytes_of(good).end());
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(parses_it(ByteView(bytes).first(n))) << n;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte(1 << (bit % 8));
    EXPECT_FALSE(parses_it(bytes)) << "bit " << bit;
    bytes[bit / 8] ^= std::byte(1 << (bit % 8));
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(parses_it(bytes));
}

TEST(TcpFrame, TicketsAndKeysAreTakenWholeOrNot) {
  Side side(1);
  every_change_is_refused(ticket_of(*side.end), [](ByteView v) { return parse_ticket(v).ok(); });
  Bytes memory(64);
  auto region = side.domain->expose({memory.data(), memory.size()}, Access::read).value();
  Key key;
  std::memcpy(&key, region->key().data(), sizeof key);
  every_change_is_refused(key, [](ByteView v) { return parse_key(v).ok(); });
}

// Who can compute a sum still cannot make a ticket of nonsense.
TEST(TcpFrame, SummedNonsenseIsRefused) {
  Side side(1);
  const Ticket good = ticket_of(*side.end);
  auto refused = [&](auto change) {
    Ticket bad = good;
    change(bad);
    bad.sum = sum_of(bad);
    return !parse_ticket(bytes_of(bad)).ok();
  };
  EXPECT_FALSE(refused([](Ticket&) {}));
  EXPECT_TRUE(refused([](Ticket& t) { t.address_count = 0; }));
  EXPECT_TRUE(refused([](Ticket& t) { t.address_count = 5; }));
  EXPECT_TRUE(refused([](Ticket& t) { t.address_count = 255; }));
  EXPECT_TRUE(refused([](Ticket& t) { t.counters = kCounters + 1; }));
  EXPECT_TRUE(refused([](Ticket& t) { t.addresses[0].family = 5; }));
  EXPECT_TRUE(refused([](Ticket& t) { t.addresses[0].port = 0; }));
  EXPECT_TRUE(refused([](Ticket& t) { t.addresses[0].scope = 1; }));
  EXPECT_TRUE(refused([](Ticket& t) { t.addresses[0].bytes = {}; }));
  EXPECT_TRUE(refused([](Ticket& t) { t.addresses[3].port = 1; }));
  Ticket newer = good;
  newer.version = kVersion + 1;
  newer.sum = sum_of(newer);
  EXPECT_EQ(parse_ticket(bytes_of(newer)).status().code(), Code::version);
}

TEST(TcpFrame, HellosAreCheckedFieldByField) {
  Hello good;
  good.kind = uint8_t(HelloKind::hello);
  std::strcpy(good.host.data(), "node7");
  auto parses_it = [&](auto change) {
    Hello h = good;
    change(h);
    return parse_hello(bytes_of(h)).has_value();
  };
  EXPECT_TRUE(parses_it([](Hello&) {}));
  EXPECT_FALSE(parses_it([](Hello& h) { h.magic ^= 1; }));
  EXPECT_FALSE(parses_it([](Hello& h) { h.version = 2; }));
  EXPECT_FALSE(parses_it([](Hello& h) { h.kind = 0; }));
  EXPECT_FALSE(parses_it([](Hello& h) { h.kind = 4; }));
  EXPECT_FALSE(parses_it([](Hello& h) { h.lane = kLanes; }));
  EXPECT_FALSE(parses_it([](Hello& h) { h.zero = 1; }));
  EXPECT_FALSE(parses_it([](Hello& h) { h.host[1] = '\n'; }));
  EXPECT_FALSE(parses_it([](Hello& h) { h.host.fill('x'); }));
}

}  // namespace
}  // namespace plait::transport::tcp::test
