#include "transport/message_wire.h"

#include "base/copy.h"

namespace plait::transport {
namespace {

const char* refusal_of_transfer(const MessageLine& line) noexcept {
  const MessageFields& f = line.fields;
  if (MessageHandle::index(f.slot) >= kMessageSlots) return "a message to a slot that no link has";
  if (line.flags > kShared) return "a message with unknown flags";
  if (line.flags == kShared) return f.pieces == 0 && f.bytes != 0 ? nullptr : "a shared message of pieces";
  if (line.flags == kStreamed) return are_parts_of(f.pieces, f.bytes) ? nullptr : "a message of wrong parts";
  return f.pieces <= f.bytes && (f.pieces == 0) == (f.bytes == 0) ? nullptr : "a message of wrong pieces";
}

const char* refusal_of_slot(const MessageLine& line) noexcept {
  const MessageFields& f = line.fields;
  if (MessageHandle::index(f.slot) >= kMessageSlots) return "a slot that no link has";
  if (line.id >= kMessageRegions && line.id != kNoRegion) return "a slot in a region that no link has";
  if (f.offset + f.bytes < f.offset) return "a slot that ends beyond all memory";
  return nullptr;
}

}  // namespace

uint16_t own_mapped_rings() noexcept { return copies_by_string ? 1 : 0; }

const char* refusal(const MessageLine& line) noexcept {
  const MessageFields& f = line.fields;
  switch (LineKind(line.kind)) {
    case LineKind::credit:
      return nullptr;
    case LineKind::eager:
      return f.bytes <= kFarEagerBytes ? nullptr : "a short message that is long";
    case LineKind::lent:
      // Else take_lent() would never find the head that it expects.
      if (line.flags != 0 || line.id != 0) return "a lent message with unknown flags";
      return f.bytes <= kEagerBytes && f.bytes != 0 ? nullptr : "a lent message that is not short";
    case LineKind::ask:
      return MessageHandle::index(f.send) < kMessageSends ? nullptr : "a send that no link has";
    case LineKind::direct:
    case LineKind::start:
      return refusal_of_transfer(line);
    case LineKind::post:
      if (f.ahead >= kMessageSlots) return "a slot behind more than there are";
      return refusal_of_slot(line);
    case LineKind::grant:
      if (MessageHandle::index(f.send) >= kMessageSends) return "a grant for a send that no link has";
      return refusal_of_slot(line);
    case LineKind::region:
      if (line.id >= kMessageRegions) return "a region beyond the last one";
      return line.flags != 0 ? nullptr : "a region without a key";
    case LineKind::key:
      if (line.id >= kMessageRegions) return "a key of a region beyond the last one";
      return line.flags != 0 && line.flags < kMessageKeyLines ? nullptr : "a key beyond its end";
    case LineKind::taken:
      break;
  }
  return "a line of no known kind";
}

}  // namespace plait::transport
