// plait.h: the library, communicators, registered memory.
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "base/log.h"
#include "runtime/dump.h"
#include "runtime/group.h"
#include "runtime/library.h"
#include "runtime/lists.h"
#include "runtime/registry.h"

using namespace plait;
using namespace plait::runtime;

static_assert(PLAIT_OK == int(Code::ok) && PLAIT_ERR_INVALID == int(Code::invalid) &&
              PLAIT_ERR_MEMORY == int(Code::memory) && PLAIT_ERR_SYSTEM == int(Code::system) &&
              PLAIT_ERR_UNSUPPORTED == int(Code::unsupported) && PLAIT_ERR_TIMEOUT == int(Code::timeout) &&
              PLAIT_ERR_PEER == int(Code::peer) && PLAIT_ERR_MISMATCH == int(Code::mismatch) &&
              PLAIT_ERR_ABORTED == int(Code::aborted) && PLAIT_ERR_STATE == int(Code::state) &&
              PLAIT_ERR_VERSION == int(Code::version) && PLAIT_ERR_AUTH == int(Code::auth) &&
              PLAIT_ERR_INTERNAL == int(Code::internal));

namespace {

bool is_comm(const plait_comm* comm) noexcept { return comm != nullptr && comm->magic == plait_comm::kMagic; }

plait_status no_comm(const char* function) {
  return report({Code::invalid, std::string(function) + ": the communicator is NULL or was destroyed"});
}

log::Level level_of(plait_log_level level) noexcept {
  switch (level) {
    case PLAIT_LOG_DEBUG:
      return log::Level::debug;
    case PLAIT_LOG_INFO:
      return log::Level::info;
    case PLAIT_LOG_ERROR:
      return log::Level::error;
    case PLAIT_LOG_OFF:
      return log::Level::off;
    default:
      return log::Level::warn;
  }
}

plait_log_level level_to_c(log::Level level) noexcept {
  if (level <= log::Level::debug) return PLAIT_LOG_DEBUG;
  if (level == log::Level::info) return PLAIT_LOG_INFO;
  return level == log::Level::warn ? PLAIT_LOG_WARN : PLAIT_LOG_ERROR;
}

Status apply(const plait_config* config) {
  if (!log::environment_makes_sense()) {
    return {Code::invalid, "PLAIT_LOG is none of trace, debug, info, warn, error, off"};
  }
  PLAIT_TRY(check_dump_prefix());
  if (config == nullptr) return {};
  plait_config given{};
  PLAIT_TRY(check_struct(config, config->struct_size, sizeof given, "plait_config"));
  std::memcpy(&given, config, std::min(config->struct_size, sizeof given));
  if (given.log_level < PLAIT_LOG_DEFAULT || given.log_level > PLAIT_LOG_OFF) {
    return {Code::invalid, "plait_config.log_level is none of PLAIT_LOG_*"};
  }
  if (given.log_level != PLAIT_LOG_DEFAULT) log::set_level(level_of(given.log_level));
  if (given.log != nullptr) {
    log::set_sink([sink = given.log, context = given.log_context](log::Level level, std::string_view line) {
      sink(context, level_to_c(level), std::string(line).c_str());
    });
  }
  return {};
}

plait_comm* handle_of(std::unique_ptr<Communicator> impl) {
  auto* handle = new plait_comm;
  handle->impl = std::move(impl);
  adopt(handle);
  return handle;
}

struct Child {
  uint32_t maker;
  int32_t color, key;
};

plait_status make_child(const char* function, plait_comm* comm, const Child& what,
                        const plait_comm_config* config, plait_comm** child) {
  if (!is_comm(comm)) return no_comm(function);
  if (child == nullptr) return report({Code::invalid, std::string(function) + ": child is NULL"});
  if (forked()) return report(check_ready());
  Communicator& parent = *comm->impl;
  auto made = resolve_child(parent.config(), config);
  if (!made.ok()) return report(parent, made.status());
  auto impl = parent.split(what.maker, what.color, what.key, *made);
  if (!impl.ok()) return report(parent, impl.status());
  *child = *impl == nullptr ? nullptr : handle_of(std::move(impl).value());
  return PLAIT_OK;
}

}  // namespace

