// Points 7, 13 and 14 of an NCCL net plugin's contract: registration meanwhile, peers that die, links that
// close with requests outstanding; and peers that break the rules.
#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "conformance/messages_fixture.h"
#include "transport/hooks/fault.h"

namespace plait::transport::conformance {
namespace {

// Who has nothing more to wait for moves its links no more, and its messages arrive.
TEST_P(Messages, SendsThatAreDoneHaveLeft) {
  Pair& p = pair();
  constexpr size_t kMessages = 8;
  for (const size_t bytes : {size_t{8}, size_t{300}, size_t{5000}, kLong}) {
    std::vector<MessageRequest*> sends, receives;
    std::vector<Buffer*> in;
    Buffer& out = source(0, bytes, uint8_t(bytes));
    for (size_t i = 0; i < kMessages; ++i) {
      in.push_back(&target(1, bytes));
      receives.push_back(p.b.link->receive(1, slice(*in.back())));
      sends.push_back(p.a.link->send(1, slice(out)));
      ASSERT_TRUE(receives.back() != nullptr && sends.back() != nullptr);
    }
    for (MessageRequest* send : sends) ASSERT_TRUE(finish(send)) << bytes;
    const auto all_done = [&] { return std::ranges::all_of(receives, &MessageRequest::done); };
    for (Deadline deadline = Deadline::in_ms(kPatienceMs); !all_done() && !deadline.passed();) step(1);
    ASSERT_TRUE(all_done()) << bytes;
    for (size_t i = 0; i < kMessages; ++i) {
      EXPECT_TRUE(in[i]->holds(uint8_t(bytes))) << bytes;
      p.a.link->release(sends[i]);
      p.b.link->release(receives[i]);
    }
  }
}

// Who received all moves its links no more, and the sends are done: those too that fill windows and rings.
TEST_P(Messages, ReceivesThatAreDoneWereAcknowledged) {
  Pair& p = pair();
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto random_slice = [&](const Buffer& b, size_t bytes) {
    return random() % 4 == 0 ? LocalSlice{b.data(), bytes, nullptr} : slice(b, bytes);
  };
  const auto links = [&] {
    std::string text;
    for (const Party* party : {&p.a, &p.b}) {
      if (const Status& status = party->link->status(); !status.ok())
        text += "\n" + std::string(status.text());
    }
    return text;
  };
  const auto move = [&](const std::vector<size_t>& sizes) {
    std::vector<MessageRequest*> sends, receives;
    for (size_t i = 0; i < sizes.size(); ++i) {
      Buffer &out = source(0, sizes[i] + 1, uint8_t(i)), &in = target(1, sizes[i] + 1);
      receives.push_back(p.b.link->receive(7, random_slice(in, sizes[i])));
      sends.push_back(p.a.link->send(7, random_slice(out, sizes[i])));
      ASSERT_TRUE(receives.back() != nullptr && sends.back() != nullptr) << links();
      if (random() % 2 == 0) step(int(random() % 2));
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_TRUE(finish(receives[i])) << "message " << i << " of " << sizes.size() << ", of " << sizes[i]
                                       << " bytes, " << (sends[i]->done() ? "" : "not ") << "sent" << links();
    }
    const auto all_done = [&] { return std::ranges::all_of(sends, &MessageRequest::done); };
    for (Deadline deadline = Deadline::in_ms(kPatienceMs); !all_done() && !deadline.passed();) step(0);
    ASSERT_TRUE(all_done()) << sizes.size() << " messages, the last of " << sizes.back() << " bytes";
    for (MessageRequest* send : sends) p.a.link->release(send);
    for (MessageRequest* receive : receives) p.b.link->release(receive);
  };
  for (const size_t bytes :
       {size_t{0}, size_t{8}, size_t{300}, size_t{8192}, size_t{30'000}, kLong, size_t{1} << 20})
    move({bytes});
  for (const size_t count : {3u, 4u, 5u, 8u, 9u, 26u, 31u, 32u, 33u, 200u})
    move(std::vector<size_t>(count, 8));
  for (const size_t count : {4u, 13u, 26u, 32u, 33u}) move(std::vector<size_t>(count, kLong));
  for (int round = 0; round < 20 && !HasFatalFailure(); ++round) {
    std::vector<size_t> sizes(1 + random() % 40);
    for (size_t& bytes : sizes) bytes = random() % ((size_t{1} << (random() % 21)) + 1);
    move(sizes);
  }
}

// Each rank has a thread of its own; further threads register memory all the while.
TEST_P(Messages, Point07_RegistrationWhileTransfersRun) {
  Pair& p = pair();
  constexpr int kRounds = 40;
  Buffer* buffers[2][2];
  for (int r = 0; r < 2; ++r) {
    for (auto& b : buffers[r]) b = &target(r, 100'000);
  }
  std::atomic<bool> stop{false};
  std::atomic<int> registered{0}, ended{0};
  Buffer* own[2] = {&target(0, 8192), &target(1, 8192)};
  auto registers = [&](int r) {
    do {
      auto region = world().domain(r).expose(own[r]->memory, Access::write);
      if (region.ok()) registered.fetch_add(1);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    } while (!stop.load());
  };
  auto moves = [&](Party& me) {
    Buffer &out = *buffers[me.rank][0], &in = *buffers[me.rank][1];
    const Deadline deadline = Deadline::in_ms(kPatienceMs);
    for (int i = 0; i < kRounds; ++i) {
      const size_t bytes = i % 2 == 0 ? out.size() : 200;
      out.fill(uint8_t(i + me.rank));
      MessageRequest* requests[] = {me.link->receive(1, slice(in, bytes)),
                                    me.link->send(1, slice(out, bytes))};
      while (!(requests[0]->done() && requests[1]->done()) && !deadline.passed()) {
        step(me.rank);
        std::this_thread::yield();
      }
      if (deadline.passed() || !in.holds(uint8_t(i + 1 - me.rank), 0, bytes)) {
        ended.fetch_add(1);
        return i;
      }
      for (auto* r : requests) me.link->release(r);
    }
    // The other may still need this rank to be polled.
    for (ended.fetch_add(1); ended.load() != 2 && !deadline.passed(); std::this_thread::yield())
      step(me.rank);
    return kRounds;
  };
  int done[2] = {};
  std::thread registering[2] = {std::thread(registers, 0), std::thread(registers, 1)};
  std::thread moving[2] = {std::thread([&] { done[0] = moves(p.a); }),
                           std::thread([&] { done[1] = moves(p.b); })};
  for (auto& t : moving) t.join();
  stop.store(true);
  for (auto& t : registering) t.join();
  EXPECT_EQ(done[0], kRounds);
  EXPECT_EQ(done[1], kRounds);
  EXPECT_GT(registered.load(), 0);
}

// Sends and receives of every kind; the later ones are what fails, the earlier ones show it.
TEST_P(Messages, Point13_DeathEndsEveryRequestAndNamesThePeer) {
  if (!caps().detects_death) GTEST_SKIP() << "this back end does not detect death: the runtime does";
  Pair& p = pair();
  std::vector<MessageRequest*> all;
  for (uint32_t i = 0; i < 5; ++i) {
    all.push_back(p.a.link->receive(i, slice(target(0, kLong))));
    all.push_back(p.a.link->send(i, slice(source(0, kLong, 1))));
  }
  for (int i = 0; i < 10; ++i) step_all();
  kill_rank(1);
  for (MessageRequest* r : all) {
    ASSERT_TRUE(finish(r));
    EXPECT_EQ(r->status().code(), Code::peer);
    EXPECT_NE(r->status().text().find("rank 1"), std::string_view::npos) << r->status().text();
    p.a.link->release(r);
  }
  EXPECT_EQ(p.a.link->send(1, {}), nullptr);
  EXPECT_EQ(p.a.link->receive(1, {}), nullptr);
  EXPECT_EQ(p.a.link->status().code(), Code::peer);
}

// Whatever goes wrong on the wire, and at whichever transfer: every request ends, with the right bytes or
// with an error, and a message that is only late arrives.
TEST_P(Messages, Point13_FaultsOnTheWireEndRequestsOrNothing) {
  if (dynamic_cast<hooks::FaultDomain*>(&world().domain(0)) == nullptr)
    GTEST_SKIP() << "no faults in this back end";
  for (hooks::Fault fault :
       {hooks::Fault::fail, hooks::Fault::kill, hooks::Fault::lose_ack, hooks::Fault::delay}) {
    for (uint64_t nth = 1; nth <= 12; ++nth) {
      SCOPED_TRACE("fault " + std::to_string(int(fault)) + " at transfer " + std::to_string(nth));
      auto& domain = static_cast<hooks::FaultDomain&>(world().domain(0));
      Pair& p = pair(0, 1, nth % 2 == 0);
      domain.clear();
      domain.add({.fault = fault, .nth = nth});
      std::vector<MessageRequest*> all;
      std::vector<Buffer*> to;
      for (uint32_t i = 0; i < 6; ++i) {
        const size_t bytes = i % 3 == 0 ? 20 : i % 3 == 1 ? 5000 : 600'000;
        to.push_back(&target(1, bytes));
        all.push_back(p.b.link->receive(i, i == 5 ? plain(*to.back()) : slice(*to.back())));
        all.push_back(p.a.link->receive(i, slice(target(0, bytes))));
        for (int k = 0; k < 3; ++k) step_all();
        all.push_back(p.a.link->send(i, slice(source(0, bytes, uint8_t(i)))));
        all.push_back(p.b.link->send(i, slice(source(1, bytes, uint8_t(i)))));
      }
      // Null: the link had ended by then.
      std::erase(all, nullptr);
      for (MessageRequest* r : all) ASSERT_TRUE(finish(r));
      if (fault == hooks::Fault::delay) {
        EXPECT_EQ(all.size(), 24u);
        for (MessageRequest* r : all) EXPECT_TRUE(r->status().ok()) << r->status().text();
        for (size_t i = 0; i < to.size(); ++i) EXPECT_TRUE(to[i]->holds(uint8_t(i))) << i;
      }
      domain.clear();
      p.a.link->close();
      p.b.link->close();
    }
  }
}

// Where the fabric cannot tell, whoever watches the peer says so.
TEST_P(Messages, Point13_WhoWatchesThePeerEndsTheLink) {
  Pair& p = pair();
  MessageRequest* receive = p.a.link->receive(1, slice(target(0, kLong)));
  MessageRequest* send = p.a.link->send(1, slice(source(0, kLong, 1)));
  p.a.link->fail({Code::peer, "rank 1 is silent"});
  for (MessageRequest* r : {receive, send}) {
    EXPECT_TRUE(r->done());
    EXPECT_EQ(r->status().text(), "rank 1 is silent");
  }
}

// At once, with messages under way in both directions: after it no buffer is written, nor is one read.
TEST_P(Messages, Point14_CloseWithRequestsOutstanding) {
  for (int steps : {0, 1, 2, 5, 20}) {
    Pair& p = pair();
    std::vector<MessageRequest*> all;
    std::vector<Buffer*> to;
    for (uint32_t i = 0; i < 4; ++i) {
      to.push_back(&target(0, 600'000));
      all.push_back(p.a.link->receive(i, i % 2 == 0 ? slice(*to.back()) : plain(*to.back())));
      all.push_back(p.a.link->send(i, slice(source(0, 600'000, 1))));
      ASSERT_NE(p.b.link->receive(i, slice(target(1, 600'000))), nullptr);
      ASSERT_NE(p.b.link->send(i, slice(source(1, 600'000, 2))), nullptr);
    }
    for (int i = 0; i < steps; ++i) step_all();
    p.a.link->close();
    for (MessageRequest* r : all) {
      ASSERT_TRUE(r->done());
      EXPECT_TRUE(r->status().ok() || r->status().code() == Code::aborted);
      p.a.link->release(r);
    }
    for (Buffer* b : to) std::fill_n(b->data(), b->size(), std::byte{0x77});
    for (int i = 0; i < 60; ++i) step_all();
    for (Buffer* b : to) EXPECT_TRUE(b->all(std::byte{0x77})) << "after " << steps << " steps";
    EXPECT_EQ(p.a.link->send(1, {}), nullptr);
  }
}

// A line that no link would write ends the link with a sentence about who wrote it; nothing else is harmed.
TEST_P(Messages, LinesThatBreakTheRulesEndTheLink) {
  struct Case {
    const char* what;
    MessageLine line;
  };
  auto line = [](LineKind kind, auto change) {
    MessageLine made;
    made.kind = uint8_t(kind);
    made.turn = message_turn(0);
    change(made);
    return made;
  };
  const Case cases[] = {
      {"no known kind", line(LineKind(99), [](auto&) {})},
      {"short message that is long",
       line(LineKind::eager, [](auto& l) { l.fields.bytes = kFarEagerBytes + 1; })},
      {"slot that is not there",
       line(LineKind::direct, [](auto& l) { l.fields.bytes = l.fields.pieces = 1; })},
      {"waits for none", line(LineKind::start, [](auto&) {})},
      {"send that did not ask", line(LineKind::grant, [](auto&) {})},
      {"messages that were not sent", line(LineKind::post, [](auto& l) { l.fields.seen = 5; })},
      {"credit for what was not sent", line(LineKind::credit, [](auto& l) { l.lines = 1; })},
      {"credit for what was not sent", line(LineKind::credit, [](auto& l) { l.fields.units = 1; })},
      {"beyond the last one", line(LineKind::region, [](auto& l) { l.id = kMessageRegions; })},
      {"region without a key", line(LineKind::region, [](auto&) {})},
      {"key beyond its end", line(LineKind::key, [](auto& l) { l.flags = kMessageKeyLines; })},
      {"shared message of pieces", line(LineKind::direct,
                                        [](auto& l) {
                                          l.flags = kShared;
                                          l.fields.bytes = l.fields.pieces = 1;
                                        })},
      {"wrong parts", line(LineKind::direct,
                           [](auto& l) {
                             l.flags = kStreamed;
                             l.fields.bytes = kStreamPartBytes + 1;
                             l.fields.pieces = 3;
                           })},
      {"wrong parts", line(LineKind::direct,
                           [](auto& l) {
                             l.flags = kStreamed;
                             l.fields.bytes = 1;
                             l.fields.pieces = 2;
                           })},
      {"key of no region", line(LineKind::key, [](auto& l) { l.flags = 1; })},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Pair& p = pair();
    MessageRequest* waits = p.a.link->receive(1, slice(target(0, 100)));
    std::memcpy(p.b.shadow->data(), &c.line, sizeof c.line);
    Transfer t =
        put(p.b.shadow->local(0, sizeof c.line), p.b.remote->slice(0, sizeof c.line).value(), {2, 1});
    ASSERT_TRUE(run([&] { return p.b.side->end->post({&t, 1}) == 1; }));
    ASSERT_TRUE(finish(waits));
    EXPECT_EQ(p.a.link->status().code(), Code::internal);
    EXPECT_NE(waits->status().text().find(c.what), std::string_view::npos) << waits->status().text();
    EXPECT_NE(waits->status().text().find("rank 1"), std::string_view::npos) << waits->status().text();
  }
}

}  // namespace
}  // namespace plait::transport::conformance
