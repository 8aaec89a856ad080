#include "transport/icl/region.h"

namespace plait::transport::icl {

Result<std::unique_ptr<Region>> IclRegion::make(std::shared_ptr<Device> device, const Memory& memory,
                                                Access access, uint64_t owner) {
  const std::string who = "icl:" + device->address();
  icl_memory* known = nullptr;
  icl_status status =
      icl_register(device->handle(), device->chip(), ICL_HOST_POINTER, memory.base, memory.bytes, &known);
  if (status != ICL_OK) return failure(status, who + ": memory cannot be exposed");
  auto made = std::make_unique<IclRegion>(std::move(device), known, memory);
  status = icl_export(known, 0, memory.bytes, rights_of(access), &made->exported_);
  if (status != ICL_OK) return failure(status, who + ": memory cannot be exposed");
  made->key_.access = uint8_t(access);
  std::memcpy(made->key_.memory.data(), icl_key(made->exported_), ICL_KEY_BYTES);
  made->key_.owner = owner;
  made->key_.sum = sum_of(made->key_);
  return std::unique_ptr<Region>(std::move(made));
}

IclRegion::~IclRegion() {
  icl_revoke(exported_);
  (void)icl_free(known_);
}

}  // namespace plait::transport::icl
