// The tables that NCCL finds by their names, newest first. All calls are those of calls.h; here is only what
// the versions have otherwise.
#include <algorithm>
#include <array>

#include "abi.h"
#include "calls.h"

namespace plait::nccl {
namespace {

constexpr const char* kName = "plait";

NcclResult init_v8(Logger logger) { return calls::init(logger); }
NcclResult init_v10(Logger logger, ProfilerCallback /*profiler*/) { return calls::init(logger); }
NcclResult init_v11(void** context, uint64_t /*comm_id*/, Config* config, Logger logger,
                    ProfilerCallback /*profiler*/) {
  return calls::init(context, config, logger);
}
NcclResult finalize(void* context) { return calls::finalize(context); }
NcclResult set_net_attributes(void* /*context*/, NetAttributes* /*attributes*/) {
  return NcclResult::success;
}

NcclResult devices(int* count) { return calls::devices(count); }

// What versions 8 to 11 have of the newest properties.
template <class P>
void convert(const PropertiesV12& from, P& to) noexcept {
  to = P{};
  to.name = from.name;
  to.pci_path = from.pci_path;
  to.guid = from.guid;
  to.pointer_support = from.pointer_support;
  to.reg_is_global = from.reg_is_global;
  to.speed = from.speed;
  to.port = from.port;
  to.latency = from.latency;
  to.max_comms = from.max_comms;
  to.max_receives = from.max_receives;
  to.device_type = from.device_type;
  to.device_version = from.device_version;
  if constexpr (requires { to.virtual_device; }) {
    to.force_flush = from.force_flush;
    // One of more members can be made by version 12 alone.
    to.virtual_device.count = std::min(from.virtual_device.count, int(std::size(to.virtual_device.devices)));
    std::copy_n(from.virtual_device.devices, to.virtual_device.count, to.virtual_device.devices);
    to.max_p2p_bytes = from.max_p2p_bytes;
    to.max_coll_bytes = from.max_coll_bytes;
  }
  if constexpr (requires { to.max_multi_request_size; })
    to.max_multi_request_size = from.max_multi_request_size;
}

template <class P>
NcclResult properties(int device, P* to) {
  if (to == nullptr) return calls::properties(device, nullptr);
  PropertiesV12 newest;
  const NcclResult result = calls::properties(device, &newest);
  if (result == NcclResult::success) convert(newest, *to);
  return result;
}
NcclResult properties_v12(int device, PropertiesV12* to) { return calls::properties(device, to); }

template <class V>
NcclResult make_virtual_device(int* device, V* members) {
  constexpr int kMost = int(std::size(V().devices));
  if (members == nullptr || members->count > kMost) return calls::join(device, nullptr, 0);
  return calls::join(device, members->devices, members->count);
}

NcclResult listen_v8(int device, void* handle, void** listen_comm) {
  return calls::listen(nullptr, device, handle, listen_comm);
}
NcclResult listen_v11(void* context, int device, void* handle, void** listen_comm) {
  return calls::listen(context, device, handle, listen_comm);
}
NcclResult connect_v8(int device, void* handle, void** send_comm, DeviceHandle** /*device_comm*/) {
  return calls::connect(nullptr, device, unset, handle, send_comm);
}
NcclResult connect_v10(int device, Config* config, void* handle, void** send_comm,
                       DeviceHandle** /*device_comm*/) {
  return calls::connect(nullptr, device, config != nullptr ? config->traffic_class : unset, handle,
                        send_comm);
}
NcclResult connect_v11(void* context, int device, void* handle, void** send_comm,
                       DeviceHandle** /*device_comm*/) {
  return calls::connect(context, device, unset, handle, send_comm);
}
NcclResult accept(void* listen_comm, void** receive_comm, DeviceHandle** /*device_comm*/) {
  return calls::accept(listen_comm, receive_comm);
}

NcclResult reg_mr(void* comm, void* data, size_t size, int type, void** memory) {
  return calls::register_memory(comm, data, size, type, 0, -1, memory);
}
NcclResult reg_mr_dmabuf(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                         void** memory) {
  return calls::register_memory(comm, data, size, type, offset, fd, memory);
}
NcclResult dereg_mr(void* comm, void* memory) { return calls::deregister_memory(comm, memory); }

NcclResult isend_v8(void* comm, void* data, int size, int tag, void* memory, void** request) {
  return size < 0 ? NcclResult::invalid_argument
                  : calls::send(comm, data, size_t(size), tag, memory, request);
}
NcclResult isend_v9(void* comm, void* data, size_t size, int tag, void* memory, void** request) {
  return calls::send(comm, data, size, tag, memory, request);
}
NcclResult isend_v10(void* comm, void* data, size_t size, int tag, void* memory, void* /*profiler*/,
                     void** request) {
  return calls::send(comm, data, size, tag, memory, request);
}

NcclResult irecv_v8(void* comm, int count, void** data, int* sizes, int* tags, void** memories,
                    void** request) {
  std::array<size_t, 8> longer{};
  for (int i = 0; i < count && i < int(longer.size()); i++) {
    if (sizes[i] < 0) return NcclResult::invalid_argument;
    longer[size_t(i)] = size_t(sizes[i]);
  }
  return calls::receive(comm, count, data, longer.data(), tags, memories, request);
}
NcclResult irecv_v9(void* comm, int count, void** data, size_t* sizes, int* tags, void** memories,
                    void** request) {
  return calls::receive(comm, count, data, sizes, tags, memories, request);
}
NcclResult irecv_v10(void* comm, int count, void** data, size_t* sizes, int* tags, void** memories,
                     void** /*profilers*/, void** request) {
  return calls::receive(comm, count, data, sizes, tags, memories, request);
}

NcclResult iflush(void* comm, int /*count*/, void** /*data*/, int* /*sizes*/, void** /*memories*/,
                  void** request) {
  return calls::flush(comm, request);
}

NcclResult test(void* request, int* done, int* sizes) { return calls::test(request, done, sizes); }
NcclResult close_comm(void* comm) { return calls::close_comm(comm); }
NcclResult close_listen(void* comm) { return calls::close_listen(comm); }

}  // namespace
}  // namespace plait::nccl

