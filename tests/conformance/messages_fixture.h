// The fixture of the tests of messages: links between ranks of a world, all of them moved by one thread
// unless a test says otherwise.
#pragma once

#include "conformance/fixture.h"
#include "transport/message.h"

namespace plait::transport::conformance {

constexpr size_t kLong = kFarEagerBytes + kEagerBytes;  // waits until there is room for it where it goes

// One end of a message link.
struct Party {
  int rank = 0;
  Side* side = nullptr;
  std::unique_ptr<Buffer> memory, shadow;
  MessageRings rings = kRings;  // how `memory` is divided
  RemoteRegion* remote = nullptr;
  std::unique_ptr<MessageLink> link;

  // Memory of its own that its peer has with the link's: where it is mapped, both copy long messages from
  // there.
  LocalSlice shared(size_t offset, size_t bytes) const {
    return memory->local(sizeof(MappedMessageMemory) + offset, bytes);
  }
};

struct Pair {
  Party a, b;
};

class Messages : public Conformance {
 protected:
  void TearDown() override;

  // A message link between two ranks. `mapped` false: lines and short messages are put even where memory is
  // mapped; else the memory of one is divided in one of the ways that there are, the other's in the other,
  // and those of the next pair the other way round. `shared_bytes`: of Party::shared(). One of `a` and `b` is
  // even.
  Pair& pair(int a = 0, int b = 1, bool mapped = true, size_t shared_bytes = 0);
  // Polls one rank and moves its links.
  void step(int rank);
  void step_all();
  // Steps all until `holds`; false when kPatienceMs have passed.
  bool run(const std::function<bool()>& holds);
  // Steps all until the request is done.
  bool finish(const MessageRequest* request) {
    return request != nullptr && run([&] { return request->done(); });
  }
  // `rank` dies, its links first.
  void kill_rank(int rank);

  // Whole, and with its region or without.
  static LocalSlice slice(const Buffer& b) { return b.local(0, b.size()); }
  static LocalSlice slice(const Buffer& b, size_t bytes) { return b.local(0, bytes); }
  static LocalSlice plain(const Buffer& b) { return {b.data(), b.size(), nullptr}; }
  Buffer& target(int rank, size_t bytes) { return buffer(rank, bytes, Access::write); }
  // A buffer of a rank that holds the pattern `seed`.
  Buffer& source(int rank, size_t bytes, uint8_t seed);
  // Sends and receives one message on its own and checks the bytes.
  void expect_message(Pair& p, uint32_t tag, size_t bytes, uint8_t seed);

 private:
  void make_memory(Party& party, int rank, size_t shared_bytes);
  void make_link(Party& party, bool mapped);
  void hand_on(int rank);

  std::list<Pair> pairs_;
  uint64_t next_first_cookie_ = uint64_t(1) << 40;
};

}  // namespace plait::transport::conformance
