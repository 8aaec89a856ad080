// What the real machine is given: its links, and a call with the buffers that it is bound to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "collectives/codec/codec.h"
#include "collectives/machine/real/commons.h"
#include "collectives/machine/real/layout.h"
#include "collectives/machine/real/schedule.h"
#include "collectives/machine/real/volley.h"
#include "collectives/reduce/reduce.h"
#include "transport/mailbox.h"

namespace plait::collectives::real {

// What the machine knows of a peer. Owned by the communicator.
struct Link {
  transport::Mailbox* mailbox = nullptr;
  Commons* commons = nullptr;   // the peer's, where it is mapped
  std::byte* shared = nullptr;  // the peer's shared memory as mapped here, or null
  uint64_t shared_bytes = 0;
  uint64_t output_offset = 0;  // where the peer's output lies in it, in operation output_of
  uint64_t output_of = 0;      // 0: never told
  transport::Endpoint* endpoint = nullptr;
  bool may_pull = false;  // the peer can get from plain memory that this rank exposed
};

// A buffer of the call. `shared`: it lies at `offset` of this process's shared memory, where peers that map
// it may read and, if it is the output, write.
struct Bound {
  std::byte* data = nullptr;
  bool shared = false;
  uint64_t offset = 0;
  ByteView key;  // not shared, but exposed: of the region, where data lies at `offset`
};

// One operation, bound to bytes. Everything it points to outlives it.
struct Call {
  const Schedule* schedule = nullptr;
  uint64_t number = 0;  // of the operation in its communicator, from 1
  uint32_t tag = 0;     // of its messages, lowest bit 0; alike on all ranks
  Layout layout;
  Bound input, output;
  FoldKernel fold = nullptr;  // null where nothing is folded
  uint32_t ranks = 0;         // avg: the divisor; else 0
  Operator op;                // what `fold` is told of an operator of the user's or of a scaling
  Store store = Store::plain;
  // Even layouts: on every rank that has an output, each slot lies equally far behind its beginning: peers
  // may store into it. Uneven ones never do.
  bool same_outputs = true;
  bool buffered = false;  // min_credits 1: every message is copied into its stream
  // So is one of up to so many bytes, alike on all ranks: its sender goes on without waiting for the
  // receiver, which may wait for a core.
  size_t eager_bytes = 0;
  bool network = false;          // some of the peers do not map memory
  bool common = false;           // may be done on the commons; alike on all ranks
  int32_t common_root = kLocal;  // then: of a broadcast; else it is an allreduce
  // Of schedules with wires; else null. The layout is even, and segments are such that a stream buffers the
  // longest wire: fit_segments().
  const codec::Codec* codec = nullptr;
  // codec->state_bytes() for each element of the vector, Schedule::sites times one after the other.
  std::byte* state = nullptr;
  uint64_t seed = 0, turn = 0;  // as of codec::Piece
  // Where the machine keeps what calls like this have in common, or null. Of calls that differ in no more
  // than number, tag, seed, turn, state and where the buffers lie; whoever has it says so by clearing `made`.
  Volley* volley = nullptr;
};

// Finds, or imports, a region of a peer by its key. Null: the key is not good.
using Import = transport::RemoteRegion* (*)(void* context, int32_t peer, ByteView key);

// Up to this many bytes a message travels in a line and beside it, to a receiver that maps memory: whatever
// is longer has a descriptor.
constexpr size_t kInlineBytes = 4096;
static_assert(sizeof(uint64_t) + kInlineBytes <= transport::kBesideBytes);  // a length before it
// The same where the receiver maps the memory it lies in: from here on reading it there is faster. So up to
// here a message travels so, whatever its sender knows of its receiver's program.
constexpr size_t kInlineMappedBytes = 1024;
// The same where lines travel over a network, several if they must: a line that announces a part carries
// credit, lines of payload do not.
constexpr size_t kInlineNetworkBytes = 2 * transport::kLinePayload;
// Whole lines that hold kInlineBytes and a length before them: whatever a peer sends in lines, no more is
// taken for one message.
constexpr size_t kGatherBytes =
    round_up(kInlineBytes + sizeof(uint64_t) + transport::kLinePayload, 64);
// Call::eager_bytes where ranks share cores: up to here a copy costs less than the turns that pass until a
// sender hears that its message was taken.
constexpr size_t kEagerBytes = 4096;
// The same of calls with a root, in which nothing else makes ranks wait for each other.
constexpr size_t kRootedEagerBytes = transport::kPartBytes;
// Chunks are cut into segments of at most this, so that a stream buffers a whole one.
constexpr size_t kSegmentBytes = size_t(transport::kParts) * transport::kPartBytes;

// A wire in a message: its length, then its bytes, which begin a cache line where they lie here.
constexpr size_t kWireHead = sizeof(uint64_t);
constexpr size_t kWireOffset = 64 - kWireHead;
inline size_t wire_slot_bytes(const codec::Codec& codec, uint64_t elements) noexcept {
  return 64 + round_up(codec.bound(size_t(elements)), 64);
}
// Segments where all messages are wires, which are shorter: as many bytes under way hide as much of what
// codecs take (64 MiB by int8 between two hosts at 1 Gbit/s: 228 ms with segments of kSegmentBytes, 161 ms
// with these).
constexpr size_t kCodedSegmentBytes = size_t(1) << 20;
// Cuts chunks into segments whose wires a stream buffers. False: no segment is short enough.
bool fit_segments(Layout& layout, const codec::Codec& codec, size_t segment_bytes = kSegmentBytes) noexcept;

}  // namespace plait::collectives::real
