#include "rdma/queues.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace plait::rdma {

Result<std::unique_ptr<Queues>> Queues::make(Device& device, ibv_comp_channel& channel, const Needs& needs,
                                             size_t users) {
  const ibv_device_attr& limits = device.attributes().orig_attr;
  users = std::min(
      {users, size_t(limits.max_srq_wr) / needs.receives, size_t(limits.max_cqe) / needs.completions});
  const std::string name(device.name());
  if (users == 0)
    return Status(
        Code::unsupported,
        name + ": its queues are too short for one queue pair: ask for less depth or fewer signals");
  auto made = std::make_unique<Queues>();
  made->completions_.reset(
      ibv_create_cq(&device.context(), int(users * needs.completions), made.get(), &channel, 0));
  if (made->completions_ == nullptr) return Status::system(errno, name + ": a completion queue (ulimit -l?)");
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = uint32_t(users * needs.receives);
  attributes.attr.max_sge = 1;
  made->receives_.reset(ibv_create_srq(&device.pd(), &attributes));
  if (made->receives_ == nullptr)
    return Status::system(errno, name + ": a shared receive queue (ulimit -l?)");
  made->users_ = users;
  made->refill(users * needs.receives);
  return made;
}

Queues::~Queues() {
  if (unacknowledged_ != 0) ibv_ack_cq_events(completions_.get(), unacknowledged_);
}

// To acknowledge an event takes a lock, so it is done for many at once.
void Queues::hush(ibv_comp_channel& channel) noexcept {
  ibv_cq* rung = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(&channel, &rung, &context) == 0) {
    auto& queues = *static_cast<Queues*>(context);
    if (++queues.unacknowledged_ < 1024) continue;
    ibv_ack_cq_events(rung, queues.unacknowledged_);
    queues.unacknowledged_ = 0;
  }
}

// A queue pair may have taken a receive that it never completed. When it did not, the queue is full, which is
// no harm.
void Queues::give() noexcept {
  --used_;
  refill(1);
}

void Queues::refill(size_t count) noexcept {
  constexpr size_t kChain = 64;
  std::array<ibv_recv_wr, kChain> chain;
  while (count != 0) {
    const size_t length = std::min(count, kChain);
    for (size_t i = 0; i < length; ++i) {
      chain[i] = {};
      chain[i].wr_id = kReceive;
      chain[i].next = i + 1 < length ? &chain[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_srq_recv(receives_.get(), chain.data(), &bad) != 0) return;
    count -= length;
  }
}

}  // namespace plait::rdma
