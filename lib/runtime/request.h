// An operation from its call to its end.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "collectives/machine/real/machine.h"
#include "collectives/plan.h"
#include "runtime/board.h"

namespace plait::runtime {

class Communicator;

// A collective call as the user made it, checked.
struct Args {
  collectives::Collective collective = collectives::Collective::barrier;
  const void* in = nullptr;
  void* out = nullptr;
  uint64_t count = 0;  // as in the C call
  collectives::Dtype dtype = collectives::Dtype::uint8;
  collectives::ReduceOp op = collectives::ReduceOp::sum;
  int32_t root = 0;
  std::string_view algorithm;  // of the table, or empty
  int64_t timeout_ms = 0;      // 0: the communicator's
};

// What does not change between calls of the same shape.
struct Prepared {
  CallId id;
  uint32_t hash = 0;
  size_t in_bytes = 0, out_bytes = 0;
  bool input_used = true;        // broadcast: on the root only
  collectives::real::Call call;  // without buffers and number
  // The key: the arguments it was made for.
  Args args;
  bool in_place = false;
  bool valid = false;
  // Found out when it first runs: all ranks that it touches are connected; some of them over a network.
  mutable bool connected = false, network = false;
};

}  // namespace plait::runtime

// The C handle.
struct plait_request {
  enum class State : uint8_t { idle, queued, connecting, running, done };
  static constexpr uint32_t kMagic = 0x51455250;  // "PREQ"

  uint32_t magic = kMagic;
  State state = State::idle;
  bool persistent = false;
  plait::runtime::Communicator* comm = nullptr;
  plait_request* next = nullptr;  // in the queue, or in the free list
  uint64_t number = 0;
  plait::runtime::Args args;
  const plait::runtime::Prepared* prepared = nullptr;  // valid until it is done
  uint32_t algorithm = 0;                              // of the table
  plait::runtime::Prepared own;                        // of a persistent plan
  bool deadline_set = false;
  plait::Deadline deadline;
  plait::Status result;
};
