// What comes from outside as bytes is checked before it is used.
#include "transport/icl/wire.h"

#include <gtest/gtest.h>

#include <cstring>

#include "drivers/icl/icl_driver.h"
#include "transport/icl/icl.h"

namespace plait::transport::icl {
namespace {

Ticket some_ticket(uint16_t counters, uint32_t words_chip = 3) {
  Ticket t;
  const icl_ticket_fields queue = {3, 7, 1, 99};
  icl_ticket_write(&queue, t.queue.data());
  t.counters = counters;
  const icl_key_fields words = {words_chip, 5, ICL_SIGNAL, counters * sizeof(uint64_t), 77};
  if (counters > 0) icl_key_write(&words, t.words.data());
  t.sum = sum_of(t);
  return t;
}

Key some_key(Access access, uint32_t rights, uint64_t bytes) {
  Key k;
  k.access = uint8_t(access);
  const icl_key_fields memory = {3, 5, rights, bytes, 77};
  icl_key_write(&memory, k.memory.data());
  k.sum = sum_of(k);
  return k;
}

template <class T, class Parse>
void expect_damage_is_seen(const T& good, Parse parse) {
  ASSERT_TRUE(parse(bytes_of(good)).ok()) << parse(bytes_of(good)).status().text();
  Bytes bytes(bytes_of(good).begin(), bytes_of(good).end());
  for (size_t i = 0; i < bytes.size(); i++) {
    bytes[i] ^= std::byte{16};
    EXPECT_FALSE(parse(bytes).ok()) << "byte " << i;
    bytes[i] ^= std::byte{16};
    EXPECT_FALSE(parse(ByteView(bytes).first(i)).ok()) << i << " bytes";
  }
  T other = good;
  other.version++;
  other.sum = sum_of(other);
  EXPECT_EQ(parse(bytes_of(other)).status().code(), Code::version);
}

TEST(IclWire, DamagedTicketsAndKeys) {
  expect_damage_is_seen(some_ticket(4), parse_ticket);
  expect_damage_is_seen(some_ticket(0), parse_ticket);
  expect_damage_is_seen(some_key(Access::both, ICL_READ | ICL_WRITE, 4096), parse_key);
}

TEST(IclWire, TicketsThatMakeNoSense) {
  EXPECT_EQ(chip_of(*parse_ticket(bytes_of(some_ticket(4)))), 3U);
  EXPECT_FALSE(parse_ticket(bytes_of(some_ticket(4, 2))).ok()) << "counters on another chip";
  EXPECT_FALSE(parse_ticket(bytes_of(some_ticket(kCounters + 1))).ok()) << "too many counters";
  Ticket lies = some_ticket(4);
  lies.counters = 5;
  lies.sum = sum_of(lies);
  EXPECT_FALSE(parse_ticket(bytes_of(lies)).ok()) << "more counters than the key covers";
}

TEST(IclWire, KeysThatMakeNoSense) {
  EXPECT_EQ(bytes_of_memory(*parse_key(bytes_of(some_key(Access::read, ICL_READ, 64)))), 64U);
  EXPECT_FALSE(parse_key(bytes_of(some_key(Access::read, ICL_READ, 0))).ok()) << "of no memory";
  EXPECT_FALSE(parse_key(bytes_of(some_key(Access::both, ICL_READ, 64))).ok()) << "claims more than it has";
  EXPECT_FALSE(parse_key(bytes_of(some_key(Access(4), ICL_READ, 64))).ok());
}

TEST(IclWire, WhatPlaitNetworkSays) {
  EXPECT_EQ(parse_detail("emu:/dev/shm/pod#12")->chip, 12);
  EXPECT_EQ(parse_detail("emu:/dev/shm/pod")->chip, -1);
  for (const char* wrong : {"", "#1", "emu:/p#", "emu:/p#-1", "emu:/p#1024", "emu:/p#1x"})
    EXPECT_EQ(parse_detail(wrong).status().code(), Code::invalid) << wrong;
}

}  // namespace
}  // namespace plait::transport::icl
