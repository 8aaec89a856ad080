// As much of CUDA's driver and of NCCL as the test of real NCCL calls, found at run time: it is built where
// neither is installed. Types and values are their ABIs'.
#pragma once

#include <cstddef>
#include <string>

namespace plait::test {

struct UniqueId {
  char bytes[128];
};
using Stream = void*;
using NcclComm = void*;

constexpr int kCudaNotReady = 600;
constexpr int kInt32 = 2;  // of NCCL's data types
constexpr int kSum = 0;    // of its operators
constexpr int kInProgress = 7;

struct Cuda {
  int (*init)(unsigned flags);
  int (*device_count)(int* count);
  int (*device)(int* device, int ordinal);
  int (*retain_context)(void** context, int device);
  int (*use_context)(void* context);
  int (*create_stream)(Stream* stream, unsigned flags);
  int (*query_stream)(Stream stream);
  int (*allocate)(unsigned long long* at, size_t bytes);
  int (*release)(unsigned long long at);
  int (*to_device)(unsigned long long to, const void* from, size_t bytes);
  int (*to_host)(void* to, unsigned long long from, size_t bytes);
};

struct Nccl {
  int (*version)(int* version);
  int (*unique_id)(UniqueId* id);
  int (*join)(NcclComm* comm, int size, UniqueId id, int rank);
  int (*leave)(NcclComm comm);
  int (*async_error)(NcclComm comm, int* error);
  const char* (*error_string)(int result);
  const char* (*last_error)(NcclComm comm);
  int (*all_reduce)(const void* from, void* to, size_t count, int type, int op, NcclComm comm, Stream stream);
  int (*all_gather)(const void* from, void* to, size_t count, int type, NcclComm comm, Stream stream);
  int (*send)(const void* from, size_t count, int type, int peer, NcclComm comm, Stream stream);
  int (*receive)(void* to, size_t count, int type, int peer, NcclComm comm, Stream stream);
  int (*group_start)();
  int (*group_end)();
};

// Empty, or why not: which library, or which function of it, is missing.
std::string load(Cuda& cuda);
std::string load(const char* library, Nccl& nccl);

}  // namespace plait::test
