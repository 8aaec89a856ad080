#include "conformance/messages_fixture.h"

namespace plait::transport::conformance {

void Messages::TearDown() {
  pairs_.clear();
  Conformance::TearDown();
}

void Messages::make_memory(Party& party, int rank, size_t shared_bytes) {
  party.rank = rank;
  for (auto [where, access] : {std::pair(&party.memory, shared_bytes == 0 ? Access::write : Access::both),
                               std::pair(&party.shadow, Access::none)}) {
    *where = std::make_unique<Buffer>();
    Buffer& b = **where;
    b.rank = rank;
    b.memory = world().allocate(rank, sizeof(MappedMessageMemory) + shared_bytes);
    b.region = world().domain(rank).expose(b.memory, access).value();
  }
}

void Messages::make_link(Party& party, bool mapped) {
  MessageWiring wiring;
  wiring.endpoint = party.side->end.get();
  wiring.capabilities = &world().domain(party.rank).capabilities();
  wiring.remote = party.remote;
  if (mapped) {
    wiring.mapped = reinterpret_cast<MessageFront*>(party.remote->mapped());
    wiring.their_rings = kMappedRings[(pairs_.size() + size_t(party.rank) + 1) % 2];
    wiring.own_rings = party.rings = kMappedRings[(pairs_.size() + size_t(party.rank)) % 2];
  }
  if (party.memory->size() != sizeof(MappedMessageMemory)) wiring.arena = party.memory->region.get();
  wiring.own = reinterpret_cast<MessageFront*>(party.memory->data());
  wiring.shadow = reinterpret_cast<MessageFront*>(party.shadow->data());
  wiring.shadow_region = party.shadow->region.get();
  wiring.first_counter = 2;
  wiring.first_cookie = next_first_cookie_;
  next_first_cookie_ += kMessageCookies;
  party.link = std::make_unique<MessageLink>(wiring, "rank " + std::to_string(party.rank == 0 ? 1 : 0));
}

Pair& Messages::pair(int a, int b, bool mapped, size_t shared_bytes) {
  Pair& made = pairs_.emplace_back();
  Link& joined = link(a, b, 4);
  made.a.side = &joined.a;
  made.b.side = &joined.b;
  make_memory(made.a, a, shared_bytes);
  make_memory(made.b, b, shared_bytes);
  made.a.remote = made.a.side->import(*made.b.memory);
  made.b.remote = made.b.side->import(*made.a.memory);
  make_link(made.a, mapped);
  make_link(made.b, mapped);
  return made;
}

void Messages::hand_on(int r) {
  for (const Done& done : rank(r).dones) {
    for (Pair& p : pairs_) {
      for (Party* party : {&p.a, &p.b}) {
        if (party->rank != r || party->link == nullptr) continue;
        if (done.cookie == party->side->cookie || done.cookie - party->link->first_cookie() < kMessageCookies)
          party->link->done(done);
      }
    }
  }
  rank(r).dones.clear();
}

void Messages::step(int r) {
  rank(r).poll();
  hand_on(r);
  for (Pair& p : pairs_) {
    for (Party* party : {&p.a, &p.b}) {
      if (party->rank == r && party->link != nullptr) party->link->progress();
    }
  }
}

void Messages::step_all() {
  for (int r = 0; r < world().size(); ++r) {
    if (world().alive(r)) step(r);
  }
}

bool Messages::run(const std::function<bool()>& holds) {
  for (Patience patience; !holds();) {
    if (patience.is_over()) return false;
    step_all();
  }
  return true;
}

void Messages::kill_rank(int dead) {
  for (Pair& p : pairs_) {
    for (Party* party : {&p.a, &p.b}) {
      if (party->rank != dead) continue;
      party->link.reset();
      party->memory->region.reset();
      party->shadow->region.reset();
    }
  }
  kill(dead);
}

Buffer& Messages::source(int r, size_t bytes, uint8_t seed) {
  Buffer& made = buffer(r, bytes);
  made.fill(seed);
  return made;
}

void Messages::expect_message(Pair& p, uint32_t tag, size_t bytes, uint8_t seed) {
  Buffer &from = source(p.a.rank, bytes + 1, seed), &to = target(p.b.rank, bytes + 1);
  MessageRequest* receive = p.b.link->receive(tag, slice(to, bytes));
  MessageRequest* send = p.a.link->send(tag, slice(from, bytes));
  ASSERT_TRUE(finish(send) && finish(receive));
  EXPECT_TRUE(send->status().ok() && receive->status().ok())
      << send->status().text() << receive->status().text();
  EXPECT_EQ(receive->bytes()[0], bytes);
  EXPECT_TRUE(to.holds(seed, 0, bytes)) << bytes << " bytes";
  p.a.link->release(send);
  p.b.link->release(receive);
}

INSTANTIATE_TEST_SUITE_P(Transport, Messages, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend>& one) { return one.param.name; });

}  // namespace plait::transport::conformance
