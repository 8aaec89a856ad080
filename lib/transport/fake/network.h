// The state behind the fake's objects. One mutex guards all of it; functions here expect it held unless they
// say not. Bytes are copied and counters stored under it, by whichever thread polls.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "transport/fake/fake.h"
#include "transport/fake/keys.h"
#include "transport/landings.h"

namespace plait::transport::fake {

constexpr size_t kPollBytes = 256 * 1024;  // rule 8
constexpr size_t kNoPacket = SIZE_MAX;

struct RegionState {
  uint64_t domain = 0;
  Memory memory;
  Access access = Access::none;
  Landings* landings = nullptr;  // where its bytes land, where its own thread moves them
};

// One posted transfer that has not acted yet. Regions are known by nonce, so that a revoked one is found out.
struct Packet {
  Transfer transfer;
  uint64_t local_region = 0, remote_region = 0;  // 0: none
  const std::byte* source = nullptr;             // of a put: the caller's bytes, or `stage`
  std::unique_ptr<std::byte[]> stage;
  uint64_t due = 0, order = 0;
  size_t moved = 0;
  bool done_sent = false;
  size_t next = kNoPacket;  // on the same counter, or in the free list
};

struct DomainState;

struct EndpointState : std::enable_shared_from_this<EndpointState> {
  std::shared_ptr<DomainState> domain;
  uint64_t id = 0, cookie = 0;
  Ticket ticket;
  State state = State::opened;
  std::string error;                 // set once, when it fails
  bool claimed = false;              // somebody has connected to this ticket
  EndpointState* claimer = nullptr;  // and this is who, while the link is up
  EndpointState* peer = nullptr;     // null again once the link is down
  std::string peer_name;
  uint64_t peer_domain = 0;

  struct Queue {
    size_t head = kNoPacket, tail = kNoPacket;
  };
  std::vector<Packet> packets;  // depth
  std::vector<Queue> queues;    // by counter of the peer
  size_t free = kNoPacket;
  size_t queued = 0;  // packets in queues
  size_t owed = 0;    // Dones not harvested yet; with `queued` at most depth
  size_t signals_queued = 0;
  uint64_t posted = 0;

  uint16_t counter_count = 0;
  std::unique_ptr<std::atomic<uint64_t>[]> counters;
  std::vector<uint64_t> pending_adds;  // landed, for the owner's next poll
  size_t unharvested = 0;              // how many signals those are
};

using EndpointPtr = std::shared_ptr<EndpointState>;

// Dones until they are polled. open() reserves room, so that nothing is allocated later.
class DoneRing {
 public:
  struct Entry {
    Done done;
    EndpointPtr owner;  // set when the Done occupies one of its places
  };
  void reserve(size_t more);
  void push(Entry entry) noexcept;
  Entry pop() noexcept;
  size_t size() const noexcept { return count_; }

 private:
  std::vector<Entry> ring_;
  size_t head_ = 0, count_ = 0;
};

struct DomainState {
  uint64_t id = 0;
  std::string name;
  Identity identity;
  FakeOptions options;
  std::mt19937_64 random;
  bool dead = false;
  std::vector<EndpointPtr> endpoints;
  size_t first = 0;  // endpoint that the next poll begins with
  DoneRing dones;
  Fd event;
  bool asleep = false, rung = false;
  const Capabilities& caps() const noexcept { return options.capabilities; }
};

struct Network {
  std::mutex mutex;
  uint64_t id = 0, next_id = 1, now = 0;
  std::mt19937_64 nonces;
  std::unordered_map<uint64_t, DomainState*> domains;
  std::unordered_map<uint64_t, EndpointPtr> endpoints;
  std::unordered_map<uint64_t, RegionState> regions;  // by nonce

  // Whose poll moves the transfers of `sender`.
  static DomainState* mover(const EndpointState& sender) noexcept;
  // Moves what may move of `sender`'s transfers, and takes the bytes off `budget`.
  void advance(EndpointState& sender, size_t& budget) noexcept;
  void settle(EndpointState& endpoint) noexcept;          // connecting becomes ready
  static void harvest(EndpointState& endpoint) noexcept;  // landed signals move the counters
  // Ends with its cookie and `text`; the peer learns that the link is down.
  void fail(EndpointState& endpoint, Code code, std::string text) noexcept;
  void close(EndpointState& endpoint) noexcept;
  void kill(DomainState& domain) noexcept;
  static void wake(DomainState* domain) noexcept;

  bool advance_queue(EndpointState& sender, size_t counter, size_t& budget) noexcept;
  bool move(EndpointState& sender, Packet& packet, size_t& budget) noexcept;
  static void complete(EndpointState& sender, Packet& packet) noexcept;
  const char* forbids(const EndpointState& sender, const Packet& packet) const noexcept;
  static void drop_packets(EndpointState& endpoint, Code code) noexcept;
  void hang_up(EndpointState& endpoint, const char* why) noexcept;
  static void give_done(EndpointState& endpoint, const Packet& packet, Code code) noexcept;
};

std::unique_ptr<Endpoint> make_endpoint(std::shared_ptr<Network> network, EndpointPtr state);
// These two with the mutex not held.
Result<std::unique_ptr<Region>> make_region(std::shared_ptr<Network> network, const DomainState& domain,
                                            const Memory& memory, Access access);
Result<std::unique_ptr<RemoteRegion>> import_key(Network& network, const EndpointState& endpoint,
                                                 ByteView key);
uint64_t nonce_of(const RemoteRegion& region) noexcept;
uint64_t nonce_of(const Region& region) noexcept;

}  // namespace plait::transport::fake
