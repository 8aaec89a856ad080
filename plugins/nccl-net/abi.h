// What NCCL and a network plugin have in common: the layout of the tables a plugin exports and of what NCCL
// passes through them, versions 8 to 12. The names are plait's; order, types and values are the ABI, and are
// never changed.
//
// NCCL looks for the data symbols ncclNetPlugin_v12, _v11 and so on, newest first, and takes the first that
// it knows.
//
//   version  NCCL     brought
//   8        2.20.3   registrations that hold for every comm
//   9        2.24.3   sizes of 64 bits, force_flush, virtual devices, largest transfers
//   10       2.26.2   profiler, traffic class at connect
//   11       2.28.3   a context per communicator, finalize, set_net_attributes, multi-requests
//   12       2.30.3   8 devices in a virtual one, rail and plane
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::nccl {

// What every function returns; ncclResult_t.
enum class NcclResult : int32_t {
  success = 0,
  unhandled_device_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,  // the peer is gone: NCCL's asynchronous error, not a bug of this process
  in_progress = 7,
};

inline constexpr size_t handle_bytes = 128;              // what listen fills and connect reads
inline constexpr int max_requests = 32;                  // of one comm, outstanding
inline constexpr size_t max_transfer = size_t{1} << 40;  // the most max_p2p_bytes and max_coll_bytes may say
inline constexpr int unset = -1;                         // traffic class, attributes, rail and plane
inline constexpr uintptr_t optional_completion = 0x1;    // in *request at irecv: nobody needs the size

// Kinds of memory: bits of `pointer_support`, and the `type` of a registration.
inline constexpr int pointer_host = 0x1;
inline constexpr int pointer_device = 0x2;
inline constexpr int pointer_dmabuf = 0x4;

enum class LogLevel : int32_t { none = 0, version = 1, warn = 2, info = 3, abort = 4, trace = 5 };

// Subsystems: bits of the `flags` of a logger.
inline constexpr unsigned long log_init = 0x1;
inline constexpr unsigned long log_net = 0x10;
inline constexpr unsigned long log_env = 0x80;
inline constexpr unsigned long log_reg = 0x2000;
inline constexpr unsigned long log_profile = 0x4000;
inline constexpr unsigned long log_all = ~0ul;

// NCCL's log, printf-like. Callers other than NCCL may pass none.
using Logger = void (*)(LogLevel level, unsigned long flags, const char* file, int line, const char* format,
                        ...);

// What happened to an event of the plugin, `type` of a ProfilerCallback.
enum class ProfilerEvent : int { start = 0, stop = 1, update = 2, update_and_stop = 3 };

// Reports an event below the profiler's handle that came with isend or irecv. `plugin_id`: the kind of
// network in the upper 16 bits of 32, the version of its description in the lower.
using ProfilerCallback = NcclResult (*)(void** event, int type, void* profiler_handle, int64_t plugin_id,
                                        void* description);

// Who drives a comm's requests: a plugin without code for the device is always `host`.
enum class DeviceType : int32_t { host = 0, unpack = 1, gin_proxy = 2, gin_gdaki = 3 };

// Asked for at connect and accept where the device drives requests; never read or written for
// DeviceType::host.
struct DeviceHandle {
  DeviceType type;
  int version;
  void* handle;
  size_t size;
  int needs_proxy_progress;
};

// The devices that a virtual one joins.
struct VirtualDeviceV9 {
  int count;
  int devices[4];
};
struct VirtualDeviceV12 {
  int count;
  int devices[8];
};

// How a communicator is configured: an argument of connect in version 10, of init since 11.
struct Config {
  int traffic_class;  // or `unset`
};

// What is known of the traffic to come; `unset` where it isn't.
struct CommAttributes {
  int32_t max_concurrent_peers;
  int32_t min_concurrent_peers;
  int32_t max_flows_per_peer;
  int32_t min_flows_per_peer;
};
struct NetAttributes {
  CommAttributes send;
  CommAttributes receive;
  uint32_t operation;
  uint32_t algorithm;
  uint32_t protocol;
};

// A device, as get_properties describes it. The memory comes as it happens to be: every field has to be
// filled.
struct PropertiesV8 {
  char* name;
  char* pci_path;  // below /sys; null for a virtual device
  uint64_t guid;   // the same for all functions of a card
  int pointer_support;
  int reg_is_global;  // a registration holds for every comm
  int speed;          // Mbit/s
  int port;
  float latency;  // microseconds; 0: unknown
  int max_comms;
  int max_receives;  // of one grouped receive
  DeviceType device_type;
  int device_version;
};

struct PropertiesV9 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int pointer_support;
  int reg_is_global;
  int force_flush;  // iflush even where the memory's device orders writes
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_receives;
  DeviceType device_type;
  int device_version;
  VirtualDeviceV9 virtual_device;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
};
using PropertiesV10 = PropertiesV9;

struct PropertiesV11 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int pointer_support;
  int reg_is_global;
  int force_flush;
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_receives;
  DeviceType device_type;
  int device_version;
  VirtualDeviceV9 virtual_device;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
  int max_multi_request_size;
};

