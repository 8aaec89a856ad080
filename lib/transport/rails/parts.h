// What a sender keeps: transfers that were taken, and their parts until the peer took them.
#pragma once

#include <array>
#include <cstdint>

#include "base/slab.h"
#include "transport/rails/region.h"

namespace plait::transport::rails {

constexpr uint8_t kNoRail = 0xff;
constexpr size_t kGets = 32;  // parts of gets under way, an endpoint
// Transfers up to kWhole bytes go whole, longer ones in parts of up to kPiece.
constexpr size_t kWhole = size_t{64} << 10, kPiece = size_t{128} << 10;
// No more than this is under way on one rail to one peer before another part goes there: the rails that are
// faster come back for more.
constexpr size_t kAhead = size_t{1} << 20;

constexpr uint8_t kTries = 32;  // rails that may die under a part

// A transfer that cannot be told to be done yet.
struct Op {
  Op *newer = nullptr, *older = nullptr;  // of its endpoint
  Op* next = nullptr;                     // to be cut, on its counter
  Verb verb = Verb::put;
  When when = When::never;
  Signal signal;
  uint64_t cookie = 0;
  std::byte* data = nullptr;
  const RailsRegion* region = nullptr;
  Import* import = nullptr;
  uint64_t offset = 0;
  size_t bytes = 0, cut = 0, piece = 0;
  bool whole = false;  // all of it is in parts
  bool held = false;   // it is over, but earlier ones of its counter are not
  uint32_t left = 0;   // parts that are not known to have landed

  // Tells that all puts before it have landed.
  bool is_mark() const noexcept {
    return verb == Verb::put && bytes == 0 && signal.add == 0 && when == When::delivered;
  }
};

// Of a short source, which the caller may overwrite at once.
struct Copy {
  std::array<std::byte, 256> bytes;
};

// A part of a put, in its slot of the window: from when it is posted until the peer has taken it. All zeroes
// is a slot that was never used: most counters send little, and their slots take no memory.
struct Part {
  Op* op = nullptr;      // until it landed, if somebody is to be told or it has the source
  Copy* copy = nullptr;  // until it landed
  Import* import = nullptr;
  uint64_t offset = 0;  // in the peer's region
  size_t at = 0;        // in the transfer
  uint32_t bytes = 0;
  uint16_t value = 0;        // of its signal
  uint8_t rail = kNoRail;    // that it was posted on
  uint8_t frozen = kNoRail;  // that had it and died: the peer will say whether it landed
  uint32_t order = 0;        // of what the rail owes a Done for
  uint8_t tries = 0;
  bool used = false;
  bool out = false;      // counted as under way there
  bool waiting = false;  // the rail owes a Done
  bool landed = false;   // the bytes are there; the signal, too, unless the rail died
  bool taken = false;    // the peer said so
  bool lost = false;     // to be sent again
};

struct GetPart {
  Op* op = nullptr;
  size_t at = 0;
  uint32_t bytes = 0, order = 0;
  uint8_t rail = kNoRail, tries = 0;
  bool lost = false;
};

// What I send on one counter of the peer's.
struct Out {
  uint64_t sent = 0, credited = 0;  // parts
  Op *first = nullptr, *last = nullptr;
  uint32_t unlanded = 0;  // puts' parts
  uint32_t gets = 0;      // parts under way
  uint8_t rail = 0;       // the latest part's
};

// What comes in on one of my counters.
struct In {
  uint64_t next = 0, told = 0;  // parts taken; and those of them that the peer knows of
  int64_t owed_since_ns = 0;
  uint8_t rail = 0;  // the latest part's
};

class RailsEndpoint;

struct DoneItem {
  DoneItem* next = nullptr;
  Done done;
  RailsEndpoint* owner = nullptr;  // null: gone
  bool own = false, gone = false;  // the endpoint's own; of one that is gone
};

struct Pools {
  Slab<Op> ops;
  Slab<Copy> copies;
  Slab<DoneItem> dones;
};

}  // namespace plait::transport::rails
