// A reliable connected queue pair: how it is made, how it gets from one state to the next, how it is given
// work. Sentences of what fails do not say where: the caller knows.
#pragma once

#include "rdma/device.h"
#include "rdma/gid.h"

namespace plait::rdma {

// From one queue pair to the other.
struct Path {
  uint8_t port = 1;
  uint8_t gid_index = 0;  // of this side
  Gid gid{};              // of the other
  uint16_t lid = 0;       // of the other, InfiniBand
  bool global = true;     // by GID, not by LID
  ibv_mtu mtu = IBV_MTU_1024;
  uint32_t queue_pair = 0;               // of the other
  uint32_t first_in = 0, first_out = 0;  // numbers of packets
  uint8_t reads_in = 1, reads_out = 1;   // that may be under way
  uint8_t traffic_class = 0, service_level = 0;
  uint8_t timeout = 14, retries = 6, rnr_retries = 6;
};

class QueuePair {
 public:
  struct Wish {
    ibv_cq* completions = nullptr;
    ibv_srq* receives = nullptr;  // null: it receives nothing
    uint32_t depth = 1, inline_bytes = 0;
    uint64_t user = 0;  // of asynchronous events: DeviceEvent::user
  };
  Status make(Device& device, const Wish& wish);
  explicit operator bool() const noexcept { return made_ != nullptr; }
  uint32_t number() const noexcept { return made_ == nullptr ? 0 : made_->qp_num; }
  ibv_qp* get() const noexcept { return made_.get(); }
  void destroy() noexcept;
  // In a forked child: leaves it to the parent.
  void abandon() noexcept { (void)made_.release(); }

  // To INIT; and from there to where it receives and sends. `rights`: of the other side, regions have their
  // own.
  Status init(uint8_t port, unsigned rights = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  Status bring_up(const Path& path);
  Status reset();
  void fail() noexcept;  // to ERR
  // `attributes` may come from the connection manager. `step` is for the sentence.
  Status set(ibv_qp_attr attributes, int mask, std::string_view step);

  // A chain of RDMA writes and reads; one doorbell. 0, or an errno.
  int post(ibv_send_wr* chain) noexcept;

 private:
  Owned<ibv_qp, ibv_destroy_qp> made_;
  ibv_qp_ex* extended_ = nullptr;  // where the driver has the newer calls
};

// How much a work request can carry inside, `wanted` at most: known only when a queue pair was made.
Result<uint32_t> inline_limit(Device& device, uint32_t wanted);

}  // namespace plait::rdma
