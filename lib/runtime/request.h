// An operation from its call to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "collectives/machine/real/call.h"
#include "collectives/plan.h"
#include "runtime/board.h"
#include "transport/message.h"

namespace plait::runtime {

class Communicator;
struct UserOperator;
struct CodecUse;
struct TensorState;
struct LowRank;
namespace queue {
class Queue;
}

// The blocks of a buffer, one a rank, as the user gave them, in elements.
struct Blocks {
  const size_t* counts = nullptr;         // null: the call has none, or this rank does not say
  const size_t* displacements = nullptr;  // null: one behind the other
};

// A collective call as the user made it, checked.
struct Args {
  collectives::Collective collective = collectives::Collective::barrier;
  const void* in = nullptr;
  void* out = nullptr;
  uint64_t count = 0;  // as in the C call; uneven: of this rank's own block
  collectives::Dtype dtype = collectives::Dtype::uint8;
  collectives::ReduceOp op = collectives::ReduceOp::sum;  // or the number of `custom`
  const UserOperator* custom = nullptr;  // made by plait_op_create; in use until the request is freed
  int32_t root = 0;
  std::string_view algorithm;       // of the communicator's methods, or empty
  int64_t timeout_ms = 0;           // 0: the communicator's
  const CodecUse* codec = nullptr;  // lives as long as the process; null: none
  uint64_t tensor_key = 0;          // whose state a codec with state uses; 0: none
  uint64_t rows = 0, columns = 0;   // of the tensor as a matrix, where the codec wants one
  bool uneven = false;              // blocks have counts of their own, alltoall: `count` means nothing
  Blocks in_blocks, out_blocks;     // uneven, where this rank's input or output holds a block of each rank
  uint32_t maker = 0;  // not 0: the barrier of a call that makes communicators, kSplitCall or kDupCall
};

// A call without counts of each rank's own and without a config, not checked.
struct EvenCall {
  collectives::Collective collective = collectives::Collective::barrier;
  int32_t root = 0;
  const void* in = nullptr;
  void* out = nullptr;
  uint64_t count = 0;
  plait_dtype dtype = PLAIT_UINT8;
  plait_op op = 0;

  // The same as `a`, but for where equally distant buffers lie? Where two members that are neighbours in
  // memory are each compared with `==`, GCC writes them to the stack, to read both at once.
  bool is_like(const Args& a) const noexcept {
    const auto distance = [](const void* from, const void* to) {
      return reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
    };
    const auto apart = [](auto x, auto y) { return unsigned(x) ^ unsigned(y); };
    return count == a.count &&
           (apart(collective, a.collective) | apart(root, a.root) | apart(dtype, a.dtype) |
            apart(op, a.op)) == 0 &&
           distance(in, out) == distance(a.in, a.out) && (in != nullptr) == (a.in != nullptr) &&
           (out != nullptr) == (a.out != nullptr);
  }
};

// A send or receive as the user made it, checked, and how far it is.
struct Letter {
  enum class Kind : uint8_t { none, send, receive };  // none: the request is of a collective
  Kind kind = Kind::none;
  int32_t peer = 0;
  int32_t tag = 0;
  std::byte* data = nullptr;
  size_t bytes = 0;
  size_t moved = 0;                             // once done: of the message
  transport::MessageRequest* handed = nullptr;  // to the peer's link
  std::unique_ptr<transport::Region> region;    // for the peer to put to, meanwhile
};

// What does not change between calls of the same shape.
struct Prepared {
  CallId id;
  const char* algorithm = nullptr;  // its name
  const CodecUse* codec = nullptr;  // that it is made with; null: none
  uint32_t hash = 0;
  size_t in_bytes = 0,
         out_bytes = 0;          // 0: the pointer means nothing, a broadcast's input but at the root, say
  collectives::real::Call call;  // without buffers and number
  // The key: the arguments it was made for. Uneven: their blocks are kept here, and where they lie by slot.
  Args args;
  std::vector<size_t> in_counts, in_displacements, out_counts, out_displacements;
  std::vector<collectives::real::Part> in_parts, out_parts;
  std::vector<uint64_t> lengths;  // of chunks that are uneven in an even call
  bool in_place = false;
  bool valid = false;
  // Found out when it first runs: all ranks that it touches are connected; some of them over a network.
  mutable bool connected = false, network = false;
  mutable collectives::real::Volley volley;  // the machine's, of call

  // Of the messages of the `number`-th call of the communicator, which is one of these.
  uint32_t tag(uint64_t number) const noexcept { return (hash & ~0xffu) | (uint32_t(number) & 0x7f) << 1; }
};

}  // namespace plait::runtime

// The C handle.
struct plait_request {
  enum class State : uint8_t { idle, queued, connecting, running, done };
  static constexpr uint32_t kMagic = 0x51455250;  // "PREQ"

  uint32_t magic = kMagic;
  State state = State::idle;
  bool persistent = false;
  bool came_again = false;  // it is of Communicator::take_ready()
  uint32_t holders = 1;     // calls that were given it, and have not freed it
  plait::runtime::Communicator* comm = nullptr;
  plait::runtime::queue::Queue* queue = nullptr;  // of a pushed tensor: what moves it, not `comm`
  plait_request* next = nullptr;                  // in the queue, or in the free list
  uint64_t number = 0;
  plait::runtime::Args args;  // without blocks: these are prepared->args
  plait::runtime::Letter letter;
  plait::runtime::TensorState* tensor = nullptr;  // of the codec, if it has state
  // Not null: it is two allreduces, of the factors; and the one that it is at.
  plait::runtime::LowRank* low_rank = nullptr;
  float* factor = nullptr;
  const plait::runtime::Prepared* prepared = nullptr;  // valid until it is done
  const char* algorithm = nullptr;                     // its name
  plait::runtime::Prepared own;                        // of a persistent plan
  bool is_message() const noexcept { return letter.kind != plait::runtime::Letter::Kind::none; }
  bool deadline_set = false;
  plait::Deadline deadline;
  plait::Status result;
};
