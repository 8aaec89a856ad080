#include "perf/nccl/net.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "perf/nccl/where.h"

namespace plait::nccl_drive {
namespace {

struct Unload {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, Unload>;

template <class Table>
constexpr bool has_context = requires(Table t) {
  t.finalize;
};
template <class Table>
constexpr bool has_connect_config = std::is_same_v<Table, nccl::NetV10>;
template <class Table>
constexpr bool has_profiler = has_context<Table> || has_connect_config<Table>;
template <class Table>
constexpr bool has_large_sizes = !std::is_same_v<Table, nccl::NetV8>;

template <class Function>
struct Second;
template <class A, class B>
struct Second<NcclResult (*)(A, B*)> {
  using Type = B;
};
template <class Table>
using PropertiesOf = typename Second<decltype(Table::get_properties)>::Type;

template <class Raw>
void translate(const Raw& raw, Properties& p) {
  p.name = raw.name != nullptr ? raw.name : "";
  p.pci_path = raw.pci_path != nullptr ? raw.pci_path : "";
  p.guid = raw.guid;
  p.pointer_support = raw.pointer_support;
  p.reg_is_global = raw.reg_is_global;
  p.speed = raw.speed;
  p.port = raw.port;
  p.latency = raw.latency;
  p.max_comms = raw.max_comms;
  p.max_receives = raw.max_receives;
  p.device_type = raw.device_type;
  p.device_version = raw.device_version;
  if constexpr (requires { raw.max_p2p_bytes; }) {
    p.force_flush = raw.force_flush;
    p.virtual_count = raw.virtual_device.count;
    const int room = int(std::size(raw.virtual_device.devices));
    p.virtual_devices.assign(raw.virtual_device.devices,
                             raw.virtual_device.devices + std::clamp(p.virtual_count, 0, room));
    p.max_p2p_bytes = raw.max_p2p_bytes;
    p.max_coll_bytes = raw.max_coll_bytes;
  }
  if constexpr (requires { raw.max_multi_request_size; })
    p.max_multi_request_size = raw.max_multi_request_size;
  if constexpr (requires { raw.rail; }) {
    p.rail = raw.rail;
    p.plane = raw.plane;
  }
}

// A pointer that the plugin did not write would be followed: said to be null instead.
template <class Raw>
void drop_unwritten(Raw& raw, unsigned char fill) {
  for (char** pointer : {&raw.name, &raw.pci_path}) {
    unsigned char bytes[sizeof(char*)];
    std::memcpy(bytes, pointer, sizeof bytes);
    if (std::ranges::count(bytes, fill) == sizeof bytes) *pointer = nullptr;
  }
}

template <class Table>
class NetOf final : public Net {
 public:
  NetOf(int version, const Table& table, Library library)
      : version_(version), table_(table), library_(std::move(library)) {}

  int version() const override { return version_; }
  const char* name() const override { return table_.name != nullptr ? table_.name : ""; }
  bool has_finalize() const override { return has_context<Table>; }

  std::string missing() const override {
    std::string all;
    const auto need = [&](const char* what, auto pointer) {
      if (pointer == nullptr) all += (all.empty() ? "" : ", ") + std::string(what);
    };
    need("name", table_.name);
    need("init", table_.init);
    need("devices", table_.devices);
    need("getProperties", table_.get_properties);
    need("listen", table_.listen);
    need("connect", table_.connect);
    need("accept", table_.accept);
    need("regMr", table_.reg_mr);
    need("deregMr", table_.dereg_mr);
    need("isend", table_.isend);
    need("irecv", table_.irecv);
    need("iflush", table_.iflush);
    need("test", table_.test);
    need("closeSend", table_.close_send);
    need("closeRecv", table_.close_receive);
    need("closeListen", table_.close_listen);
    if constexpr (has_context<Table>) need("finalize", table_.finalize);
    return all;
  }

