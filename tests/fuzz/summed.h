// Tickets and keys that name their own sum (transport/keys.h).
#pragma once

#include "base/bytes.h"
#include "transport/keys.h"

namespace plait::fuzz {

// Random bytes hardly ever have the sum that they should: these, with the right one. Empty: they are no T.
template <class T>
Bytes with_sum(ByteView bytes) {
  T value;
  if (!take(bytes, value) || !bytes.empty()) return {};
  value.sum = transport::sum_of(value);
  return Bytes(bytes_of(value).begin(), bytes_of(value).end());
}

}  // namespace plait::fuzz
