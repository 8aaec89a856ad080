// A fabric within the process: messages are bytes in a queue of the target's domain.
#pragma once

#include <deque>

#include "transport/am/domain.h"

namespace plait::transport::am {

constexpr Maker kTestMaker{"test", "tests", 0x54534554, 1};

class TestDomain;

struct Fabric {
  Manners manners{.piece = 100, .out_of_turn = "the test did that"};
  bool keeps = false;                // messages stay at their sender, until released
  std::vector<TestDomain*> domains;  // null: it has gone, and what it is sent is lost
};

class TestEndpoint final : public MessageEndpoint {
 public:
  TestEndpoint(TestDomain& domain, const TicketHead& mine, uint64_t cookie);
  ~TestEndpoint() override { leave(); }
  void release_kept();

  size_t room = SIZE_MAX;  // messages that are taken
  std::deque<Message> kept;

 private:
  Status reach(const Ticket& peer) override;
  Sent send(const Message& message) noexcept override;
  void let_go() noexcept override { kept.clear(); }
  TestDomain& ours() const { return *reinterpret_cast<TestDomain*>(domain()); }
  void go(const Message& message);
  uint64_t target_ = 0;
};

class TestDomain final : public MessageDomain {
 public:
  explicit TestDomain(Fabric& f) : MessageDomain(kTestMaker, "test"), fabric(f), number(f.domains.size()) {
    fabric.domains.push_back(this);
  }
  ~TestDomain() override {
    orphan_all();
    fabric.domains[number] = nullptr;
  }
  bool reaches(ByteView) const noexcept override { return true; }
  size_t poll(std::span<Done> done) noexcept override {
    for (; !inbox.empty(); inbox.pop_front()) {
      const ByteView whole(inbox.front()), body = whole.subspan(sizeof(Header));
      const auto h = parse_header(whole.first(sizeof(Header)), body.size());
      if (MessageEndpoint* to = h ? find(h->to) : nullptr) to->receive(*h, body);
    }
    for (MessageEndpoint* endpoint : endpoints()) {
      if (endpoint != nullptr) endpoint->has_room();
    }
    return work(done, 4096);
  }
  bool arm() noexcept override { return inbox.empty() && idle(); }
  int wait_fd() const noexcept override { return -1; }

  Fabric& fabric;
  const uint64_t number;
  std::deque<Bytes> inbox;

 private:
  Result<std::unique_ptr<MessageEndpoint>> make(const TicketHead& mine, uint64_t cookie) override {
    return std::unique_ptr<MessageEndpoint>(std::make_unique<TestEndpoint>(*this, mine, cookie));
  }
};

inline TestEndpoint::TestEndpoint(TestDomain& domain, const TicketHead& mine, uint64_t cookie)
    : MessageEndpoint(domain, mine, cookie, domain.fabric.manners) {
  announce(bytes_of(domain.number));
}

inline Status TestEndpoint::reach(const Ticket& peer) {
  ByteView address = peer.address;
  if (!plait::take(address, target_) || target_ >= ours().fabric.domains.size())
    return Status(Code::invalid, "test: no such address");
  return {};
}

inline Sent TestEndpoint::send(const Message& message) noexcept {
  if (room == 0) return Sent::no_room;
  --room;
  if (ours().fabric.keeps && message.bytes > kInline) {
    kept.push_back(message);
    return Sent::kept;
  }
  go(message);
  return Sent::done;
}

inline void TestEndpoint::go(const Message& message) {
  TestDomain* const target = ours().fabric.domains[target_];
  if (target == nullptr) return;
  Bytes bytes;
  append(bytes, message.header);
  bytes.resize(sizeof(Header) + message.bytes);
  message.pack(ours().regions(), bytes.data() + sizeof(Header));
  target->inbox.push_back(std::move(bytes));
}

inline void TestEndpoint::release_kept() {
  for (; !kept.empty(); kept.pop_front()) {
    go(kept.front());
    if (kept.front().op != nullptr) released(*kept.front().op);
  }
}

}  // namespace plait::transport::am
