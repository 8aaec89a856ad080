// The calls of all versions, as one: the newest types of each. A table converts what its version has
// otherwise. No exception leaves them.
#pragma once

#include "abi.h"

namespace plait::nccl::calls {

// Versions 8 to 10: for the process. Since 11: for a communicator.
NcclResult init(Logger logger) noexcept;
NcclResult init(void** context, Config* config, Logger logger) noexcept;
NcclResult finalize(void* context) noexcept;

NcclResult devices(int* count) noexcept;
// All fields; those that no device has yet: what NCCL takes for unknown.
NcclResult properties(int device, PropertiesV12* properties) noexcept;

// `device`: the number of a virtual one that joins `members`.
NcclResult join(int* device, const int* members, int count) noexcept;

NcclResult listen(void* context, int device, void* handle, void** listen_comm) noexcept;
NcclResult connect(void* context, int device, int traffic_class, void* handle, void** send_comm) noexcept;
NcclResult accept(void* listen_comm, void** receive_comm) noexcept;
NcclResult close_listen(void* listen_comm) noexcept;
NcclResult close_comm(void* comm) noexcept;

NcclResult register_memory(void* comm, void* data, size_t size, int type, uint64_t offset, int dmabuf,
                           void** memory) noexcept;
NcclResult deregister_memory(void* comm, void* memory) noexcept;

NcclResult send(void* comm, void* data, size_t size, int tag, void* memory, void** request) noexcept;
NcclResult receive(void* comm, int count, void** data, const size_t* sizes, const int* tags, void** memories,
                   void** request) noexcept;
// Nothing is to be flushed: no request.
NcclResult flush(void* comm, void** request) noexcept;
NcclResult test(void* request, int* done, int* sizes) noexcept;

}  // namespace plait::nccl::calls
