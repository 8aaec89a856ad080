// plait.h: codecs of the user's own, and what codecs keep.
#include <algorithm>
#include <cstring>

#include "runtime/api.h"
#include "runtime/codecs.h"

using namespace plait;
using namespace plait::runtime;

namespace {

// The communicator, with nothing pending; else why not.
Status check_idle(const char* function, const plait_comm* comm) {
  if (comm == nullptr || comm->magic != plait_comm::kMagic)
    return bad(function, "the communicator is NULL or was destroyed");
  PLAIT_TRY(check_ready());
  if (!comm->impl->pending()) return {};
  return {Code::state, std::string(function) + ": operations are pending; wait for them first"};
}

}  // namespace

extern "C" {

plait_status plait_codec_register(const plait_codec_desc* desc) {
  if (desc == nullptr) return report(bad("plait_codec_register", "desc is NULL"));
  Status status = check_ready();
  plait_codec_desc given{};
  if (status.ok()) status = check_struct(desc, desc->struct_size, sizeof given, "plait_codec_desc");
  if (!status.ok()) return report(status);
  std::memcpy(&given, desc, std::min(desc->struct_size, sizeof given));
  status = add_codec(given);
  return status.ok() ? PLAIT_OK : report(status);
}

plait_status plait_codec_state_save(plait_comm* comm, void* buffer, size_t capacity, size_t* length) {
  constexpr const char* kName = "plait_codec_state_save";
  if (length == nullptr || (buffer == nullptr && capacity > 0))
    return report(bad(kName, "an argument is NULL"));
  Status status = check_idle(kName, comm);
  if (!status.ok()) return report(status);
  const Communicator& c = *comm->impl;
  const Bytes all = comm->impl->tensors().save(c.rank(), c.size());
  if (all.size() <= capacity) std::memcpy(buffer, all.data(), all.size());
  *length = all.size();
  return PLAIT_OK;
}

plait_status plait_codec_state_load(plait_comm* comm, const void* buffer, size_t length) {
  constexpr const char* kName = "plait_codec_state_load";
  if (buffer == nullptr) return report(bad(kName, "buffer is NULL"));
  Status status = check_idle(kName, comm);
  if (!status.ok()) return report(status);
  const ByteView bytes(static_cast<const std::byte*>(buffer), length);
  status = comm->impl->tensors().load(bytes, comm->impl->rank(), comm->impl->size());
  return status.ok() ? PLAIT_OK : report(*comm->impl, status);
}

plait_status plait_codec_get_stats(plait_comm* comm, plait_codec_stats* stats) {
  constexpr const char* kName = "plait_codec_get_stats";
  if (stats == nullptr) return report(bad(kName, "stats is NULL"));
  if (comm == nullptr || comm->magic != plait_comm::kMagic)
    return report(bad(kName, "the communicator is NULL or was destroyed"));
  if (forked()) return report(check_ready());
  if (stats->struct_size < sizeof(size_t)) return report(bad(kName, "struct_size is not set"));
  plait_codec_stats all = comm->impl->codec_stats();
  all.struct_size = std::min(stats->struct_size, sizeof all);
  std::memcpy(stats, &all, all.struct_size);
  return PLAIT_OK;
}

}  // extern "C"
