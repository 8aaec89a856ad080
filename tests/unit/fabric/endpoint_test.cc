// Endpoints, messages, writes that signal and sleep, over the tcp provider on the loopback.
#include "fabric/endpoint.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <cstring>

#include "base/clock.h"
#include "fabric/message_slots.h"
#include "fabric/signalled_writes.h"
#include "fabric/wait_set.h"

namespace plait::fabric {
namespace {

std::shared_ptr<Device> loopback(std::string provider = "tcp") {
  Request request;
  if (provider == "tcp") request.address = "127.0.0.1";
  request.provider = std::move(provider);
  auto choice = choose(request);
  EXPECT_TRUE(choice.ok()) << choice.status().text();
  if (!choice.ok()) return nullptr;
  auto device = Device::open(std::move(*choice));
  EXPECT_TRUE(device.ok()) << device.status().text();
  return device.ok() ? *device : nullptr;
}

struct End {
  std::shared_ptr<Device> device = loopback();
  MessageSlots slots;
  SignalledWrites writes;
  Endpoint endpoint;
  std::vector<uint32_t> words;
  int done = 0;

  End() {
    EXPECT_TRUE(endpoint.open(*device).ok());
    EXPECT_TRUE(slots.open(*device, endpoint, 4096).ok());
    EXPECT_TRUE(writes.open(*device, endpoint, 16).ok());
  }
  void meet(const End& peer) {
    EXPECT_TRUE(endpoint.meet(peer.endpoint.address()).ok());
    writes.meet(peer.writes.bells().ring().base(), peer.writes.bells().ring().key());
  }
  void read() {
    fi_cq_data_entry e;
    if (fi_cq_read(endpoint.queue(), &e, 1) == 1) {
      auto* context = static_cast<Context*>(e.op_context);
      if ((e.flags & FI_REMOTE_CQ_DATA) != 0) {
        words.push_back(uint32_t(e.data));
      } else if (context->step == Step::written) {
        done += writes.completed(*context) == this ? 1 : 0;
      } else {
        slots.completed(*context, e.len);
      }
    }
    for (Bells& bells = writes.bells(); writes.rings() && bells.front();) {
      words.push_back(*bells.front());
      EXPECT_TRUE(bells.hear());
    }
  }
  bool send(std::string_view text) {
    if (slots.room() == nullptr) return false;
    std::memcpy(slots.room(), text.data(), text.size());
    return slots.send(text.size()) == 0;
  }
};

struct Two {
  std::array<End, 2> ends;
  Two() {
    ends[0].meet(ends[1]);
    ends[1].meet(ends[0]);
  }
  template <class Holds>
  bool until(Holds holds) {
    const Deadline deadline = Deadline::in_ms(20'000);
    while (!holds()) {
      if (deadline.passed()) return false;
      for (End& end : ends) end.read();
    }
    return true;
  }
};

std::string text_of(const MessageSlot& slot) {
  return std::string(reinterpret_cast<const char*>(slot.data), slot.bytes);
}

TEST(FabricEndpoint, MessagesComeInOrder) {
  Two two;
  const std::string longer(3000, 'x');
  int sent = 0, came = 0;
  EXPECT_TRUE(two.until([&] {
    while (sent < 100 && two.ends[0].send(sent % 2 == 0 ? std::to_string(sent) : longer)) ++sent;
    for (MessageSlots& in = two.ends[1].slots; in.front() != nullptr; ++came) {
      EXPECT_EQ(text_of(*in.front()), came % 2 == 0 ? std::to_string(came) : longer);
      EXPECT_EQ(in.take(), 0);
    }
    return came == 100;
  })) << sent
      << " sent, " << came << " came";
}

TEST(FabricEndpoint, AWriteSignalsWhenItHasLanded) {
  Two two;
  std::vector<std::byte> from(100'000, std::byte{7}), to(100'000);
  const auto source = two.ends[0].device->enroll(from.data(), from.size(), 0).value();
  const auto target = two.ends[1].device->enroll(to.data(), to.size(), FI_REMOTE_WRITE).value();
  SignalledWrites::Write w;
  w.from = from.data();
  w.bytes = from.size();
  w.descriptor = source.descriptor();
  w.to = target.base();
  w.key = target.key();
  w.word = 0x12345678;
  EXPECT_TRUE(two.until([&] { return two.ends[0].writes.write(w) == 0; }));
  two.ends[0].writes.set_user(&two.ends[0]);
  EXPECT_TRUE(two.until([&] { return !two.ends[1].words.empty(); }));
  EXPECT_EQ(to, from);
  EXPECT_EQ(two.ends[1].words.front(), 0x12345678U);
  w.bytes = 0;
  w.word = 5;
  EXPECT_EQ(two.ends[0].writes.write(w), 0);
  EXPECT_TRUE(two.until([&] { return two.ends[1].words.size() == 2 && two.ends[0].done == 1; }));
  EXPECT_EQ(two.ends[1].words.back(), 5U);
}

TEST(FabricEndpoint, AFailureIsASentence) {
  Two two;
  std::array<std::byte, 8> from{};
  SignalledWrites::Write w;
  w.from = from.data();
  w.bytes = from.size();
  w.key = 4711;  // nobody's
  w.delivered = true;
  EXPECT_TRUE(two.until([&] { return two.ends[0].writes.write(w) == 0; }));
  std::optional<Failure> failure;
  EXPECT_TRUE(two.until([&] { return (failure = take_failure(*two.ends[0].endpoint.queue())).has_value(); }));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text.find("a put failed: "), 0U) << failure->text;
  EXPECT_NE(failure->text.find("; "), std::string::npos) << failure->text;
}

TEST(FabricEndpoint, WhatComesWakesASleeper) {
  Two two;
  ASSERT_TRUE(two.ends[1].device->has_fd());
  WaitSet sleep;
  ASSERT_TRUE(sleep.open(*two.ends[1].device).ok());
  sleep.add(*two.ends[1].endpoint.queue());
  const auto readable = [&](int ms) {
    pollfd p{sleep.fd(), POLLIN, 0};
    return ::poll(&p, 1, ms) == 1;
  };
  EXPECT_TRUE(two.until([&] { return two.ends[0].send("connected"); }));
  EXPECT_TRUE(two.until([&] { return two.ends[1].slots.front() != nullptr; }));
  while (!sleep.arm()) two.ends[1].read();
  EXPECT_FALSE(readable(0));
  ASSERT_TRUE(two.ends[0].send("wake up"));
  EXPECT_TRUE(readable(20'000));
  sleep.remove(*two.ends[1].endpoint.queue());
  EXPECT_FALSE(readable(0));
  sleep.wake_in(1000);
  EXPECT_TRUE(readable(20'000));
  sleep.stop_timer();
  EXPECT_FALSE(readable(0));
}

TEST(FabricEndpoint, AClosedNeighbourIsNotSentTo) {
  const auto device = loopback("shm");
  ASSERT_NE(device, nullptr);
  Endpoint a;
  ASSERT_TRUE(a.open(*device).ok());
  Bytes address;
  {
    Endpoint b;
    ASSERT_TRUE(b.open(*device).ok());
    address = b.address();
    EXPECT_TRUE(a.meet(address).ok());
    EXPECT_EQ(a.to_peer([] { return ssize_t{0}; }), 0);
  }
  EXPECT_EQ(a.to_peer([] { return ssize_t{0}; }), -FI_ENOTCONN);
  EXPECT_EQ(a.meet(address).code(), Code::peer);
}

TEST(FabricEndpoint, AForkedChildClosesNothing) {
  Two two;
  const pid_t child = fork();
  if (child == 0) {
    two.ends[0].endpoint.close();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(two.until([&] { return two.ends[0].send("still here"); }));
  EXPECT_TRUE(two.until([&] { return two.ends[1].slots.front() != nullptr; }));
}

}  // namespace
}  // namespace plait::fabric
