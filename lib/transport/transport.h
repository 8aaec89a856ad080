// The transport: one contract, every fabric. One-sided put and get, counters that the receiver watches, completions
// harvested in batches; nothing blocks, nothing is queued without bound, no upcalls, no allocation after connect.
// docs/transport.md tells the rules (numbered; tests/conformance has a test for each) and how to add a back end.
//
// Threads: expose() and ~Region: any thread, any time. All else of a Domain and its endpoints: one thread at a time,
// whichever, serialised by the caller. One Domain per driving thread; back ends share registrations per device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace plait::transport {

enum class Verb : uint8_t { put, get, flush };             // flush: own device memory, after a counter moved
enum class When : uint8_t { never, reusable, delivered };  // the Done wanted
enum class Access : uint8_t { none, read, write, both };   // peers' rights
enum class State : uint8_t { opened, connecting, ready, failed, closed };
enum class MemoryKind : uint8_t { host, device };

constexpr bool may_read(Access a) noexcept { return a == Access::read || a == Access::both; }
constexpr bool may_write(Access a) noexcept { return a == Access::write || a == Access::both; }

// Memory of this process: `bytes` bytes at `base`, owned by the caller.
struct Memory {
  void* base = nullptr;
  size_t bytes = 0;
  MemoryKind kind = MemoryKind::host;
  int device = -1;                 // of device memory
  int dmabuf = -1;                 // descriptor, or -1
  uint64_t dmabuf_offset = 0;
};

class Region;
class RemoteRegion;
class Landings;

struct LocalSlice {
  std::byte* data = nullptr;
  size_t bytes = 0;
  const Region* region = nullptr;  // null: not exposed
};

struct RemoteSlice {
  RemoteRegion* region = nullptr;
  uint64_t offset = 0;
  size_t bytes = 0;
};

// Own memory that peers may reach. Destroying revokes; endpoints that use it fail: close those first. Mapped pages are
// held until every importer closed or died.
class Region {
 public:
  virtual ~Region() = default;
  // What a peer needs to import it: bounds, rights, nonce. Lives as long as the region. Travels over authenticated
  // channels only.
  virtual ByteView key() const noexcept = 0;
  const Memory& memory() const noexcept { return memory_; }
  // From now on its bytes land where `landings` says (transport/landings.h), which outlives it. Before peers know its
  // key; by the thread that polls. False: not with this back end, and nothing changes.
  virtual bool steer(Landings& /*landings*/) noexcept { return false; }
  // Code::invalid when out of bounds.
  Result<LocalSlice> slice(size_t offset, size_t bytes) const;

 protected:
  explicit Region(const Memory& memory) noexcept : memory_(memory) {}
  Memory memory_;
};

// A peer's region, of the endpoint that imported it only; destroy it before that endpoint.
class RemoteRegion {
 public:
  virtual ~RemoteRegion() = default;
  // Where load (and, with the right to, store) reaches it, or null.
  virtual std::byte* mapped() const noexcept = 0;
  size_t bytes() const noexcept { return bytes_; }
  Access access() const noexcept { return access_; }
  // Code::invalid when out of bounds.
  Result<RemoteSlice> slice(uint64_t offset, size_t bytes);

 protected:
  RemoteRegion(size_t bytes, Access access) noexcept : bytes_(bytes), access_(access) {}
  size_t bytes_;
  Access access_;
};

// Order: transfers of one endpoint on one counter act at the target in post order, bytes before signal; a signal covers
// every earlier put on that (endpoint, counter), add 0 included. Nothing else is ordered.
struct Signal {
  uint16_t counter = 0, add = 0;   // get: add 0
};

struct Transfer {
  Verb verb = Verb::put;
  When when = When::never;
  Signal signal;
  LocalSlice local;                // region optional up to inline_bytes or if !local_needs_region
  RemoteSlice remote;              // 0 bytes: signal only
  uint64_t cookie = 0;
};

// ok + reusable: source free, bytes may yet be lost. ok + delivered: in the target's memory (get, flush: always).
// error: NOTHING is known about landing. `never` fails through the endpoint's cookie. Prose: Endpoint::error().
struct Done {
  uint64_t cookie = 0;
  Code status = Code::ok;
};

// What a link costs: seconds, seconds, bytes a second each way; 0: not known.
struct Cost {
  double latency_s = 0, overhead_s = 0, bandwidth_Bps = 0;
};

struct Capabilities {
  bool get = false, needs_flush = false, local_needs_region = false;
  bool holds_pages = false;        // a device keeps the pages of exposed memory: giving them back would part it from them
  bool target_must_poll = false;   // bytes move only when the target polls
  bool word_last = false;          // the last aligned 8 bytes of a put <= 64 B appear last
  bool detects_death = false;      // false: the runtime watches the peer and calls close()
  size_t inline_bytes = 0, max_transfer = 0, key_bytes = 0, ticket_bytes = 0;
  size_t long_put = 0;             // up to so many bytes a put costs the less a byte the longer it is; 0: not known
  // Of an endpoint. depth: transfers outstanding, those included whose Dones were not taken yet.
  uint16_t depth = 0, counters = 0, max_add = 0;
  uint16_t signals = 0;            // unharvested, an endpoint; the back end's credits stop post() there; 0: no bound
  Cost cost;
  bool device_memory = false;      // can expose MemoryKind::device
};

