// A network plugin of NCCL, whatever version of the table it is driven through.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "nccl-net/abi.h"

namespace plait::nccl_drive {

using nccl::NcclResult;

inline constexpr int kOldest = 8, kNewest = 12;

// A device, as all versions say it. What a version lacks has the value that NCCL takes for it.
struct Properties {
  std::string name, pci_path;  // pci_path: empty where the plugin has none
  uint64_t guid = 0;
  int pointer_support = 0, reg_is_global = 0, force_flush = 0, speed = 0, port = 0;
  float latency = 0;
  int max_comms = 0, max_receives = 1;
  nccl::DeviceType device_type = nccl::DeviceType::host;
  int device_version = 0;
  std::vector<int> virtual_devices = {0};
  int virtual_count = 1;  // as the plugin says: it may be out of bounds
  size_t max_p2p_bytes = size_t{1} << 30, max_coll_bytes = size_t{1} << 30;
  int max_multi_request_size = 1, rail = nccl::unset, plane = nccl::unset;
};

// The functions of a plugin's table, sizes and arguments as in the newest; each call is told to where().
class Net {
 public:
  virtual ~Net() = default;

  virtual int version() const = 0;
  virtual const char* name() const = 0;
  // The functions that may not be null and are, comma separated; empty: all are there.
  virtual std::string missing() const = 0;
  virtual bool has_finalize() const = 0;
  // Since version 11 a communicator is something of its own; before, init is called once.
  bool per_communicator() const { return version() >= 11; }

  virtual NcclResult init(void** context, uint64_t comm_id, nccl::Config* config, nccl::Logger logger,
                          nccl::ProfilerCallback profiler) = 0;
  virtual NcclResult finalize(void* context) = 0;  // success where the version has none
  virtual NcclResult devices(int* count) = 0;
  // Joins devices to a virtual one; invalid usage where the table has no room for so many, or no such call.
  virtual NcclResult make_virtual_device(const std::vector<int>& members, int* device) = 0;
  // The plugin is given memory full of `fill`.
  virtual NcclResult properties(int device, unsigned char fill, Properties* out) = 0;
  virtual NcclResult listen(void* context, int device, void* handle, void** comm) = 0;
  virtual NcclResult connect(void* context, int device, nccl::Config* config, void* handle, void** comm,
                             nccl::DeviceHandle** device_comm) = 0;
  virtual NcclResult accept(void* listen_comm, void** comm, nccl::DeviceHandle** device_comm) = 0;
  virtual NcclResult reg_mr(void* comm, void* data, size_t bytes, int type, void** memory) = 0;
  virtual NcclResult dereg_mr(void* comm, void* memory) = 0;
  virtual NcclResult isend(void* comm, void* data, size_t bytes, int tag, void* memory, void** request) = 0;
  virtual NcclResult irecv(void* comm, int count, void** data, size_t* sizes, int* tags, void** memories,
                           void** request) = 0;
  virtual NcclResult iflush(void* comm, int count, void** data, int* sizes, void** memories,
                            void** request) = 0;
  virtual NcclResult test(void* request, int* done, int* sizes) = 0;
  virtual NcclResult close_send(void* comm) = 0;
  virtual NcclResult close_receive(void* comm) = 0;
  virtual NcclResult close_listen(void* comm) = 0;
};

// Loads a plugin by path, by name of a file (lib*.so) or, as NCCL_NET_PLUGIN does, by what stands between
// libnccl-net- and .so. Version 0: the newest that it exports. The library goes with the Net.
Result<std::unique_ptr<Net>> open_net(const std::string& plugin, int version);

// "remote error (6)".
std::string name_of(NcclResult result);

}  // namespace plait::nccl_drive
