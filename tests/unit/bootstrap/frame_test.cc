// Frames: whole, in pieces, changed, and random.
#include "bootstrap/frame.h"

#include <gtest/gtest.h>

#include <random>

#include "bootstrap/messages.h"
#include "rig.h"

namespace plait::bootstrap::test {
namespace {

Key key_of(uint8_t value) {
  Key key;
  key.bytes.fill(std::byte(value));
  return key;
}

uint32_t fresh_seed() {
  const uint32_t seed = std::random_device{}();
  printf("seed %u\n", seed);
  return seed;
}

Bytes random_message(std::mt19937& random, size_t most) {
  Bytes bytes(random() % (most + 1));
  for (std::byte& b : bytes) b = std::byte(random());
  return bytes;
}

TEST(Frame, ComesOutAsItWentInHoweverItIsCut) {
  std::mt19937 random(fresh_seed());
  Sealer sealer(key_of(1));
  Opener opener(key_of(1));
  std::vector<Bytes> sent, got;
  Bytes wire;
  for (int i = 0; i < 200; i++)
    sealer.seal(sent.emplace_back(random_message(random, i % 10 == 0 ? 100'000 : 300)), wire);
  for (size_t at = 0; at < wire.size();) {
    const size_t n = std::min<size_t>(wire.size() - at, random() % 5000 + 1);
    opener.feed(ByteView(wire).subspan(at, n));
    at += n;
    while (auto message = opener.next()) got.push_back(std::move(*message));
  }
  EXPECT_TRUE(opener.ok());
  EXPECT_EQ(got, sent);
  EXPECT_EQ(opener.held(), 0u);
}

TEST(Frame, AnyBitThatChangesIsFound) {
  Bytes wire;
  Sealer(key_of(1)).seal(bytes_of_text("hello"), wire);
  for (size_t bit = 0; bit < wire.size() * 8; bit++) {
    Bytes changed = wire;
    changed[bit / 8] ^= std::byte(1 << (bit % 8));
    Opener opener(key_of(1));
    opener.limit(100);
    opener.feed(changed);
    EXPECT_FALSE(opener.next().has_value()) << "bit " << bit;
  }
}

TEST(Frame, CannotBeRepeatedReorderedDroppedOrSentBack) {
  Bytes first, second;
  Sealer sealer(key_of(1));
  sealer.seal(bytes_of_text("first"), first);
  sealer.seal(bytes_of_text("second"), second);
  auto fails = [&](std::initializer_list<const Bytes*> frames, uint8_t key) {
    Opener opener(key_of(key));
    size_t taken = 0;
    for (const Bytes* frame : frames) {
      opener.feed(*frame);
      taken += opener.next().has_value();
    }
    return taken < frames.size() && !opener.ok();
  };
  EXPECT_FALSE(fails({&first, &second}, 1));
  EXPECT_TRUE(fails({&first, &first}, 1));
  EXPECT_TRUE(fails({&second, &first}, 1));
  EXPECT_TRUE(fails({&second}, 1));
  EXPECT_TRUE(fails({&first}, 2));  // the key of the other direction
}

TEST(Frame, ALengthIsNoReasonToAllocate) {
  Opener opener(key_of(1));
  Bytes wire;
  append(wire, uint32_t(kMostFrame));
  opener.feed(wire);
  EXPECT_FALSE(opener.next().has_value());
  EXPECT_TRUE(opener.ok());  // it may still come
  EXPECT_EQ(opener.held(), 4u);
  Opener strict(key_of(1));
  strict.limit(10);
  wire.clear();
  append(wire, uint32_t(11));
  strict.feed(wire);
  EXPECT_FALSE(strict.next().has_value());
  EXPECT_FALSE(strict.ok());
}

TEST(Frame, RandomBytesNeverBecomeAMessage) {
  std::mt19937 random(fresh_seed());
  for (int i = 0; i < 2000; i++) {
    Opener opener(key_of(1));
    opener.limit(200);
    opener.feed(random_message(random, 400));
    EXPECT_FALSE(opener.next().has_value());
  }
}

// Every decoder meets random bytes, whole messages cut anywhere, and messages with a random change.
TEST(Messages, DecodersSurviveAnything) {
  std::mt19937 random(fresh_seed());
  Hello hello;
  hello.contact = {
      "host", 7, {parse_ip("10.0.0.1")->with_port(5), parse_ip("fd00::1")->with_port(6)}, "door"};
  Bundle bundle;
  const Bytes item = bytes_of_text("contribution");
  bundle.items = {{0, item}, {2, item}};
  const std::vector<Bytes> good = {encode(hello), encode(Redirect{3, hello.contact}),
                                   encode(Refusal{true, 9, {Code::timeout, "late"}}),
                                   encode(Notice{1, 2, 3, -4, 5, "text"}), encode(Kind::up, bundle)};
  for (int i = 0; i < 50'000; i++) {
    Bytes bytes = random() % 4 == 0 ? random_message(random, 200) : good[random() % good.size()];
    if (random() % 2 == 0 && !bytes.empty()) bytes[random() % bytes.size()] = std::byte(random());
    if (random() % 2 == 0) bytes.resize(random() % (bytes.size() + 1));
    ByteView view = bytes;
    take_kind(view);
    Redirect redirect;
    Refusal refusal;
    Notice notice;
    Bundle b;
    decode(view, hello);
    decode(view, redirect);
    decode(view, refusal);
    decode(view, notice);
    if (decode(view, 4, b)) {
      for (const auto& it : b.items) EXPECT_TRUE(it.rank >= 0 && it.rank < 4);
    }
  }
}

TEST(Messages, RoundTrip) {
  Hello hello{8, 77, 3, {"host\n", 7, {parse_ip("fd00::1")->with_port(6)}, ""}}, back;
  Bytes bytes = encode(hello);
  ByteView view = bytes;
  EXPECT_EQ(take_kind(view), Kind::hello);
  ASSERT_TRUE(decode(view, back));
  EXPECT_EQ(back.size, 8);
  EXPECT_EQ(back.instance, 77u);
  EXPECT_EQ(back.meeting, 3u);
  EXPECT_EQ(back.contact.host, "host?");  // nothing that a terminal would obey
  EXPECT_EQ(back.contact.addresses, hello.contact.addresses);
  Refusal refusal{true, 4, {Code::mismatch, "why"}}, other;
  bytes = encode(refusal);
  view = bytes;
  EXPECT_EQ(take_kind(view), Kind::refuse);
  ASSERT_TRUE(decode(view, other));
  EXPECT_TRUE(other.later);
  EXPECT_EQ(other.status.code(), Code::mismatch);
  EXPECT_EQ(other.status.text(), "why");
}

}  // namespace
}  // namespace plait::bootstrap::test
