// A bell that comes as a message: its receiver rings it.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace plait::fabric {

struct BellMessage {
  uint64_t to = 0;  // a number of the endpoint's, not 0, which only the two know
  uint64_t number = 0, bell = 0;
};
static_assert(sizeof(BellMessage) == 24);

inline std::optional<BellMessage> parse_bell_message(ByteView bytes) noexcept {
  BellMessage message;
  return take(bytes, message) && bytes.empty() && message.to != 0 ? std::optional(message) : std::nullopt;
}

}  // namespace plait::fabric
