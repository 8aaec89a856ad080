// A described machine room: what messages, folds and copies cost, and what ranks share. The cost machine runs
// programs in it. Times are seconds and seconds a byte, sizes are bytes. docs/cost.md tells the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace plait::collectives {

// How messages of a range of sizes get from one rank to another, and which part of that keeps whom busy.
struct Delivery {
  uint64_t most = UINT64_MAX;           // the largest message that goes this way
  double latency = 0;                   // from leaving one rank to reaching the other; keeps nobody busy
  double send = 0, recv = 0;            // of either rank's core, for each message
  double send_byte = 0, recv_byte = 0;  // of either rank's core, beside what the step itself does
  double gap = 0;                       // of either rank's port, for each message
  double byte = 0;                      // of either rank's port
  uint64_t piece =
      UINT64_MAX;  // so much moves on while the rest is yet to come; all of it: store and forward
  // The bytes stay where they are until the receiver has taken them and said so: mapped and pulled messages.
  bool acknowledged = false;
  // What a step just made is sent in the same pass, at Room::store a byte instead of send_byte ...
  bool fused = false;
  // ... and lies then where a plain receive wants it, with nothing left to take.
  bool placed = false;
};

// A class of links.
struct Link {
  std::vector<Delivery> deliveries;  // a message goes the first way that takes it; the last one takes all
  double host_byte = 0;              // of what the ranks of a host share: its NIC each way; its memory

  // Buffered: of a program that needs credits, whose messages do not stay where they are (rule 5).
  const Delivery& delivery(uint64_t bytes, bool buffered) const noexcept;
};

// What a message between two ranks goes over.
enum class LinkClass : uint8_t { inside, between, chips };  // a host; hosts; links of chips' own
inline constexpr size_t kLinkClasses = 3;

struct Room {
  int32_t ranks = 1;
  std::vector<int32_t> host_of;  // of each rank, from 0 on; empty: all are on one
  std::vector<int32_t> pod_of;   // likewise, of pods of chips; empty: there are none
  Link inside, between, chips;   // of each LinkClass; `chips` only where there are pods
  double fold = 0;               // of a core, for each byte of each operand but the first
  double copy = 0;               // of a core: a copy, or a message put where it belongs
  double store = 0;              // of a core: a result stored to one place more
  int32_t cores = 0;             // that the ranks of a host share; 0: each has its own
  double task_switch = 0;        // until a core goes on with another rank
  double cold = 0;       // what a message costs more then: the core's caches are the others' (choice/)
  bool commons = false;  // allreduces may be done on the commons (real/commons.h)
  uint32_t windows = 4;  // segments of a vector under way at a time, in programs of one lane

  int32_t host(int32_t rank) const noexcept { return host_of.empty() ? 0 : host_of[size_t(rank)]; }
  LinkClass link_class(int32_t from, int32_t to) const noexcept {
    if (!pod_of.empty() && pod_of[size_t(from)] == pod_of[size_t(to)]) return LinkClass::chips;
    return host(from) == host(to) ? LinkClass::inside : LinkClass::between;
  }
  const Link& links(LinkClass of) const noexcept {
    return of == LinkClass::chips ? chips : of == LinkClass::inside ? inside : between;
  }
  const Link& link(int32_t from, int32_t to) const noexcept { return links(link_class(from, to)); }
};

// The room of textbooks: a message keeps both ranks' ports busy for alpha + bytes * beta, each rank sends and
// receives one at a time, folding a byte takes gamma, nothing else costs anything.
Room textbook_room(int32_t ranks, double alpha, double beta, double gamma);

// Code::invalid names what is wrong: times that are negative or no numbers, hosts that are not numbered from
// 0 on, deliveries that leave a size out.
Status check_room(const Room& room);

// "4 hosts of 8 ranks".
std::string describe(const Room& room);

}  // namespace plait::collectives