  NcclResult init(void** context, [[maybe_unused]] uint64_t comm_id, [[maybe_unused]] nccl::Config* config,
                  nccl::Logger logger, [[maybe_unused]] nccl::ProfilerCallback profiler) override {
    const Calling call("init");
    *context = nullptr;
    if constexpr (has_context<Table>) {
      return table_.init(context, comm_id, config, logger, profiler);
    } else if constexpr (has_profiler<Table>) {
      return table_.init(logger, profiler);
    } else {
      return table_.init(logger);
    }
  }
  NcclResult finalize([[maybe_unused]] void* context) override {
    const Calling call("finalize");
    if constexpr (has_context<Table>) return table_.finalize(context);
    return NcclResult::success;
  }
  NcclResult devices(int* count) override {
    const Calling call("devices");
    return table_.devices(count);
  }
  NcclResult make_virtual_device([[maybe_unused]] const std::vector<int>& members,
                                 [[maybe_unused]] int* device) override {
    const Calling call("makeVDevice");
    if constexpr (requires { table_.make_virtual_device; }) {
      typename Second<decltype(Table::make_virtual_device)>::Type all{};
      if (table_.make_virtual_device == nullptr || members.size() > std::size(all.devices))
        return NcclResult::invalid_usage;
      all.count = int(members.size());
      std::ranges::copy(members, all.devices);
      return table_.make_virtual_device(device, &all);
    }
    return NcclResult::invalid_usage;
  }
  NcclResult properties(int device, unsigned char fill, Properties* out) override {
    const Calling call("getProperties");
    PropertiesOf<Table> raw;
    std::memset(static_cast<void*>(&raw), fill, sizeof raw);
    const NcclResult result = table_.get_properties(device, &raw);
    if (result != NcclResult::success) return result;
    drop_unwritten(raw, fill);
    translate(raw, *out);
    return result;
  }
  NcclResult listen([[maybe_unused]] void* context, int device, void* handle, void** comm) override {
    const Calling call("listen");
    if constexpr (has_context<Table>) {
      return table_.listen(context, device, handle, comm);
    } else {
      return table_.listen(device, handle, comm);
    }
  }
  NcclResult connect([[maybe_unused]] void* context, int device, [[maybe_unused]] nccl::Config* config,
                     void* handle, void** comm, nccl::DeviceHandle** device_comm) override {
    const Calling call("connect");
    if constexpr (has_context<Table>) {
      return table_.connect(context, device, handle, comm, device_comm);
    } else if constexpr (has_connect_config<Table>) {
      return table_.connect(device, config, handle, comm, device_comm);
    } else {
      return table_.connect(device, handle, comm, device_comm);
    }
  }
  NcclResult accept(void* listen_comm, void** comm, nccl::DeviceHandle** device_comm) override {
    const Calling call("accept");
    return table_.accept(listen_comm, comm, device_comm);
  }
  NcclResult reg_mr(void* comm, void* data, size_t bytes, int type, void** memory) override {
    const Calling call("regMr");
    return table_.reg_mr(comm, data, bytes, type, memory);
  }
  NcclResult dereg_mr(void* comm, void* memory) override {
    const Calling call("deregMr");
    return table_.dereg_mr(comm, memory);
  }
  NcclResult isend(void* comm, void* data, size_t bytes, int tag, void* memory, void** request) override {
    const Calling call("isend");
    if constexpr (has_profiler<Table>) {
      return table_.isend(comm, data, bytes, tag, memory, nullptr, request);
    } else if constexpr (has_large_sizes<Table>) {
      return table_.isend(comm, data, bytes, tag, memory, request);
    } else {
      return table_.isend(comm, data, int(bytes), tag, memory, request);
    }
  }
  NcclResult irecv(void* comm, int count, void** data, size_t* sizes, int* tags, void** memories,
                   void** request) override {
    const Calling call("irecv");
    if constexpr (has_profiler<Table>) {
      std::vector<void*>& handles = no_profiler_;
      handles.assign(size_t(count), nullptr);
      return table_.irecv(comm, count, data, sizes, tags, memories, handles.data(), request);
    } else if constexpr (has_large_sizes<Table>) {
      return table_.irecv(comm, count, data, sizes, tags, memories, request);
    } else {
      std::vector<int> narrow(sizes, sizes + count);
      return table_.irecv(comm, count, data, narrow.data(), tags, memories, request);
    }
  }
  NcclResult iflush(void* comm, int count, void** data, int* sizes, void** memories,
                    void** request) override {
    const Calling call("iflush");
    return table_.iflush(comm, count, data, sizes, memories, request);
  }
  NcclResult test(void* request, int* done, int* sizes) override {
    const Calling call("test");
    return table_.test(request, done, sizes);
  }
  NcclResult close_send(void* comm) override {
    const Calling call("closeSend");
    return table_.close_send(comm);
  }
  NcclResult close_receive(void* comm) override {
    const Calling call("closeRecv");
    return table_.close_receive(comm);
  }
  NcclResult close_listen(void* comm) override {
    const Calling call("closeListen");
    return table_.close_listen(comm);
  }

 private:
  int version_;
  Table table_;
  std::vector<void*> no_profiler_;  // irecv is of one thread
  Library library_;
};

Result<Library> load(const std::string& plugin) {
  std::string said;
  for (const std::string& name : {plugin, "libnccl-net-" + plugin + ".so"}) {
    if (void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(library);
    said += (said.empty() ? "" : "; ") + std::string(::dlerror());
    if (plugin.find('/') != std::string::npos) break;  // a path is no name
  }
  return Status(Code::invalid, "cannot load the plugin " + plugin + ": " + said);
}

template <class Table>
std::unique_ptr<Net> make(int version, const void* table, Library& library) {
  return std::make_unique<NetOf<Table>>(version, *static_cast<const Table*>(table), std::move(library));
}

}  // namespace

Result<std::unique_ptr<Net>> open_net(const std::string& plugin, int version) {
  Result<Library> library = load(plugin);
  if (!library.ok()) return library.status();
  for (int v = version == 0 ? kNewest : version; v >= (version == 0 ? kOldest : version); --v) {
    const void* table = ::dlsym(library->get(), ("ncclNetPlugin_v" + std::to_string(v)).c_str());
    if (table == nullptr) continue;
    switch (v) {
      case 12:
        return make<nccl::NetV12>(v, table, *library);
      case 11:
        return make<nccl::NetV11>(v, table, *library);
      case 10:
        return make<nccl::NetV10>(v, table, *library);
      case 9:
        return make<nccl::NetV9>(v, table, *library);
      default:
        return make<nccl::NetV8>(v, table, *library);
    }
  }
  return Status(
      Code::invalid,
      "the plugin " + plugin + " exports no ncclNetPlugin_v" +
          (version == 0 ? "8 to _v12" : std::to_string(version) + "; see nm -D, or another --net-version"));
}

std::string name_of(NcclResult result) {
  static constexpr const char* kNames[] = {
      "success",          "unhandled device error", "system error", "internal error",
      "invalid argument", "invalid usage",          "remote error", "in progress"};
  const auto at = size_t(result);
  return std::string(at < std::size(kNames) ? kNames[at] : "unknown result") + " (" +
         std::to_string(int(result)) + ")";
}

}  // namespace plait::nccl_drive
