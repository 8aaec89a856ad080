// A completion queue and a shared receive queue for so many queue pairs that neither can overflow: they hold
// what all of them may have under way. When they are full more are made, each twice as large.
#pragma once

#include <memory>

#include "rdma/device.h"

namespace plait::rdma {

constexpr uint64_t kReceive = 0;  // wr_id of all receives

class Queues {
 public:
  struct Needs {
    size_t receives = 0, completions = 0;  // of a queue pair
  };
  // For `users` of them, or as many as the device allows. `channel` is told of completions.
  static Result<std::unique_ptr<Queues>> make(Device& device, ibv_comp_channel& channel, const Needs& needs,
                                              size_t users);
  ~Queues();
  // Room for a queue pair: take it, and give it back when its queue pair is destroyed.
  bool take() noexcept { return used_ < users_ && ++used_ != 0; }
  void give() noexcept;
  size_t users() const noexcept { return users_; }
  ibv_cq& completions() noexcept { return *completions_; }
  ibv_srq& receives() noexcept { return *receives_; }
  // Receives that were used are posted again. One call to the device.
  void refill(size_t count) noexcept;
  bool arm() noexcept { return ibv_req_notify_cq(completions_.get(), 0) == 0; }
  // Takes the events of `channel`, of all queues that it is told of.
  static void hush(ibv_comp_channel& channel) noexcept;

 private:
  unsigned unacknowledged_ = 0;  // events of the channel
  Owned<ibv_cq, ibv_destroy_cq> completions_;
  Owned<ibv_srq, ibv_destroy_srq> receives_;
  size_t users_ = 0, used_ = 0;
};

}  // namespace plait::rdma
