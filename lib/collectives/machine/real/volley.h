// A volley: a round (Schedule::round) whose messages take a line each, with all worked out that calls alike
// have in common: which line goes where, and what is folded from where. What is left to a call are copies,
// looks at lines and folds; latency is measured with nothing else. A message fits its line and what lies
// beside it; or, in a mapped volley, each is longer and lies where its sender has it, if the receiver maps
// that, else beside the line or in parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/machine/real/commons.h"
#include "collectives/machine/real/exchange.h"
#include "collectives/machine/real/schedule.h"

namespace plait::collectives::real {

struct Bound;

// Bytes of a buffer of the call, wherever that lies this time.
struct Here {
  const Bound* buffer = nullptr;
  uint32_t offset = 0;
};

struct Volley {
  struct Send {
    transport::Mailbox* mailbox;
    Here from;
    uint32_t bytes;
    const Action* action;
    uint32_t line = 0;  // mapped: the peer is done with it when it has consumed this one, by number
    uint32_t sent = 0;  // mapped: bytes of it that are in parts
  };
  enum class At : uint8_t { sender, line, parts };
  struct Operand {
    transport::Inbox* in;  // null: it is here
    Here here;
    int32_t peer = kLocal;
    const std::byte* there = nullptr;  // mapped: where it lies this time ...
    At at = At::sender;                // ... which is this
  };
  struct Fold {
    const Action* action;
    Here to;
    uint32_t bytes;
    uint32_t first, count;   // of `operands`
    bool copies;             // instead of folding
    bool beside;             // of lines: what comes lies beside them
    collectives::Fold work;  // without buffers
    uint32_t done = 0;       // mapped: bytes
  };
  // Of a call that is prepared anew: nothing of an earlier one holds. The room that was made stays.
  void forget() noexcept {
    made = mapped = copies = false;
    exchange = {};
    pair.made = false;
    sends.clear();
    operands.clear();
    folds.clear();
  }
  bool made = false, mapped = false;
  bool copies = false;  // mapped: all that is sent would fit a line or parts, did it not lie mapped
  Exchange exchange;    // not mapped
  CommonPair pair;      // on the commons, be it a volley or not
  std::vector<Send> sends;
  std::vector<Operand> operands;
  std::vector<Fold> folds;
};

}  // namespace plait::collectives::real
