// Uneven layouts: ranks know the lengths of their own parts only, so each message tells its own, and two
// ranks that were called with different ones find out.
#include <cstring>

#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

// Uneven: are the places of each action equally long here?
bool Machine::check_lengths() noexcept {
  const Schedule& s = *call_.schedule;
  const Layout& layout = call_.layout;
  auto fits = [&](Place p, const Action& a) {
    if (p.in() != Buffer::input && p.in() != Buffer::output) return true;
    return layout.length(p, a.chunk, 1) == layout.length(a.sized_by, a.chunk, 1);
  };
  for (const Action& a : s.actions) {
    if (a.sized_by.in() == Buffer::none && layout.lengths == nullptr) {
      fail(Code::unsupported, "step " + std::to_string(a.step) + " (" + describe(s.program.steps[a.step]) +
                                  ") needs to know how long chunks of other ranks are");
      return false;
    }
    bool alike = fits(a.dst, a);
    for (uint32_t k = 0; k < a.sources; k++) alike = alike && fits(s.sources[a.first_source + k].place, a);
    if (alike) continue;
    fail(Code::invalid, "rank " + std::to_string(s.program.rank) + " step " + std::to_string(a.step) + " (" +
                            describe(s.program.steps[a.step]) +
                            "): the counts of its input and output differ");
    return false;
  }
  return true;
}

bool Machine::check_length(const Action& a, int32_t peer, uint64_t told) noexcept {
  const uint64_t want = length_of(a);
  if (told == want) return true;
  fail(Code::mismatch, "rank " + std::to_string(peer) + " sends " + std::to_string(told) + " bytes, rank " +
                           std::to_string(call_.schedule->program.rank) + " expects " + std::to_string(want) +
                           " from it: counts must agree on both ranks");
  return false;
}

// The length, then the bytes.
Machine::Turn Machine::send_uneven(uint32_t w, const Action& a, const std::byte* data,
                                   size_t bytes) noexcept {
  std::byte message[sizeof(uint64_t) + kInlineBytes];
  const uint64_t length = length_of(a);
  std::memcpy(message, &length, sizeof length);
  if (bytes > 0) std::memcpy(message + sizeof length, data, bytes);
  return send_lines(w, a, message, sizeof length + bytes);
}

// True when the message is none or comes in lines: *landed says whether it is all there.
bool Machine::land_uneven(uint32_t w, const Action& a, const Source& s, Arrival& arrival, size_t bytes,
                          bool* landed) noexcept {
  *landed = true;
  if (is_beyond(w, bytes)) {
    arrival = {};
    return true;
  }
  const Line* line = links_[size_t(s.peer)].mailbox->in(stream_of(s.lane, w)).peek(call_.tag);
  if (line == nullptr) return false;
  uint64_t length;
  std::memcpy(&length, line->payload, sizeof length);
  if (!check_length(a, s.peer, length)) return true;
  if (bytes > kInlineBytes) {
    fail(Code::internal, "rank " + std::to_string(s.peer) + " sent " + std::to_string(bytes) +
                             " bytes in lines: please report it");
    return true;
  }
  *landed = land_lines(links_[size_t(s.peer)], stream_of(s.lane, w), w, arrival, sizeof length + bytes);
  if (!*landed) return true;
  arrival.data += sizeof length;
  arrival.available = bytes;
  return true;
}

}  // namespace plait::collectives::real
