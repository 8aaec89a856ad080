#include "cuda.h"

#include <dlfcn.h>

namespace plait::test {
namespace {

class Library {
 public:
  explicit Library(const char* name) : name_(name), handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) why_ = dlerror();
  }
  template <class F>
  void find(F*& function, const char* symbol) {
    if (handle_ == nullptr) return;
    function = reinterpret_cast<F*>(dlsym(handle_, symbol));
    if (function == nullptr) why_ = std::string(name_) + " has no " + symbol;
  }
  const std::string& why() const { return why_; }

 private:
  const char* const name_;
  void* const handle_;
  std::string why_;
};

}  // namespace

std::string load(Cuda& cuda) {
  Library library("libcuda.so.1");
  library.find(cuda.init, "cuInit");
  library.find(cuda.device_count, "cuDeviceGetCount");
  library.find(cuda.device, "cuDeviceGet");
  library.find(cuda.retain_context, "cuDevicePrimaryCtxRetain");
  library.find(cuda.use_context, "cuCtxSetCurrent");
  library.find(cuda.create_stream, "cuStreamCreate");
  library.find(cuda.query_stream, "cuStreamQuery");
  library.find(cuda.allocate, "cuMemAlloc_v2");
  library.find(cuda.release, "cuMemFree_v2");
  library.find(cuda.to_device, "cuMemcpyHtoD_v2");
  library.find(cuda.to_host, "cuMemcpyDtoH_v2");
  return library.why();
}

std::string load(const char* name, Nccl& nccl) {
  Library library(name);
  library.find(nccl.version, "ncclGetVersion");
  library.find(nccl.unique_id, "ncclGetUniqueId");
  library.find(nccl.join, "ncclCommInitRank");
  library.find(nccl.leave, "ncclCommDestroy");
  library.find(nccl.async_error, "ncclCommGetAsyncError");
  library.find(nccl.error_string, "ncclGetErrorString");
  library.find(nccl.last_error, "ncclGetLastError");
  library.find(nccl.all_reduce, "ncclAllReduce");
  library.find(nccl.all_gather, "ncclAllGather");
  library.find(nccl.send, "ncclSend");
  library.find(nccl.receive, "ncclRecv");
  library.find(nccl.group_start, "ncclGroupStart");
  library.find(nccl.group_end, "ncclGroupEnd");
  return library.why();
}

}  // namespace plait::test
