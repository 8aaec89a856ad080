// Stands for an NCCL that is too old for the plugin: it has what nccl_real looks for, and tells its version.
#define PLAIT_EMPTY(name) \
  extern "C" __attribute__((visibility("default"))) int name() { return 1; }

extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  *version = 21905;
  return 0;
}
PLAIT_EMPTY(ncclGetUniqueId)
PLAIT_EMPTY(ncclCommInitRank)
PLAIT_EMPTY(ncclCommDestroy)
PLAIT_EMPTY(ncclCommGetAsyncError)
PLAIT_EMPTY(ncclGetErrorString)
PLAIT_EMPTY(ncclGetLastError)
PLAIT_EMPTY(ncclAllReduce)
PLAIT_EMPTY(ncclAllGather)
PLAIT_EMPTY(ncclSend)
PLAIT_EMPTY(ncclRecv)
PLAIT_EMPTY(ncclGroupStart)
PLAIT_EMPTY(ncclGroupEnd)
