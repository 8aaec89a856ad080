// Point 4 with more than two: each process connects to the next while the one before connects to it.
#include <deque>
#include <vector>

#include "perf/nccl/checks.h"
#include "perf/nccl/flow.h"
#include "perf/nccl/peer.h"

namespace plait::nccl_drive {
namespace {

constexpr int kRounds = 3;

Status turn(Side& side, const Link& link, size_t rank, size_t n) {
  for (uint64_t round = 0; round < kRounds; ++round) {
    const auto id = [&](size_t r) { return 1000 * round + 10 * (r % n) + 1; };
    const auto out = messages(2, 5000, id(rank)), in = messages(2, 5000, id(rank + n - 1));
    PLAIT_TRY(exchange(side, link, out, singles(in)));
  }
  return Status();
}

Status member(Side& side, Channel& channel, size_t rank, size_t n) {
  Handle mine, next;
  void* listening = nullptr;
  Link link;
  PLAIT_TRY(side.open());
  PLAIT_TRY(side.listen(&mine, &listening));
  PLAIT_TRY(channel.put(&mine, sizeof mine));
  PLAIT_TRY(channel.get(&next, sizeof next, side.deadline()));
  PLAIT_TRY(side.join(next, listening, &link));
  PLAIT_TRY(side.close_listen(listening));
  PLAIT_TRY(turn(side, link, rank, n));
  PLAIT_TRY(channel.signal());
  PLAIT_TRY(channel.await(side.deadline()));  // all have what they wait for
  PLAIT_TRY(side.close(link));
  return side.close();
}

// Hands each the handle of the next, and lets all go when all are done.
Status lead(std::deque<Peer>& all, Deadline deadline) {
  std::vector<Handle> handles(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const Status got = all[i].channel().get(&handles[i], sizeof(Handle), deadline);
    if (!got.ok()) return all[i].blame(got);
  }
  for (size_t i = 0; i < all.size(); ++i)
    PLAIT_TRY(all[i].channel().put(&handles[(i + 1) % all.size()], sizeof(Handle)));
  for (Peer& peer : all) {
    const Status done = peer.channel().await(deadline);
    if (!done.ok()) return peer.blame(done);
  }
  for (Peer& peer : all) PLAIT_TRY(peer.channel().signal());
  return Status();
}

template <size_t n>
Status ring(const Job& job) {
  std::deque<Peer> all;
  for (size_t rank = 0; rank < n; ++rank) {
    const auto work = [rank](Side& side, Channel& channel) { return member(side, channel, rank, n); };
    PLAIT_TRY(all.emplace_back().start(job, work));
  }
  const Deadline deadline = Deadline::in_ns(int64_t(job.seconds * 2e9));
  const Status status = lead(all, deadline);
  for (Peer& peer : all) {  // who failed says more than who waited for it
    const Status own = peer.finish(status.ok() ? deadline : Deadline::in_ms(100));
    if (!own.ok() && (status.ok() || own.code() != Code::timeout)) return own;
  }
  return status;
}

constexpr Named kRingChecks[] = {
    {4, "ring of 2 processes", ring<2>},
    {4, "ring of 3 processes", ring<3>},
    {4, "ring of 8 processes", ring<8>},
};

}  // namespace

std::span<const Named> ring_checks() { return kRingChecks; }

}  // namespace plait::nccl_drive
