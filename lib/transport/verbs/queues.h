// A completion queue and a shared receive queue for so many endpoints that neither can overflow: they hold
// what all of them may have under way. A domain makes more of them, each twice as large, as endpoints are
// opened.
#pragma once

#include "transport/verbs/device.h"

namespace plait::transport::verbs {

constexpr uint64_t kReceive = 0;  // wr_id of all receives
constexpr size_t kControls = 8;   // hellos and credits of an endpoint that may be under way, each way

class Queues {
 public:
  struct Needs {
    size_t receives = 0, completions = 0;  // of an endpoint
  };
  // For `endpoints` of them, or as many as the device allows. `channel` is told of completions.
  static Result<std::unique_ptr<Queues>> make(Device& device, ibv_comp_channel& channel, const Needs& needs,
                                              size_t endpoints);
  ~Queues();
  // Room for an endpoint: take it, and give it back when its queue pair is destroyed.
  bool take() noexcept { return used_ < endpoints_ && ++used_ != 0; }
  void give() noexcept;
  size_t endpoints() const noexcept { return endpoints_; }
  ibv_cq& completions() noexcept { return *completions_; }
  ibv_srq& receives() noexcept { return *receives_; }
  // Receives that were used are posted again. One call to the device.
  void refill(size_t count) noexcept;
  bool arm() noexcept { return ibv_req_notify_cq(completions_.get(), 0) == 0; }
  unsigned unacknowledged = 0;  // events of the channel

 private:
  Owned<ibv_cq, ibv_destroy_cq> completions_;
  Owned<ibv_srq, ibv_destroy_srq> receives_;
  size_t endpoints_ = 0, used_ = 0;
};

}  // namespace plait::transport::verbs