#define PLAIT_EXPORT extern "C" __attribute__((visibility("default"))) const

using namespace plait::nccl;

PLAIT_EXPORT NetV8 ncclNetPlugin_v8 = {
    kName,         init_v8,    devices,    properties<PropertiesV8>,
    listen_v8,     connect_v8, accept,     reg_mr,
    reg_mr_dmabuf, dereg_mr,   isend_v8,   irecv_v8,
    iflush,        test,       close_comm, close_comm,
    close_listen,  nullptr,    nullptr,
};
PLAIT_EXPORT NetV9 ncclNetPlugin_v9 = {
    kName,         init_v8,    devices,    properties<PropertiesV9>,
    listen_v8,     connect_v8, accept,     reg_mr,
    reg_mr_dmabuf, dereg_mr,   isend_v9,   irecv_v9,
    iflush,        test,       close_comm, close_comm,
    close_listen,  nullptr,    nullptr,    make_virtual_device<VirtualDeviceV9>,
};
PLAIT_EXPORT NetV10 ncclNetPlugin_v10 = {
    kName,         init_v10,    devices,    properties<PropertiesV10>,
    listen_v8,     connect_v10, accept,     reg_mr,
    reg_mr_dmabuf, dereg_mr,    isend_v10,  irecv_v10,
    iflush,        test,        close_comm, close_comm,
    close_listen,  nullptr,     nullptr,    make_virtual_device<VirtualDeviceV9>,
};
PLAIT_EXPORT NetV11 ncclNetPlugin_v11 = {
    kName,         init_v11,
    devices,       properties<PropertiesV11>,
    listen_v11,    connect_v11,
    accept,        reg_mr,
    reg_mr_dmabuf, dereg_mr,
    isend_v10,     irecv_v10,
    iflush,        test,
    close_comm,    close_comm,
    close_listen,  nullptr,
    nullptr,       make_virtual_device<VirtualDeviceV9>,
    finalize,      set_net_attributes,
};
PLAIT_EXPORT NetV12 ncclNetPlugin_v12 = {
    kName,         init_v11,
    devices,       properties_v12,
    listen_v11,    connect_v11,
    accept,        reg_mr,
    reg_mr_dmabuf, dereg_mr,
    isend_v10,     irecv_v10,
    iflush,        test,
    close_comm,    close_comm,
    close_listen,  nullptr,
    nullptr,       make_virtual_device<VirtualDeviceV12>,
    finalize,      set_net_attributes,
};
