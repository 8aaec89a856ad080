// Wires: messages as long as they say themselves, what makes them and what they stand for.
#include <cstring>

#include "collectives/machine/real/descriptor.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

bool fit_segments(Layout& layout, const codec::Codec& codec, size_t segment_bytes) noexcept {
  size_t bytes = segment_bytes;
  while (kWireHead + codec.bound(bytes / layout.element_bytes) > kSegmentBytes) {
    if (bytes <= kPartBytes) return false;
    bytes -= kPartBytes;
  }
  set_segments(layout, bytes);
  return true;
}

// Of the message that a send makes of what was encoded or received.
size_t Machine::wire_bytes(const Action& a, uint32_t w) const noexcept {
  uint64_t length;
  std::memcpy(&length, local(call_.schedule->sources[a.first_source].place, w), kWireHead);
  return kWireHead + size_t(length);
}

// How long the wire is that comes; true when it is known, or nothing good. Comes from another process.
bool Machine::hear_length(uint32_t w, const Action& a, Run& r) noexcept {
  const Source& s = call_.schedule->sources[a.first_source];
  const uint32_t stream = stream_of(s.lane, w);
  if (ordinals(s.peer, stream).received != s.ordinal) return false;
  const Inbox& in = links_[size_t(s.peer)].mailbox->in(stream);
  uint64_t told = 0, most = wire_slot_ - kWireOffset;
  if (const Line* line = in.peek(call_.tag); line != nullptr) {
    std::memcpy(&told, line->payload, sizeof told);
    told += kWireHead;
    most = std::min<uint64_t>(most, kInlineBytes);
  } else if ((line = in.peek(call_.tag | kDescriptorBit)) != nullptr) {
    Descriptor d;
    std::memcpy(&d, line->payload, sizeof d);
    told = d.length;
  } else {
    return false;
  }
  if (told >= kWireHead && told <= most) {
    r.told = uint32_t(told);
    return true;
  }
  fail(Code::internal, "rank " + std::to_string(s.peer) + " sends " + std::to_string(told) +
                           " bytes of an encoded message of at most " + std::to_string(most) +
                           ": please report it");
  return true;
}

// Which element of the vector a segment of a chunk begins with.
uint64_t Machine::first_element(const Action& a, uint32_t w) const noexcept {
  const Layout& layout = call_.layout;
  const uint64_t begin = layout.begin(a.chunk);
  if (layout.segments == 1) return begin;
  return std::min(begin + window_[w].segment * layout.per_segment, layout.begin(a.chunk + 1));
}

Machine::Turn Machine::run_codec(uint32_t w, uint32_t action) noexcept {
  const Action& a = call_.schedule->actions[action];
  const Source* sources = &call_.schedule->sources[a.first_source];
  const size_t elements =
      call_.layout.bytes(a.sized_by, a.chunk, a.count, window_[w].segment) >> call_.layout.element_shift;
  if (a.kind == Kind::encode) {
    encode(w, a, elements);
  } else if (a.kind == Kind::decode) {
    (void)decode(w, a, sources[0].place, elements, false, local(a.dst, w));
  } else {
    decode_reduce(w, a, elements);
  }
  return Turn::done;
}

void Machine::encode(uint32_t w, const Action& a, size_t elements) noexcept {
  const uint64_t first = first_element(a, w);
  const size_t each = call_.codec->state_bytes();
  std::byte* state = each == 0 ? nullptr : call_.state + (a.site * call_.layout.elements + first) * each;
  std::byte* wire = local(a.dst, w);
  const codec::Piece piece{
      .count = elements, .first = first, .seed = call_.seed + a.site, .turn = call_.turn};
  const std::byte* values = local(call_.schedule->sources[a.first_source].place, w);
  // Of nothing there may be no buffer, either.
  const uint64_t length =
      elements == 0 ? 0 : call_.codec->encode(piece, values, state, work_.data(), wire + kWireHead);
  std::memcpy(wire, &length, kWireHead);
  encoded_.values += elements << call_.layout.element_shift;
  encoded_.wires += kWireHead + length;
}

bool Machine::decode(uint32_t w, const Action& a, Place place, size_t elements, bool add,
                     std::byte* to) noexcept {
  const std::byte* wire = local(place, w);
  uint64_t length;
  std::memcpy(&length, wire, kWireHead);
  const char* problem = "it is longer than told";
  if (elements == 0) {
    problem = length == 0 ? nullptr : "it stands for values where there are none";
  } else if (length <= wire_slot_ - 64) {
    problem = add ? call_.codec->decode_add(wire + kWireHead, size_t(length), elements, work_.data(), to)
                  : call_.codec->decode(wire + kWireHead, size_t(length), elements, work_.data(), to);
  }
  if (problem == nullptr) return true;
  fail(Code::internal, (a.peer == kLocal ? "what this rank" : "what rank " + std::to_string(a.peer)) +
                           " encoded of chunk " + std::to_string(a.chunk) + " cannot be decoded: " + problem +
                           "; please report it");
  return false;
}

void Machine::decode_reduce(uint32_t w, const Action& a, size_t elements) noexcept {
  const Source* sources = &call_.schedule->sources[a.first_source];
  std::byte* const to = local(a.dst, w);
  const std::byte* own = local(sources[0].place, w);
  const uint32_t ranks = a.last ? call_.ranks : 0;
  // Adding commutes, and one addition to each value is what a codec that loses something does anyway.
  if (own == to && !call_.codec->exact()) {
    if (!decode(w, a, sources[1].place, elements, true, to) || ranks == 0 || elements == 0) return;
    const std::byte* sum = to;
    std::byte* scaled = to;
    return call_.fold({&sum, 1, &scaled, 1, elements, ranks, call_.store, kNoOperand, &call_.op});
  }
  std::byte* const value = own == to ? work_.data() + spare_ : to;
  if (!decode(w, a, sources[1].place, elements, false, value)) return;
  const std::byte* const inputs[] = {a.swapped ? value : own, a.swapped ? own : value};
  call_.fold({inputs, 2, &to, 1, elements, ranks, call_.store, kNoOperand, &call_.op});
}

}  // namespace plait::collectives::real
