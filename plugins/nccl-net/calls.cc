#include "calls.h"

#include <algorithm>
#include <array>
#include <exception>

#include "base/log.h"
#include "logging.h"
#include "plugin.h"

namespace plait::nccl::calls {
namespace {

constexpr int kSpeedMost = 1'000'000'000;
constexpr size_t kLongest = size_t{1} << 30;  // test() tells sizes as int
constexpr int kMostComms = 65536;

// What allocates may throw.
template <class F>
NcclResult guard(const char* call, F&& f) noexcept {
  try {
    return report(f(), call);
  } catch (const std::exception& e) {
    log::error("{}: {}", call, e.what());
    return NcclResult::system_error;
  }
}

Status missing(const char* what) { return {Code::invalid, std::string(what) + " is null"}; }

void fill(const Device& device, PropertiesV12& p) noexcept {
  p = PropertiesV12{};
  p.guid = device.guid;
  p.pointer_support = pointer_host | (device.device_memory ? pointer_device | pointer_dmabuf : 0);
  p.speed = std::min(device.speed_mbps, kSpeedMost);
  p.port = device.port;
  p.latency = device.latency_us;
  p.max_comms = kMostComms;
  p.max_receives = kMostReceives;
  p.device_type = DeviceType::host;
  p.max_p2p_bytes = p.max_coll_bytes = kLongest;
  p.max_multi_request_size = 1;
  p.rail = p.plane = unset;
  p.virtual_device.count = int(device.members.size());
  std::copy(device.members.begin(), device.members.end(), p.virtual_device.devices);
}

}  // namespace

NcclResult init(Logger logger) noexcept {
  return guard("init", [&] { return plugin().start(logger); });
}

NcclResult init(void** context, Config* config, Logger logger) noexcept {
  return guard("init", [&]() -> Status {
    if (context == nullptr) return missing("the place for the context");
    Context* made = nullptr;
    PLAIT_TRY(plugin().start(logger, config != nullptr ? config->traffic_class : unset, made));
    *context = made;
    return {};
  });
}

NcclResult finalize(void* context) noexcept {
  return guard("finalize", [&]() -> Status {
    plugin().finish(static_cast<Context*>(context));
    return {};
  });
}

NcclResult devices(int* count) noexcept {
  return guard("devices", [&]() -> Status {
    if (count == nullptr) return missing("the place for the count");
    *count = plugin().device_count();
    return {};
  });
}

// Names have to stay: they are kept by the plugin's device, which stays as long as it is started.
NcclResult properties(int number, PropertiesV12* properties) noexcept {
  return guard("getProperties", [&]() -> Status {
    if (properties == nullptr) return missing("the place for the properties");
    const auto device = plugin().device(number);
    if (!device.ok()) return device.status();
    fill(**device, *properties);
    properties->name = const_cast<char*>((*device)->name.c_str());
    if (!(*device)->pci_path.empty()) properties->pci_path = const_cast<char*>((*device)->pci_path.c_str());
    return {};
  });
}

NcclResult join(int* device, const int* members, int count) noexcept {
  return guard("makeVDevice", [&]() -> Status {
    if (device == nullptr || members == nullptr) return missing("the device or its members");
    const size_t some = size_t(std::clamp(count, 0, int(std::size(PropertiesV12().virtual_device.devices))));
    if (int(some) != count) return {Code::invalid, std::to_string(count) + " members of a virtual device"};
    const auto joined = plugin().join(std::vector<int>(members, members + some));
    if (joined.ok()) *device = *joined;
    return joined.status();
  });
}

NcclResult listen(void* context, int device, void* handle, void** listen_comm) noexcept {
  return guard("listen", [&]() -> Status {
    if (handle == nullptr || listen_comm == nullptr) return missing("the handle or the place for the comm");
    const auto made = plugin().listen(static_cast<Context*>(context), device, handle);
    if (made.ok()) *listen_comm = *made;
    return made.status();
  });
}

NcclResult connect(void* context, int device, int traffic_class, void* handle, void** send_comm) noexcept {
  return guard("connect", [&]() -> Status {
    if (handle == nullptr || send_comm == nullptr) return missing("the handle or the place for the comm");
    *send_comm = nullptr;
    const auto made = plugin().connect(static_cast<Context*>(context), device, traffic_class, handle);
    if (made.ok()) *send_comm = *made;
    return made.status();
  });
}

NcclResult accept(void* listen_comm, void** receive_comm) noexcept {
  return guard("accept", [&]() -> Status {
    if (receive_comm == nullptr) return missing("the place for the comm");
    *receive_comm = nullptr;
    const auto made = plugin().accept(listen_comm);
    if (made.ok()) *receive_comm = *made;
    return made.status();
  });
}

NcclResult close_listen(void* listen_comm) noexcept {
  return guard("closeListen", [&]() -> Status {
    plugin().close_listener(listen_comm);
    return {};
  });
}

NcclResult close_comm(void* comm) noexcept {
  return guard("close", [&]() -> Status {
    plugin().close(static_cast<Comm*>(comm));
    return {};
  });
}

NcclResult register_memory(void* comm, void* data, size_t size, int type, uint64_t offset, int dmabuf,
                           void** memory) noexcept {
  return guard("regMr", [&]() -> Status {
    if (comm == nullptr || memory == nullptr) return missing("the comm or the place for the registration");
    transport::Memory its{.base = data, .bytes = size};
    if (type != pointer_host) its.kind = transport::MemoryKind::device;
    its.dmabuf = dmabuf;
    its.dmabuf_offset = offset;
    const auto made = plugin().expose(static_cast<Comm*>(comm), its);
    if (made.ok()) *memory = *made;
    return made.status();
  });
}

NcclResult deregister_memory(void* comm, void* memory) noexcept {
  return guard("deregMr", [&]() -> Status {
    if (memory == nullptr) return {};
    return plugin().conceal(static_cast<const Comm*>(comm), static_cast<Memory*>(memory));
  });
}

NcclResult send(void* comm, void* data, size_t size, int tag, void* memory, void** request) noexcept {
  Comm* c = static_cast<Comm*>(comm);
  if (c == nullptr || !c->sends() || request == nullptr)
    return report(missing("the send comm or the request"), "isend");
  Request* made = nullptr;
  const Status status = c->send({data, size, tag, static_cast<Memory*>(memory)}, made);
  *request = made;
  return status.ok() ? NcclResult::success : report(status, "isend");
}

NcclResult receive(void* comm, int count, void** data, const size_t* sizes, const int* tags, void** memories,
                   void** request) noexcept {
  Comm* c = static_cast<Comm*>(comm);
  if (c == nullptr || c->sends() || request == nullptr)
    return report(missing("the receive comm or the request"), "irecv");
  if (count < 1 || count > kMostReceives) {
    return report(
        {Code::internal, c->name() + ": " + std::to_string(count) + " receives together, there can be 1 to " +
                             std::to_string(kMostReceives)},
        "irecv");
  }
  std::array<Piece, kMostReceives> pieces;
  for (size_t i = 0; i < size_t(count); i++) {
    auto* memory = memories != nullptr ? static_cast<Memory*>(memories[i]) : nullptr;
    pieces[i] = {data[i], sizes[i], tags[i], memory};
  }
  Request* made = nullptr;
  const Status status = c->receive({pieces.data(), size_t(count)}, made);
  *request = made;
  return status.ok() ? NcclResult::success : report(status, "irecv");
}

// What landed in the host's memory is visible, and no fabric reaches a GPU's without ordering that itself.
NcclResult flush(void* comm, void** request) noexcept {
  if (comm == nullptr || request == nullptr) return report(missing("the comm or the request"), "iflush");
  static_cast<Comm*>(comm)->nudge();
  *request = nullptr;
  return NcclResult::success;
}

NcclResult test(void* request, int* done, int* sizes) noexcept {
  if (request == nullptr || done == nullptr)
    return report(missing("the request or the place for done"), "test");
  Request& its = *static_cast<Request*>(request);
  bool is_done = false;
  const Status status = its.comm->test(its, is_done, sizes);
  *done = is_done ? 1 : 0;
  if (!is_done) plugin().idle();
  return status.ok() ? NcclResult::success : report(status, "test");
}

}  // namespace plait::nccl::calls