// "get, 64 bytes inline, 1 GiB at once, tells of deaths, 12.50 GB/s": for people.
std::string describe(const Capabilities& capabilities);

// One rail to one peer; never shared between communicators.
class Endpoint {
 public:
  virtual ~Endpoint() = default;   // closes

  // Open both sides, swap tickets out of band (authenticated), connect both, in any order, to oneself too; poll until
  // ready = "I can receive". Post once the peer said ready out of band. transport/wireup.h does all this.
  virtual ByteView ticket() const noexcept = 0;  // one use; may be empty once ready
  virtual Status connect(ByteView peer_ticket) noexcept = 0;  // never blocks
  virtual State state() const noexcept = 0;
  // A sentence about why it failed: what, to which peer, in which phase. Empty while it did not.
  virtual std::string_view error() const noexcept = 0;

  // Local: the peer need not run. Code::auth when the key is not of this peer, Code::invalid when it is malformed,
  // Code::state before the endpoint is ready where the peer's memory is learned of in connecting (shm), else before
  // connect().
  virtual Result<std::unique_ptr<RemoteRegion>> import(ByteView key) = 0;

  // Takes a prefix, and returns its length; never blocks; reads up to inline_bytes before returning. The Dones wanted
  // need no further post. A transfer that breaks the contract (bounds, rights, counter) is not taken and fails the
  // endpoint with a sentence.
  virtual size_t post(std::span<const Transfer> transfers) noexcept = 0;

  // Whether all that was posted on a counter has left: it arrives though this side's domain is not polled any more. What
  // hardware moves has left once it was posted.
  virtual bool sent(uint16_t /*counter*/) const noexcept { return true; }
  // Whether the peer was told of all that landed here, where it waits to be: its Dones come though this side's domain is
  // not polled any more.
  virtual bool acks_sent() const noexcept { return true; }

  // Sum of the peer's adds, never reset; moves in my Domain::poll() or, mapped, by the peer's store. i < the number
  // given to open(). There from open() until the endpoint is destroyed, an array that does not move.
  const std::atomic<uint64_t>& counter(uint16_t i) const noexcept { return counters_[i]; }

  // After storing to the peer through RemoteRegion::mapped(): wakes it if it sleeps in its wait_fd(). One load when it
  // does not. The store must come before this load: arm() sees to that where it makes a barrier in all processes, as
  // shm's does, so that a release store is enough; with other back ends that map (fake) the store must be seq_cst.
  void notify() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (peer_asleep_ != nullptr && peer_asleep_->load(std::memory_order_seq_cst) != 0) wake();
  }

  // Local, bounded, waits for no peer. Then counters are final, nothing lands through it (delayed packets neither;
  // mapped stores excepted), no local buffer is touched; cookies of outstanding transfers return with Code::aborted,
  // once, also after the endpoint was destroyed. Its own cookie does not: it did not fail.
  virtual void close() noexcept = 0;

 protected:
  virtual void wake() noexcept {}
  std::atomic<uint64_t>* counters_ = nullptr;
  const std::atomic<uint32_t>* peer_asleep_ = nullptr;
};

// One NIC, one host's memory, one ICL engine.
class Domain {
 public:
  virtual ~Domain() = default;
  // "shm", "tcp:eth0": what tools and errors call it.
  virtual std::string_view name() const noexcept = 0;
  virtual const Capabilities& capabilities() const noexcept = 0;
  // For reaches() only.
  virtual ByteView identity() const noexcept = 0;
  virtual bool reaches(ByteView peer_identity) const noexcept = 0;
  virtual Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) = 0;
  // `cookie` returns once, with the error, when the endpoint fails, even idle.
  virtual Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) = 0;
  // Progress; copies <= 256 KiB a call; fills `done` from the front and returns how many. An empty span: progress only.
  virtual size_t poll(std::span<Done> done) noexcept = 0;
  // Before every sleep. true: nothing is pending, and wait_fd() will turn readable when something is: a signal, a Done,
  // a failure, room for a post() that found none, or notify() after a mapped store; look at mapped words once more
  // before sleeping, for stores that came before arm(), which the domain knows nothing of. (Counters need no second
  // look.) false: poll again, and look at what you wait for. poll() disarms.
  virtual bool arm() noexcept = 0;
  virtual int wait_fd() const noexcept = 0;  // -1: sleep at most 1 ms; ask again before each sleep
  // Empty; or why endpoints fail though their peers are well: this rank's own device, or what it drives, is gone.
  virtual std::string_view broken() const noexcept { return {}; }
  // For an idle moment: gives back memory that many transfers at once took. No rule rests on it.
  virtual void trim() noexcept {}
};

}  // namespace plait::transport
