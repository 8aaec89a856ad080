// Pieces of a region that land elsewhere: as long as their owner wants, and nowhere else.
#include "transport/landings.h"

#include <random>

#include "rig.h"

namespace plait::transport::tcp::test {
namespace {

constexpr size_t kHead = 4096, kTail = 100;  // of the region, before and behind the pieces

// A region of b's that a puts into, and other memory of b's.
struct Steered {
  Pair pair;
  size_t piece;
  uint32_t pieces;  // of all rings
  bool connected = pair.connect();
  Window window;
  Bytes elsewhere, source;
  Landings landings;
  uint64_t puts = 0;

  Steered(size_t piece_bytes, uint32_t count, uint32_t rings)
      : piece(piece_bytes),
        pieces(count * rings),
        window(pair.b, pair.a, kHead + piece * pieces + kTail),
        elsewhere(piece * pieces),
        source(window.bytes.size()),
        landings(window.bytes.data(), kHead, piece, count, rings) {
    fill(source, 1);
    EXPECT_TRUE(window.region->steer(landings));
  }
  void post(size_t offset, size_t bytes) {
    const Transfer put = make_put(source.data() + offset, bytes, *window.remote, offset, {1, 1}, When::never);
    ASSERT_EQ(pair.a.end->post({&put, 1}), 1U);
    ++puts;
  }
  void put(size_t offset, size_t bytes) {
    post(offset, bytes);
    ASSERT_TRUE(pair.until([&] { return pair.b.end->counter(1) == puts; })) << pair.b.end->error();
  }
  std::byte* at(uint32_t i) { return elsewhere.data() + i * piece; }
  const std::byte* home(uint32_t i) { return window.bytes.data() + kHead + i * piece; }
  bool holds(const std::byte* there, uint32_t i) {
    return std::memcmp(there, source.data() + kHead + i * piece, piece) == 0;
  }
};

bool is_zero(const std::byte* data, size_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte(0); });
}

TEST(TcpLandings, PiecesLandWhereTheirOwnerWants) {
  Steered s(16384, 5, 2);
  ASSERT_TRUE(s.connected);
  // Two side by side; and over the end of the other ring.
  s.landings.divert(0, 1, 2, s.at(4));
  s.landings.divert(1, 3, 4, s.at(0));
  s.landings.divert(0, 4, 1, s.at(9));  // nothing, as the first ones are not settled
  s.put(0, s.source.size());
  EXPECT_EQ(std::memcmp(s.window.bytes.data(), s.source.data(), kHead), 0);
  EXPECT_EQ(std::memcmp(s.window.bytes.data() + s.source.size() - kTail,
                        s.source.data() + s.source.size() - kTail, kTail),
            0);
  const std::byte* places[] = {s.home(0), s.at(4), s.at(5),   s.home(3), s.home(4),
                               s.at(2),   s.at(3), s.home(7), s.at(0),   s.at(1)};
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(s.landings.at(i / 5, i % 5), places[i]) << i;
    EXPECT_TRUE(s.holds(places[i], i)) << i;
    EXPECT_TRUE(places[i] == s.home(i) || is_zero(s.home(i), s.piece)) << i;
  }
  s.landings.settle(0, 1);
  s.put(kHead + s.piece, 2 * s.piece);
  EXPECT_TRUE(s.holds(s.home(1), 1));
  EXPECT_TRUE(is_zero(s.home(2), s.piece));
}

TEST(TcpLandings, WhatHasBegunStays) {
  Steered s(16384, 4, 1);
  ASSERT_TRUE(s.connected);
  s.put(kHead + s.piece, 100);
  s.landings.divert(0, 1, 2, s.at(1));
  s.put(kHead + s.piece + 100, 2 * s.piece - 100);
  EXPECT_TRUE(s.holds(s.home(1), 1));
  EXPECT_TRUE(s.holds(s.at(2), 2));
  EXPECT_TRUE(is_zero(s.at(1), s.piece) && is_zero(s.home(2), s.piece));
}

// What a failed operation wanted is the user's again, whatever is under way.
TEST(TcpLandings, AreRecalledWhileBytesCome) {
  Steered s(size_t{8} << 20, 1, 1);
  ASSERT_TRUE(s.connected);
  s.landings.divert(0, 0, 1, s.at(0));
  s.post(kHead, s.piece);
  ASSERT_TRUE(s.pair.until([&] { return s.elsewhere.front() == s.source[kHead]; }));
  s.landings.recall();
  const Bytes before = s.elsewhere;
  ASSERT_FALSE(s.holds(before.data(), 0)) << "all of it had come";
  ASSERT_TRUE(s.pair.until([&] { return s.pair.b.end->counter(1) == s.puts; }));
  EXPECT_EQ(s.elsewhere, before);
  size_t same = 0;
  while (s.elsewhere[same] == s.source[kHead + same]) ++same;
  EXPECT_EQ(std::memcmp(s.home(0) + same, s.source.data() + kHead + same, s.piece - same), 0);
}

// Puts of any place and size, and pieces that are diverted and settled in between.
TEST(TcpLandings, AtRandom) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr uint32_t kPieces = 13, kRings = 3;
  Steered s(1000, kPieces, kRings);
  ASSERT_TRUE(s.connected);
  const size_t bytes = s.source.size();
  // The model: by piece, where it is to land and whether it has begun; by ring, the next one to be settled.
  Bytes window(bytes), elsewhere(s.elsewhere.size());
  std::vector<int> to(s.pieces, -1);
  std::vector<bool> begun(s.pieces, false);
  uint32_t next[kRings] = {};
  for (int turn = 0; turn < 400; ++turn) {
    for (uint32_t ring = 0; ring < kRings; ++ring) {
      const auto piece = [&](uint32_t k) { return ring * kPieces + k % kPieces; };
      for (uint64_t n = random() % 4; n != 0; --n, ++next[ring]) {
        s.landings.settle(ring, next[ring] % kPieces);
        to[piece(next[ring])] = -1, begun[piece(next[ring])] = false;
      }
      if (random() % 3 != 0) continue;
      const auto count = uint32_t(1 + random() % kPieces),
                 place = uint32_t(random() % (s.pieces - count + 1));
      s.landings.divert(ring, next[ring] % kPieces, count, s.at(place));
      const auto in_ring = to.begin() + ring * kPieces;
      if (std::any_of(in_ring, in_ring + kPieces, [](int t) { return t >= 0; })) continue;
      uint32_t k = 0;
      while (k < count && begun[piece(next[ring] + k)]) ++k;
      for (; k < count && !begun[piece(next[ring] + k)]; ++k) to[piece(next[ring] + k)] = int(place + k);
    }
    if (random() % 20 == 0) {
      s.landings.recall();
      to.assign(s.pieces, -1);
    }
    fill(s.source, uint32_t(random()));
    const size_t from = random() % bytes, count = 1 + random() % (bytes - from) / (1 + random() % 8);
    s.put(from, count);
    for (size_t at = from; at < from + count; ++at) {
      const bool in_piece = at >= kHead && at < kHead + s.piece * s.pieces;
      const size_t piece = in_piece ? (at - kHead) / s.piece : 0;
      if (in_piece) begun[piece] = true;
      if (in_piece && to[piece] >= 0)
        elsewhere[size_t(to[piece]) * s.piece + (at - kHead) % s.piece] = s.source[at];
      else
        window[at] = s.source[at];
    }
    ASSERT_EQ(s.window.bytes, window) << turn;
    ASSERT_EQ(s.elsewhere, elsewhere) << turn;
  }
}

}  // namespace
}  // namespace plait::transport::tcp::test
