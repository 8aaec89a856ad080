// What the fake's identities, tickets and keys look like on the wire: plain structs that end in a sum of
// their bytes.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/hash.h"

namespace plait::transport::fake {

struct Identity {
  uint64_t network = 0, domain = 0;
};

struct Ticket {
  static constexpr uint64_t kMagic = 0x31746b6374616c70;
  uint64_t magic = kMagic;
  Identity owner;
  uint64_t endpoint = 0, nonce = 0;
  uint64_t sum = 0;
};

struct Key {
  static constexpr uint64_t kMagic = 0x3179656b74616c70;
  uint64_t magic = kMagic;
  Identity owner;
  uint64_t nonce = 0, bytes = 0, access = 0;
  uint64_t sum = 0;
};

// FNV-1a. It finds damage; forgers are found by the nonce.
inline uint64_t sum_of(ByteView bytes) noexcept { return fnv1a(bytes); }

template <class T>
void seal(T& value) noexcept {
  value.sum = sum_of(bytes_of(value).first(sizeof value - sizeof value.sum));
}

// False when `view` is not exactly one undamaged T.
template <class T>
bool unseal(ByteView view, T& value) noexcept {
  if (view.size() != sizeof value || !take(view, value)) return false;
  return value.magic == T::kMagic &&
         value.sum == sum_of(bytes_of(value).first(sizeof value - sizeof value.sum));
}

}  // namespace plait::transport::fake