struct PropertiesV12 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int pointer_support;
  int reg_is_global;
  int force_flush;
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_receives;
  DeviceType device_type;
  int device_version;
  VirtualDeviceV12 virtual_device;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
  int max_multi_request_size;
  int16_t rail;   // or `unset`
  int16_t plane;  // or `unset`
};

// The tables, one for each version. docs of the calls: the contract is the same in all of them, see the
// plugin.
struct NetV8 {
  const char* name;
  NcclResult (*init)(Logger logger);
  NcclResult (*devices)(int* count);
  NcclResult (*get_properties)(int device, PropertiesV8* properties);
  NcclResult (*listen)(int device, void* handle, void** listen_comm);
  NcclResult (*connect)(int device, void* handle, void** send_comm, DeviceHandle** device_comm);
  NcclResult (*accept)(void* listen_comm, void** receive_comm, DeviceHandle** device_comm);
  NcclResult (*reg_mr)(void* comm, void* data, size_t size, int type, void** memory);
  NcclResult (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                              void** memory);
  NcclResult (*dereg_mr)(void* comm, void* memory);
  NcclResult (*isend)(void* send_comm, void* data, int size, int tag, void* memory, void** request);
  NcclResult (*irecv)(void* receive_comm, int count, void** data, int* sizes, int* tags, void** memories,
                      void** request);
  NcclResult (*iflush)(void* receive_comm, int count, void** data, int* sizes, void** memories,
                       void** request);
  NcclResult (*test)(void* request, int* done, int* sizes);
  NcclResult (*close_send)(void* send_comm);
  NcclResult (*close_receive)(void* receive_comm);
  NcclResult (*close_listen)(void* listen_comm);
  NcclResult (*get_device_mr)(void* comm, void* memory, void** device_memory);
  NcclResult (*irecv_consumed)(void* receive_comm, int count, void* request);
};

struct NetV9 {
  const char* name;
  NcclResult (*init)(Logger logger);
  NcclResult (*devices)(int* count);
  NcclResult (*get_properties)(int device, PropertiesV9* properties);
  NcclResult (*listen)(int device, void* handle, void** listen_comm);
  NcclResult (*connect)(int device, void* handle, void** send_comm, DeviceHandle** device_comm);
  NcclResult (*accept)(void* listen_comm, void** receive_comm, DeviceHandle** device_comm);
  NcclResult (*reg_mr)(void* comm, void* data, size_t size, int type, void** memory);
  NcclResult (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                              void** memory);
  NcclResult (*dereg_mr)(void* comm, void* memory);
  NcclResult (*isend)(void* send_comm, void* data, size_t size, int tag, void* memory, void** request);
  NcclResult (*irecv)(void* receive_comm, int count, void** data, size_t* sizes, int* tags, void** memories,
                      void** request);
  NcclResult (*iflush)(void* receive_comm, int count, void** data, int* sizes, void** memories,
                       void** request);
  NcclResult (*test)(void* request, int* done, int* sizes);
  NcclResult (*close_send)(void* send_comm);
  NcclResult (*close_receive)(void* receive_comm);
  NcclResult (*close_listen)(void* listen_comm);
  NcclResult (*get_device_mr)(void* comm, void* memory, void** device_memory);
  NcclResult (*irecv_consumed)(void* receive_comm, int count, void* request);
  NcclResult (*make_virtual_device)(int* device, VirtualDeviceV9* properties);
};

struct NetV10 {
  const char* name;
  NcclResult (*init)(Logger logger, ProfilerCallback profiler);
  NcclResult (*devices)(int* count);
  NcclResult (*get_properties)(int device, PropertiesV10* properties);
  NcclResult (*listen)(int device, void* handle, void** listen_comm);
  NcclResult (*connect)(int device, Config* config, void* handle, void** send_comm,
                        DeviceHandle** device_comm);
  NcclResult (*accept)(void* listen_comm, void** receive_comm, DeviceHandle** device_comm);
  NcclResult (*reg_mr)(void* comm, void* data, size_t size, int type, void** memory);
  NcclResult (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                              void** memory);
  NcclResult (*dereg_mr)(void* comm, void* memory);
  NcclResult (*isend)(void* send_comm, void* data, size_t size, int tag, void* memory, void* profiler_handle,
                      void** request);
  NcclResult (*irecv)(void* receive_comm, int count, void** data, size_t* sizes, int* tags, void** memories,
                      void** profiler_handles, void** request);
  NcclResult (*iflush)(void* receive_comm, int count, void** data, int* sizes, void** memories,
                       void** request);
  NcclResult (*test)(void* request, int* done, int* sizes);
  NcclResult (*close_send)(void* send_comm);
  NcclResult (*close_receive)(void* receive_comm);
  NcclResult (*close_listen)(void* listen_comm);
  NcclResult (*get_device_mr)(void* comm, void* memory, void** device_memory);
  NcclResult (*irecv_consumed)(void* receive_comm, int count, void* request);
  NcclResult (*make_virtual_device)(int* device, VirtualDeviceV9* properties);
};

