// What a line with kDescriptorBit holds: where the payload of a message is. Comes from another process: every
// field is checked before it is used.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "transport/mailbox.h"

namespace plait::collectives::real {

enum DescriptorKind : uint32_t {
  kPart = 1,    // in the next part of the stream
  kMapped = 2,  // at `offset` of the sender's shared memory; acknowledged when read
  kPlaced = 3,  // already in the receiver's output
  kPull = 4,    // at `offset` of the sender's region whose key fills the next line; acknowledged when got
};

constexpr uint64_t kNotShared = ~uint64_t(0);

struct Descriptor {
  uint32_t kind;
  uint32_t lines, parts;  // credit for the other direction of the stream
  uint32_t reserved;
  uint64_t offset;
  uint64_t output_offset;  // where the sender's own output lies in its shared memory, or kNotShared
  uint64_t
      length;  // uneven layouts: bytes of the message, all of its segments together; a wire: of it; else 0
};
static_assert(sizeof(Descriptor) <= transport::kLinePayload && std::is_trivially_copyable_v<Descriptor>);

// Credit for the other direction of a stream, at the end of a line between hosts whose bytes leave room for
// it: a message of its own takes as long there as the line.
struct LineCredit {
  uint32_t lines, parts;
  static constexpr size_t kAt = transport::kLinePayload - 2 * sizeof(uint32_t);  // in the payload
};
static_assert(LineCredit::kAt + sizeof(LineCredit) == transport::kLinePayload);

// Into the line that is published next, which has `bytes`.
inline void put_credit(transport::Mailbox& mailbox, uint32_t stream, size_t bytes) noexcept {
  if (bytes > LineCredit::kAt || mailbox.mapped()) return;
  transport::Inbox& in = mailbox.in(stream);
  const LineCredit credit{in.lines(), in.parts()};
  std::memcpy(mailbox.out(stream).next().payload + LineCredit::kAt, &credit, sizeof credit);
  in.credit_carried();
}

// From a line that came, with `bytes`.
inline void take_credit(transport::Mailbox& mailbox, uint32_t stream, const transport::Line& line,
                        size_t bytes) noexcept {
  if (bytes > LineCredit::kAt || mailbox.mapped()) return;
  LineCredit credit;
  std::memcpy(&credit, line.payload + LineCredit::kAt, sizeof credit);
  mailbox.out(stream).acknowledged(credit.lines, credit.parts);
}

}  // namespace plait::collectives::real
