// A provider of libfabric: which way it can be used, its objects, and memory registered with it.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "base/address.h"
#include "transport/ofi/wire.h"
#include "transport/regions.h"

namespace plait::transport::ofi {

template <class T>
struct CloseFid {
  void operator()(T* object) const noexcept { fi_close(&object->fid); }
};
template <class T>
using Fid = std::unique_ptr<T, CloseFid<T>>;
struct FreeInfo {
  void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

// "Connection refused"
std::string reason(ssize_t error);

// What a provider is used as, and what it was asked for to that end.
struct Choice {
  Info info;
  Mode mode = Mode::messages;
  bool network =
      true;  // false: peers are processes of this host, which the provider may read and write by itself
  std::string provider() const { return info->fabric_attr->prov_name; }
  std::string domain() const { return info->domain_attr->name; }
  bool needs(uint64_t mr_mode) const noexcept {
    return (uint64_t(info->domain_attr->mr_mode) & mr_mode) != 0;
  }
  // Signals are bells: this libfabric's ofi_rxm over a provider in software, which is a stream of bytes,
  // crashes where a connection ends within a write with data.
  bool rings() const noexcept {
    return mode == Mode::direct && info->ep_attr->protocol == FI_PROTO_RXM && !needs(FI_MR_PROV_KEY) &&
           fi_version() < FI_VERSION(1, 18) && info->tx_attr->iov_limit > 1 &&
           info->tx_attr->rma_iov_limit > 1;
  }
  double bandwidth_Bps() const noexcept {
    return info->nic != nullptr && info->nic->link_attr != nullptr ? double(info->nic->link_attr->speed) / 8
                                                                   : 0;
  }
};
Result<Choice> choose(const Options& options);
// Why `info`, asked for with no wishes, cannot be used as `mode`; empty: it can.
std::string lacks(const fi_info& info, Mode mode);

// A provider's domain, open: what a Domain and its regions share.
struct Device {
  explicit Device(Choice c) : choice(std::move(c)) {}
  static Result<std::shared_ptr<Device>> open(Choice choice);
  // `rights`: FI_REMOTE_WRITE and the like; any thread.
  Result<Fid<fid_mr>> enroll(void* base, size_t bytes, uint64_t rights);
  uint64_t base_of(const void* at) const noexcept { return choice.needs(FI_MR_VIRT_ADDR) ? uint64_t(at) : 0; }

  const Choice choice;
  Fid<fid_fabric> fabric;
  Fid<fid_domain> domain;
  bool has_fd = false;  // its completion queues offer a descriptor to sleep on
};

// Direct mode: a region that peers may write by themselves, if they may write it; gets are messages.
class DirectRegion final : public Region {
 public:
  // `plain`: what it is for messages.
  static Result<std::unique_ptr<Region>> make(std::shared_ptr<Device> device, std::unique_ptr<Region> plain,
                                              Access access);
  DirectRegion(std::shared_ptr<Device> device, std::unique_ptr<Region> plain, Fid<fid_mr> mr,
               const Key& key) noexcept;
  ~DirectRegion() override;
  ByteView key() const noexcept override { return bytes_of(key_); }
  void* descriptor() const noexcept { return mr_ ? fi_mr_desc(mr_.get()) : nullptr; }
  const Device* device() const noexcept { return device_.get(); }

 private:
  const std::shared_ptr<Device> device_;
  Fid<fid_mr> mr_;
  const std::unique_ptr<Region> plain_;
  const Key key_;
  const int pid_;
};

class DirectPeerRegion final : public PeerRegion {
 public:
  DirectPeerRegion(const Endpoint* endpoint, const Key& key) noexcept
      : PeerRegion(endpoint, key.region), key_(key) {}
  const Key& key() const noexcept { return key_; }

 private:
  const Key key_;
};

}  // namespace plait::transport::ofi
