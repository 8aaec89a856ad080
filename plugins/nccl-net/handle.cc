#include "handle.h"

#include <algorithm>
#include <cstddef>

#include "bootstrap/crypto.h"
#include "runtime/rail_spec.h"
#include "transport/keys.h"

namespace plait::nccl {
namespace {

uint64_t sum_of(const Handle& handle) noexcept {
  return transport::sum_of(bytes_of(handle).first(offsetof(Handle, sum)));
}

}  // namespace

Result<Handle> make_handle(std::span<const Address> addresses, size_t rails) {
  if (addresses.empty()) return Status(Code::invalid, "no address of this host that a peer could dial");
  Handle handle;
  PLAIT_TRY(bootstrap::random_bytes(handle.secret));
  handle.address_count = uint16_t(std::min(addresses.size(), kHandleAddresses));
  for (size_t i = 0; i < handle.address_count; i++) {
    handle.addresses[i] = addresses[i];
    handle.addresses[i].scope = 0;  // of this host
  }
  handle.rails = uint32_t(rails);
  handle.sum = sum_of(handle);
  return handle;
}

Result<Handle> parse_handle(ByteView bytes) {
  Handle handle;
  if (!take(bytes, handle) || handle.magic != Handle().magic)
    return Status(Code::invalid,
                  "what it was given is no handle of plait's listen: both sides need the same plugin");
  if (handle.sum != sum_of(handle)) return Status(Code::invalid, "the handle was damaged on its way");
  if (handle.version != Handle().version)
    return Status(Code::version, "the handle is of version " + std::to_string(handle.version) + ", not " +
                                     std::to_string(Handle().version) +
                                     ": all ranks must run the same plait");
  bool fine = handle.zero == 0 && handle.address_count >= 1 && handle.address_count <= kHandleAddresses;
  for (size_t i = 0; fine && i < handle.address_count; i++) {
    const Address& a = handle.addresses[i];
    fine = a.valid() && !a.any() && a.port != 0 && a.scope == 0;
  }
  fine = fine && handle.rails >= 1 && handle.rails <= runtime::kMostRails;
  if (!fine) return Status(Code::invalid, "the handle names no address that could be dialed");
  return handle;
}

bootstrap::SecretPtr secret_of(const Handle& handle) {
  return std::make_shared<const bootstrap::Secret>(handle.secret);
}

}  // namespace plait::nccl
