// What back ends share that move transfers as messages which their peers check: what an endpoint holds
// between post() and the Done, out of pools of its domain, so that nothing is allocated after open() and an
// endpoint that moves nothing holds nothing; and what makes a transfer, or a message, one that is refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/slab.h"
#include "transport/regions.h"
#include "transport/transport.h"

namespace plait::transport {

constexpr size_t kDepth = 256;
constexpr size_t kInline = 256;
constexpr uint64_t kMaxTransfer = uint64_t{1} << 46;

// Where in a region of the target.
struct Place {
  uint32_t slot = 0;
  uint64_t nonce = 0, offset = 0;
};

// A transfer that post() took and that is not done.
struct Op {
  Op *newer = nullptr, *older = nullptr;  // of its endpoint
  Op* next = nullptr;                     // in the one queue that it is in, if any
  bool sent = false;                      // its last message is
  Verb verb = Verb::put;
  When when = When::never;
  Signal signal;
  uint64_t cookie = 0;
  Place place;
  std::byte* local = nullptr;
  size_t bytes = 0, moved = 0;           // moved: put: into messages; get: received
  std::array<std::byte, kInline> small;  // a small source is read in post()

  void fill(const Transfer& transfer) noexcept;  // all but `small`
};
Place place_of(const Transfer& transfer) noexcept;

// The Ops of an endpoint, kDepth at most, out of the domain's pool.
class OpList {
 public:
  explicit OpList(Slab<Op>& slab) noexcept : slab_(slab) {}
  size_t used() const noexcept { return used_; }
  // Not when kDepth are used.
  Op& take() noexcept {
    Op& op = slab_.take();
    op.older = newest_;
    if (newest_ != nullptr) newest_->newer = &op;
    newest_ = &op;
    used_++;
    return op;
  }
  void give(Op& op) noexcept {
    (op.newer != nullptr ? op.newer->older : newest_) = op.older;
    if (op.older != nullptr) op.older->newer = op.newer;
    used_--;
    slab_.give(op);
  }
  // Null: there is none.
  Op* newest() noexcept { return newest_; }

 private:
  Slab<Op>& slab_;
  Op* newest_ = nullptr;
  size_t used_ = 0;
};

// Ops in the order in which they came. An Op is in one of these at a time.
class OpQueue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  Op& front() const noexcept { return *first_; }
  void push(Op& op) noexcept {
    op.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &op;
    last_ = &op;
  }
  void pop() noexcept { first_ = first_->next; }
  void clear() noexcept { first_ = nullptr; }

 private:
  Op *first_ = nullptr, *last_ = nullptr;
};

// A get of the peer's that is being answered.
struct Served {
  Served* next = nullptr;
  Place place;
  uint64_t left = 0;
};

struct DoneItem {
  DoneItem* next = nullptr;
  Done done;
};

// The Dones of an endpoint until its domain takes them: its transfers', and the one of its own cookie, the
// last.
class OwnedDones {
 public:
  explicit OwnedDones(Slab<DoneItem>& slab) noexcept : queue_(slab) {}
  bool empty() const noexcept { return queue_.empty(); }
  size_t size() const noexcept { return queue_.size(); }
  void push(const Done& done) noexcept { queue_.push().done = done; }
  // The own one, which comes once.
  void push_own(const Done& done) noexcept {
    if (!own_) push(done);
    own_ = true;
  }
  // Into `done`, from the front; how many.
  size_t take(std::span<Done> done) noexcept;
  // The endpoint goes: moves those of its transfers. Its own cookie means nothing any more.
  void leave(SlabQueue<DoneItem>& to) noexcept;
  void clear() noexcept { queue_.clear(); }

 private:
  SlabQueue<DoneItem> queue_;
  bool own_ = false;
};

// The Dones of endpoints that are gone, until their domain hands them out. These endpoints keep their places
// in its pools until then.
class OrphanedDones {
 public:
  explicit OrphanedDones(Slab<DoneItem>& slab) noexcept : queue_(slab) {}
  bool empty() const noexcept { return queue_.empty(); }
  // An endpoint goes.
  void adopt(OwnedDones& dones) noexcept {
    dones.leave(queue_);
    ++gone_;
  }
  // Into `done`, from the front; how many.
  size_t take(std::span<Done> done) noexcept;
  // Of how many endpoints nothing is left, since it was asked last: their places can be given back.
  size_t settled() noexcept { return queue_.empty() ? std::exchange(gone_, 0) : 0; }

 private:
  SlabQueue<DoneItem> queue_;
  size_t gone_ = 0;
};

// Null when it keeps to the contract: for post(). `counters`: of the peer. The first looks at what is the
// same for all back ends: verb, signal, bounds, rights; by the second it has a PeerRegion of `endpoint`, too.
const char* refusal_of(const Transfer& transfer, uint32_t counters) noexcept;
const char* refusal_of(const Transfer& transfer, const Endpoint* endpoint, uint32_t counters) noexcept;

// Why a message was refused: what the peer that sent it is told.
enum class Refusal : uint8_t { nonsense = 1, region, bounds, rights, counter, too_many, order };
const char* describe(Refusal refusal) noexcept;

// Nothing when a peer may do this to a region here, and then a pin of it.
std::optional<Refusal> admit(RegionTable& regions, const Place& place, uint64_t bytes, bool write,
                             RegionTable::Pin& pin) noexcept;

}  // namespace plait::transport
