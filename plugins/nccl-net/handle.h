// The 128 bytes that a listener hands out by NCCL: where to dial it, and the secret that proves who was told.
// Functions of the bytes alone. Whoever reads a handle can connect, so it is as secret as NCCL's own
// bootstrap keeps it.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/bytes.h"
#include "base/status.h"
#include "bootstrap/secret.h"

namespace plait::nccl {

constexpr size_t kHandleAddresses = 3;
constexpr size_t kHandleSecret = 24;

struct Handle {
  uint32_t magic = 0x6e61'6c70;
  uint16_t version = 2;
  uint16_t address_count = 0;
  std::array<std::byte, kHandleSecret> secret{};
  std::array<Address, kHandleAddresses> addresses{};  // best first; scopes 0
  uint32_t rails = 1;                                 // of the listener's device
  uint32_t zero = 0;
  uint64_t sum = 0;  // of what is before it
  // Of the process that connects, which gets the same buffer back at each call: which of its attempts this
  // is. 0: none yet.
  uint64_t attempt = 0;
};
static_assert(sizeof(Handle) == 128 && std::is_trivially_copyable_v<Handle>);

// With a fresh secret. At least one address; of more than kHandleAddresses the first. `rails`: 1 to
// runtime::kMostRails.
Result<Handle> make_handle(std::span<const Address> addresses, size_t rails);
// Code::invalid: it is none, or damaged; Code::version: of another plait.
Result<Handle> parse_handle(ByteView bytes);
bootstrap::SecretPtr secret_of(const Handle& handle);

}  // namespace plait::nccl
