// What a line with kDescriptorBit holds: where the payload of a message is. Comes from another process: every
// field is checked before it is used.
#pragma once

#include <cstdint>
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

}  // namespace plait::collectives::real
