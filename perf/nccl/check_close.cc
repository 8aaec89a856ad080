// Point 14.
#include <filesystem>

#include "perf/nccl/checks.h"
#include "perf/nccl/flow.h"
#include "perf/nccl/peer.h"

namespace plait::nccl_drive {
namespace {

// Posts and tests for a while; an end of the other half is no error of this one.
Status go_on(Flow& flow, int times) {
  Pause pause;
  for (int i = 0; i < times; ++i) {
    Status status = flow.post();
    if (status.ok()) status = flow.test(Order::round_robin);
    if (status.code() == Code::peer) return Status();
    PLAIT_TRY(status);
    pause.idle();
  }
  return Status();
}

Status close_half(Side& side, void*& comm, bool is_send) {
  Link link{is_send ? comm : nullptr, is_send ? nullptr : comm};
  comm = nullptr;
  return side.close(link);
}

Status receive_side_first(Side& side, const Link& given) {
  Link link = given;
  const auto all = messages(16, 100'000);
  Sender sender(side, link.send, all);
  Receiver receiver(side, link.receive, singles(all));
  PLAIT_TRY(sender.prepare());
  PLAIT_TRY(receiver.prepare());
  PLAIT_TRY(go_on(receiver, 20));  // only posts: nothing is sent yet
  PLAIT_TRY(receiver.release());   // as NCCL does, requests or not
  PLAIT_TRY(close_half(side, link.receive, false));
  receiver.memory().forbid();
  PLAIT_TRY(go_on(sender, 300));
  Link other;
  PLAIT_TRY(side.self(&other));
  PLAIT_TRY(prove(side, other));
  PLAIT_TRY(side.close(other));
  receiver.memory().allow();
  if (!receiver.memory().untouched(0, receiver.memory().size()))
    return broken("bytes came into the memory of receives after closeRecv");
  PLAIT_TRY(sender.release());
  return close_half(side, link.send, true);
}

Status send_side_first(Side& side, const Link& given) {
  Link link = given;
  const auto all = messages(16, 400'000);
  Sender sender(side, link.send, all);
  Receiver receiver(side, link.receive, singles(all));
  PLAIT_TRY(sender.prepare());
  PLAIT_TRY(receiver.prepare());
  for (int i = 0; i < 40; ++i) {
    PLAIT_TRY(sender.post());
    PLAIT_TRY(receiver.post());
    if (i % 4 == 0) PLAIT_TRY(sender.test(Order::oldest));
  }
  PLAIT_TRY(sender.release());
  PLAIT_TRY(close_half(side, link.send, true));
  sender.memory().forbid();
  PLAIT_TRY(go_on(receiver, 300));  // what does arrive is what was sent
  PLAIT_TRY(receiver.release());
  PLAIT_TRY(close_half(side, link.receive, false));
  sender.memory().allow();
  return Status();
}

// A side whose link is closed by `work` itself.
template <Status (*work)(Side& side, const Link& link)>
Status closing(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  Link link;
  PLAIT_TRY(side.self(&link));
  PLAIT_TRY(work(side, link));
  return side.close();
}

Status deregister_in_flight(Side& side, const Link& given) {
  Link link = given;
  const auto all = messages(8, 500'000);
  Sender sender(side, link.send, all);
  Receiver receiver(side, link.receive, singles(all));
  PLAIT_TRY(sender.prepare());
  PLAIT_TRY(receiver.prepare());
  for (int i = 0; i < 20; ++i) {
    PLAIT_TRY(receiver.post());
    PLAIT_TRY(sender.post());
  }
  PLAIT_TRY(sender.release());
  PLAIT_TRY(receiver.release());
  return side.close(link);
}

Status peer_stands_still(const Job& job) {
  const auto there = [](Side& side, Channel& channel) -> Status {
    Link link;
    PLAIT_TRY(meet(side, channel, &link));
    PLAIT_TRY(channel.signal());
    PLAIT_TRY(channel.await(side.deadline()));
    return side.close(link);
  };
  return with_peer(job, there, [](Side& side, Peer& peer) -> Status {
    Link link;
    PLAIT_TRY(meet(side, peer.channel(), &link));
    PLAIT_TRY(peer.channel().await(side.deadline()));
    peer.stop();
    const auto all = messages(16, 300'000);
    Sender sender(side, link.send, all);
    Receiver receiver(side, link.receive, singles(all));
    PLAIT_TRY(sender.prepare());
    PLAIT_TRY(receiver.prepare());
    PLAIT_TRY(go_on(sender, 20));
    PLAIT_TRY(go_on(receiver, 20));
    PLAIT_TRY(sender.release());
    PLAIT_TRY(receiver.release());
    PLAIT_TRY(side.close(link));
    sender.memory().forbid();
    receiver.memory().forbid();
    peer.go_on();
    PLAIT_TRY(peer.channel().signal());
    PLAIT_TRY(peer.finish(side.deadline()));
    sender.memory().allow();
    receiver.memory().allow();
    return Status();
  });
}

Status again_and_again(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  for (uint64_t time = 0; time < 10; ++time) {
    Link link;
    PLAIT_TRY(side.self(&link));
    PLAIT_TRY(time % 2 == 0 ? send_side_first(side, link) : receive_side_first(side, link));
  }
  return side.close();
}

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

Status half_open(const Job& job) {
  std::ptrdiff_t before = 0;
  for (int time = 0; time < 2; ++time) {
    before = descriptors();
    Side side(job);
    PLAIT_TRY(side.open());
    if (!side.net().has_finalize()) return not_exercised("before version 11 there is no finalize");
    Handle used, unused;
    void *listening = nullptr, *other = nullptr, *comm = nullptr;
    PLAIT_TRY(side.listen(&used, &listening));
    PLAIT_TRY(side.listen(&unused, &other));
    for (int i = 0; i < 20 && comm == nullptr; ++i) PLAIT_TRY(side.connect(used, &comm));
    if (comm != nullptr) PLAIT_TRY(close_half(side, comm, true));
    PLAIT_TRY(side.close());
  }
  const std::ptrdiff_t after = descriptors();
  if (after > before)
    return broken("finalize left " + std::to_string(after - before) +
                  " file descriptors of half-open connections");
  return Status();
}

Status close_listen_while_connecting(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  Handle handle;
  void *listening = nullptr, *send = nullptr, *receive = nullptr;
  PLAIT_TRY(side.listen(&handle, &listening));
  for (int i = 0; i < 20 && send == nullptr; ++i) PLAIT_TRY(side.connect(handle, &send));
  PLAIT_TRY(side.accept(listening, &receive));
  PLAIT_TRY(side.close_listen(listening));
  if (send != nullptr) PLAIT_TRY(close_half(side, send, true));
  if (receive != nullptr) PLAIT_TRY(close_half(side, receive, false));
  return side.close();
}

constexpr Named kCloseChecks[] = {
    {14, "closeRecv with 16 receives outstanding, sends after", closing<receive_side_first>},
    {14, "closeSend with sends outstanding, receives after", closing<send_side_first>},
    {14, "ten times, either half first", again_and_again},
    {14, "deregMr of both sides in flight", closing<deregister_in_flight>},
    {14, "the peer stands still: both closes return", peer_stands_still},
    {14, "closeListen with a connect under way", close_listen_while_connecting},
    {14, "half-open listens and connects go with finalize", half_open},
};

}  // namespace

std::span<const Named> close_checks() { return kCloseChecks; }

}  // namespace plait::nccl_drive
