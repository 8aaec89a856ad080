// Messages of several pieces (rule 10): gathered where they leave, scattered where they arrive. They are
// small, or the program would run chunk by chunk, so each fits some lines or one part.
#include <cstring>

#include "base/copy.h"
#include "collectives/machine/real/descriptor.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

static_assert(kJoinedBytes <= kPartBytes);

// May this program run with this layout?
bool Machine::fits_program() noexcept {
  const Schedule& s = *call_.schedule;
  if (s.joined && (!joins(call_.layout) || call_.layout.segments != 1)) {
    fail(Code::internal,
         "a program whose steps move several chunks was to run chunk by chunk: please report it");
    return false;
  }
  return !call_.layout.uneven || check_lengths();
}

size_t Machine::joined_bytes(const Action& a) const noexcept {
  size_t bytes = 0;
  for (uint32_t k = 0; k < a.pieces; k++) {
    const Action& piece = call_.schedule->pieces[a.first_piece + k];
    bytes += call_.layout.bytes(piece.sized_by, piece.chunk, piece.count, 0);
  }
  return bytes;
}

void Machine::gather_pieces(uint32_t w, const Action& a, std::byte* to) const noexcept {
  const Schedule& s = *call_.schedule;
  for (uint32_t k = 0; k < a.pieces; k++) {
    const Action& piece = s.pieces[a.first_piece + k];
    const size_t bytes = call_.layout.bytes(piece.sized_by, piece.chunk, piece.count, 0);
    const Place from = s.sources[piece.first_source].place;
    if (bytes > 0) copy_bytes(to, bound(from.in()).data + offset_of(from, w), bytes);
    to += bytes;
  }
}

Machine::Turn Machine::send_joined(uint32_t w, const Action& a, size_t bytes) noexcept {
  const uint32_t stream = stream_of(a.lane, w);
  Link& link = links_[size_t(a.peer)];
  if (bytes <= (link.mailbox->mapped() ? kInlineBytes : kInlineNetworkBytes)) {
    std::byte message[kInlineBytes];
    gather_pieces(w, a, message);
    return send_lines(w, a, message, bytes);
  }
  Outbox& out = link.mailbox->out(stream);
  if (!out.room_for_parts(1)) look_for_credit(link, stream);
  if (!out.room(1) || !out.room_for_parts(1)) return Turn::blocked;
  gather_pieces(w, a, out.part(0));
  fill_descriptor(a, stream, kPart, 0);
  out.publish_part(call_.tag | kDescriptorBit, uint32_t(bytes));
  ordinals(a.peer, stream).sent++;
  link.mailbox->notify();
  return Turn::done;
}

// `message`: the whole of it. However it came, it is here.
void Machine::scatter_pieces(uint32_t w, const Action& a, const std::byte* message) noexcept {
  const Schedule& s = *call_.schedule;
  for (uint32_t k = 0; k < a.pieces; k++) {
    const Action& piece = s.pieces[a.first_piece + k];
    const size_t bytes = call_.layout.bytes(piece.sized_by, piece.chunk, piece.count, 0);
    if (bytes == 0) continue;
    Arrival* arrivals = arrivals_of(w, piece);
    for (uint32_t i = 0; i < piece.sources; i++) {
      const Source& source = s.sources[piece.first_source + i];
      const std::byte* data =
          source.peer == kLocal ? bound(source.place.in()).data + offset_of(source.place, w) : message;
      arrivals[i] = {data, bytes, Form::whole};
    }
    fold_piece(w, piece, Run{}, 0, bytes);
    message += bytes;
  }
}

}  // namespace plait::collectives::real