extern "C" {

int plait_version(void) { return PLAIT_VERSION; }

const char* plait_status_string(plait_status status) {
  switch (status) {
    case PLAIT_OK:
      return "ok";
    case PLAIT_ERR_INVALID:
      return "invalid argument";
    case PLAIT_ERR_MEMORY:
      return "out of memory, or of a memory limit";
    case PLAIT_ERR_SYSTEM:
      return "the operating system refused a call";
    case PLAIT_ERR_UNSUPPORTED:
      return "not supported here or in this version";
    case PLAIT_ERR_TIMEOUT:
      return "a deadline passed";
    case PLAIT_ERR_PEER:
      return "a peer died or left";
    case PLAIT_ERR_MISMATCH:
      return "ranks called different things";
    case PLAIT_ERR_ABORTED:
      return "the communicator was aborted";
    case PLAIT_ERR_STATE:
      return "the call is not allowed now";
    case PLAIT_ERR_VERSION:
      return "a rank runs another version of plait";
    case PLAIT_ERR_AUTH:
      return "a peer is not who it should be";
    case PLAIT_ERR_INTERNAL:
      return "a bug in plait";
  }
  return "not a status of plait";
}

const char* plait_last_error(const plait_comm* comm) {
  static thread_local std::string text;
  text = is_comm(comm) ? comm->impl->last_error() : thread_error();
  return text.c_str();
}

plait_status plait_init(const plait_config* config) {
  Status status = apply(config);
  return report(status.ok() ? initialise() : status);
}

plait_status plait_finalize(void) { return report(finalise()); }

plait_status plait_get_unique_id(const char* interface_name, uint16_t port_min, uint16_t port_max,
                                 plait_unique_id* id) {
  if (id == nullptr) return report({Code::invalid, "plait_get_unique_id: id is NULL"});
  Status ready = check_ready();
  if (!ready.ok()) return report(ready);
  auto ways = resolve_unique_id(interface_name, port_min, port_max);
  if (!ways.ok()) return report(ways.status());
  static_assert(sizeof id->bytes == sizeof(bootstrap::UniqueId));
  std::memcpy(id->bytes, ways->data(), sizeof id->bytes);
  return PLAIT_OK;
}

plait_status plait_comm_create(const plait_comm_config* config, plait_comm** comm) {
  if (comm == nullptr) return report({Code::invalid, "plait_comm_create: comm is NULL"});
  Status ready = check_ready();
  if (!ready.ok()) return report(ready);
  auto resolved = resolve(config);
  if (!resolved.ok()) return report(resolved.status());
  // A unique id is of one communicator.
  const uint32_t epoch = resolved->unique_id ? 0 : next_epoch(resolved->job, resolved->rank);
  auto impl = Communicator::create(*resolved, epoch);
  if (!impl.ok()) return report(impl.status());
  log::set_name("rank " + std::to_string(resolved->rank));
  *comm = handle_of(std::move(impl).value());
  return PLAIT_OK;
}

plait_status plait_comm_split(plait_comm* comm, int32_t color, int32_t key, const plait_comm_config* config,
                              plait_comm** child) {
  if (color < 0 && color != PLAIT_NO_COLOR && is_comm(comm)) {
    return report({Code::invalid, "plait_comm_split: color " + std::to_string(color) +
                                      " is negative, and not PLAIT_NO_COLOR"});
  }
  return make_child("plait_comm_split", comm, {kSplitCall, color, key}, config, child);
}

plait_status plait_comm_dup(plait_comm* comm, const plait_comm_config* config, plait_comm** child) {
  return make_child("plait_comm_dup", comm, {kDupCall, 0, 0}, config, child);
}

plait_status plait_comm_destroy(plait_comm* comm) {
  if (!is_comm(comm)) return no_comm("plait_comm_destroy");
  if (forked()) return report(check_ready());
  if (!disown(comm)) return no_comm("plait_comm_destroy");
  forget_deferred(comm->impl.get());
  const bool pending = comm->impl->pending();
  if (pending) comm->impl->abort();
  Status status = comm->impl->leave();
  // A communicator that broke before has told so; destroying it is all that was asked now.
  if (pending)
    status = Status(Code::state, "plait_comm_destroy: operations were pending; they are abandoned");
  comm->magic = 0;
  delete comm;
  return report(status);
}

plait_status plait_comm_abort(plait_comm* comm) {
  if (!is_comm(comm)) return no_comm("plait_comm_abort");
  if (forked()) return report(check_ready());
  comm->impl->abort();
  return PLAIT_OK;
}

plait_status plait_comm_dump(plait_comm* comm, const char* path) {
  if (!is_comm(comm)) return no_comm("plait_comm_dump");
  if (forked()) return report(check_ready());
  if (path != nullptr && *path == 0) return report({Code::invalid, "plait_comm_dump: path is empty"});
  return report(comm->impl->dump(path));
}

plait_status plait_comm_rank(const plait_comm* comm, int32_t* rank) {
  if (!is_comm(comm)) return no_comm("plait_comm_rank");
  if (rank == nullptr) return report({Code::invalid, "plait_comm_rank: rank is NULL"});
  *rank = comm->impl->rank();
  return PLAIT_OK;
}

plait_status plait_comm_size(const plait_comm* comm, int32_t* size) {
  if (!is_comm(comm)) return no_comm("plait_comm_size");
  if (size == nullptr) return report({Code::invalid, "plait_comm_size: size is NULL"});
  *size = comm->impl->size();
  return PLAIT_OK;
}

plait_status plait_comm_levels(const plait_comm* comm, plait_level* levels, size_t capacity, size_t* count) {
  if (!is_comm(comm)) return no_comm("plait_comm_levels");
  if (count == nullptr || (levels == nullptr && capacity > 0)) {
    return report({Code::invalid, "plait_comm_levels: count, or levels with a capacity, is NULL"});
  }
  const Levels here = comm->impl->levels();
  std::vector<plait_level> all;
  if (here.pods > 0) all.push_back({0, "pod", "icl", here.linked, here.pods});
  all.push_back({0, "host", "shm", here.near, here.hosts});
  if (here.hosts > 1) {
    all.push_back({0, "network", "", comm->impl->size(), 1});
    const std::string network = between_hosts(comm->impl->config().network);
    network.copy(all.back().transport, sizeof all.back().transport - 1);
  }
  const size_t known = all.size();
  const Status status = write_list(levels, capacity, std::span<const plait_level>(all), "plait_level");
  if (!status.ok()) return report(status);
  *count = known;
  return PLAIT_OK;
}

plait_status plait_register(const plait_memory* memory, plait_region** region) {
  if (memory == nullptr || region == nullptr)
    return report({Code::invalid, "plait_register: an argument is NULL"});
  Status status = check_ready();
  if (status.ok()) status = check_struct(memory, memory->struct_size, sizeof *memory, "plait_memory");
  if (!status.ok()) return report(status);
  plait_memory given{};
  std::memcpy(&given, memory, std::min(memory->struct_size, sizeof given));
  if (given.base == nullptr || given.bytes == 0)
    return report({Code::invalid, "plait_register: base is NULL or bytes is 0"});
  if (reinterpret_cast<uintptr_t>(given.base) + given.bytes < given.bytes) {
    return report({Code::invalid, "plait_register: base + bytes overflows"});
  }
  if (given.kind != PLAIT_MEMORY_HOST || given.has_dmabuf != 0) {
    return report(
        {Code::unsupported, "plait_register: device memory and dmabuf are not supported in this version"});
  }
  *region = new plait_region{plait_region::kMagic, add_registration(given.base, given.bytes)};
  return PLAIT_OK;
}

plait_status plait_deregister(plait_region* region) {
  if (region == nullptr || region->magic != plait_region::kMagic) {
    return report({Code::invalid, "plait_deregister: the region is NULL or was deregistered"});
  }
  if (forked()) return report(check_ready());
  remove_registration(region->registration);
  region->magic = 0;
  delete region;
  return PLAIT_OK;
}

}  // extern "C"