struct NetV11 {
  const char* name;
  NcclResult (*init)(void** context, uint64_t comm_id, Config* config, Logger logger,
                     ProfilerCallback profiler);
  NcclResult (*devices)(int* count);
  NcclResult (*get_properties)(int device, PropertiesV11* properties);
  NcclResult (*listen)(void* context, int device, void* handle, void** listen_comm);
  NcclResult (*connect)(void* context, int device, void* handle, void** send_comm,
                        DeviceHandle** device_comm);
  NcclResult (*accept)(void* listen_comm, void** receive_comm, DeviceHandle** device_comm);
  NcclResult (*reg_mr)(void* comm, void* data, size_t size, int type, void** memory);
  NcclResult (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                              void** memory);
  NcclResult (*dereg_mr)(void* comm, void* memory);
  NcclResult (*isend)(void* send_comm, void* data, size_t size, int tag, void* memory, void* profiler_handle,
                      void** request);
  NcclResult (*irecv)(void* receive_comm, int count, void** data, size_t* sizes, int* tags, void** memories,
                      void** profiler_handles, void** request);
  NcclResult (*iflush)(void* receive_comm, int count, void** data, int* sizes, void** memories,
                       void** request);
  NcclResult (*test)(void* request, int* done, int* sizes);
  NcclResult (*close_send)(void* send_comm);
  NcclResult (*close_receive)(void* receive_comm);
  NcclResult (*close_listen)(void* listen_comm);
  NcclResult (*get_device_mr)(void* comm, void* memory, void** device_memory);
  NcclResult (*irecv_consumed)(void* receive_comm, int count, void* request);
  NcclResult (*make_virtual_device)(int* device, VirtualDeviceV9* properties);
  NcclResult (*finalize)(void* context);
  NcclResult (*set_net_attributes)(void* context, NetAttributes* attributes);
};

struct NetV12 {
  const char* name;
  NcclResult (*init)(void** context, uint64_t comm_id, Config* config, Logger logger,
                     ProfilerCallback profiler);
  NcclResult (*devices)(int* count);
  NcclResult (*get_properties)(int device, PropertiesV12* properties);
  NcclResult (*listen)(void* context, int device, void* handle, void** listen_comm);
  NcclResult (*connect)(void* context, int device, void* handle, void** send_comm,
                        DeviceHandle** device_comm);
  NcclResult (*accept)(void* listen_comm, void** receive_comm, DeviceHandle** device_comm);
  NcclResult (*reg_mr)(void* comm, void* data, size_t size, int type, void** memory);
  NcclResult (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                              void** memory);
  NcclResult (*dereg_mr)(void* comm, void* memory);
  NcclResult (*isend)(void* send_comm, void* data, size_t size, int tag, void* memory, void* profiler_handle,
                      void** request);
  NcclResult (*irecv)(void* receive_comm, int count, void** data, size_t* sizes, int* tags, void** memories,
                      void** profiler_handles, void** request);
  NcclResult (*iflush)(void* receive_comm, int count, void** data, int* sizes, void** memories,
                       void** request);
  NcclResult (*test)(void* request, int* done, int* sizes);
  NcclResult (*close_send)(void* send_comm);
  NcclResult (*close_receive)(void* receive_comm);
  NcclResult (*close_listen)(void* listen_comm);
  NcclResult (*get_device_mr)(void* comm, void* memory, void** device_memory);
  NcclResult (*irecv_consumed)(void* receive_comm, int count, void* request);
  NcclResult (*make_virtual_device)(int* device, VirtualDeviceV12* properties);
  NcclResult (*finalize)(void* context);
  NcclResult (*set_net_attributes)(void* context, NetAttributes* attributes);
};

// LP64 is all that NCCL runs on.
static_assert(sizeof(void*) == 8 && sizeof(int) == 4 && sizeof(size_t) == 8 && sizeof(long) == 8);
static_assert(sizeof(DeviceHandle) == 32);
static_assert(sizeof(VirtualDeviceV9) == 20 && sizeof(VirtualDeviceV12) == 36);
static_assert(sizeof(Config) == 4);
static_assert(sizeof(CommAttributes) == 16 && sizeof(NetAttributes) == 44);
static_assert(offsetof(PropertiesV8, speed) == 32 && sizeof(PropertiesV8) == 64);
static_assert(offsetof(PropertiesV9, speed) == 36 && offsetof(PropertiesV9, virtual_device) == 64);
static_assert(offsetof(PropertiesV9, max_p2p_bytes) == 88 && sizeof(PropertiesV9) == 104);
static_assert(offsetof(PropertiesV11, max_multi_request_size) == 104 && sizeof(PropertiesV11) == 112);
static_assert(offsetof(PropertiesV12, max_p2p_bytes) == 104 && sizeof(PropertiesV12) == 128);
static_assert(offsetof(PropertiesV12, max_multi_request_size) == 120 &&
              offsetof(PropertiesV12, plane) == 126);
static_assert(sizeof(NetV8) == 19 * 8 && sizeof(NetV9) == 20 * 8 && sizeof(NetV10) == 20 * 8);
static_assert(sizeof(NetV11) == 22 * 8 && sizeof(NetV12) == 22 * 8);

}  // namespace plait::nccl
