// A program made ready to run: chains and operands gathered into elementwise actions, with the peepholes of
// docs/program.md applied by def-use. Made once for (program, in place or not) and cached; knows no bytes
// yet.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "collectives/program.h"
#include "collectives/reduce/reduce.h"

namespace plait::collectives::real {

constexpr int32_t kLocal = -1;

// An operand of an action: a place here, or the k-th message from a peer.
struct Source {
  int32_t peer = kLocal;
  uint32_t ordinal = 0;  // k, in the stream from that peer
  uint16_t lane = 0;
  Place place = kNowhere;
  bool enters = false;  // this rank's contribution, scaled as it is read
};

enum class Kind : uint8_t {
  send,           // one local source to the peer
  recv,           // one message to a place
  fold,           // sources folded in order to a place; of one source: it enters
  copy,           // one place to another
  encode,         // one place to a wire
  decode,         // a wire to a place
  decode_reduce,  // two sources folded to a place, the second of which is a wire
};

constexpr uint32_t kNoAction = ~0u;

// Sends that one action may serve: the machine remembers them as bits of a word.
constexpr uint32_t kMostFused = 64;

// One elementwise event: reads sources, writes dst, and may serve `fused` sends of the same value in the same
// pass.
struct Action {
  Kind kind = Kind::copy;
  bool last = false;     // the fold completes its chunk
  bool swapped = false;  // decode_reduce: the decoded value is the left operand
  bool wired = false;    // send or recv: of a wire, as long as that says (coded.cc)
  bool dead = false;     // dst is read by the fused sends only (peephole c)
  bool granted =
      false;  // send: slot `granted_slot` of the peer's `out` may be written as soon as this may run
  uint16_t lane = 0;
  int32_t peer = kLocal;  // send: to whom; decode: from whom the wire came, if from others
  uint32_t site = 0;      // encode: how often this rank has encoded the chunk before
  uint32_t ordinal = 0;   // send: which message of the stream
  uint32_t granted_slot = 0;
  Place dst = kNowhere;
  uint32_t chunk = 0, count = 0;
  Place sized_by =
      kNowhere;  // a slot of the input or output that is as long as the chunk; none: `chunk` says it
  // send: a copy of what it sends, and no other send does, that it may make as it goes into parts.
  uint32_t along = kNoAction;
  uint32_t first_source = 0, sources = 0;
  uint32_t own = kNoOperand;             // the source that enters
  uint32_t first_piece = 0, pieces = 0;  // in Schedule::pieces: of a message of several, which is then no
                                         // more than its peer, lane and ordinal
  uint32_t first_fused = 0, fused = 0;   // in Schedule::fused: send actions, kMostFused at most
  uint32_t first_next = 0, nexts = 0;    // in Schedule::next: actions that wait for this one
  uint32_t waits = 0;                    // how many actions this one waits for
  uint32_t step = 0;                     // of the program, for messages to people
};

struct Schedule {
  Program program;
  std::vector<Action> actions;
  // Of messages of several pieces (kMore), in the order in which they lie in the message. Each is an action
  // in itself: a send has one source, what it sends; a recv one, the message; a fold the message and its
  // operands.
  std::vector<Action> pieces;
  std::vector<Source> sources;
  std::vector<uint32_t> fused;
  std::vector<uint32_t> next;
  std::vector<uint32_t> roots;  // actions that wait for nothing
  // Every action, sends first, where the program is one round: its sends wait for nothing, messages are one
  // chunk. Else empty.
  std::vector<uint32_t> round;
  std::vector<int32_t> peers;  // whom it touches, ascending
  uint32_t lanes = 1;
  bool joined = false;   // steps move several chunks at once, or messages have several pieces
  uint32_t scratch = 0;  // slots that actions still use
  uint32_t sites = 0;    // how often the chunk that is encoded most often is encoded
};

// Gives the program of any rank of the communicator.
using ProgramOf = std::function<Program(int32_t rank)>;

// Lowers `program`. `program_of` is asked for the programs of the peers it sends to, to find where results
// may be stored straight into their outputs. Code::unsupported for programs that the real machine does not
// run: chains of more than kMaxOperands, messages of several pieces that are folded in a chain with
// messages of others (chunk by chunk they are run: chunkwise.h).
Result<Schedule> lower(Program program, const ProgramOf& program_of);

}  // namespace plait::collectives::real
