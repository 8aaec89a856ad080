// Point 13.
#include "perf/nccl/checks.h"
#include "perf/nccl/flow.h"
#include "perf/nccl/peer.h"

namespace plait::nccl_drive {
namespace {

using Here = Status (*)(Side& side, const Link& link, Peer& peer);

// A peer that does `there` once it is connected, and then waits until it is killed by `here`. Afterwards
// everything can be closed, and this side still works with itself.
Status doomed(const Job& job, Status (*there)(Side& side, const Link& link), Here here) {
  const auto work = [there](Side& side, Channel& channel) -> Status {
    Link link;
    PLAIT_TRY(side.open());
    PLAIT_TRY(meet(side, channel, &link));
    PLAIT_TRY(there(side, link));
    PLAIT_TRY(channel.signal());
    return channel.await(Deadline());
  };
  Peer peer;
  PLAIT_TRY(peer.start(job, work));
  Side side(job);
  Link link;
  PLAIT_TRY(peer.blame(side.open()));
  PLAIT_TRY(peer.blame(meet(side, peer.channel(), &link)));
  PLAIT_TRY(peer.blame(peer.channel().await(side.deadline())));
  PLAIT_TRY(here(side, link, peer));
  peer.kill();
  PLAIT_TRY(side.close(link));
  Link own;
  PLAIT_TRY(side.self(&own));
  PLAIT_TRY(prove(side, own));
  PLAIT_TRY(side.close(own));
  return side.close();
}

Status nothing(Side&, const Link&) { return Status(); }

// Whether an error is the one that NCCL knows as the death of a peer.
Status is_remote(const Status& status) {
  if (status.code() == Code::peer) return Status();
  if (status.ok()) return broken("the death of the peer was taken for success");
  return broken("the death of the peer should be remote error (6); " + std::string(status.text()));
}

// Posts and tests the oldest until that fails, which is what it has to do. Memory is deregistered all the
// same.
Status until_it_fails(Side& side, Flow& flow) {
  const Deadline end = side.deadline();
  Pause pause;
  while (!flow.done()) {
    Status status = flow.post();
    if (status.ok()) status = flow.test(Order::oldest);
    if (!status.ok()) {
      PLAIT_TRY(is_remote(status));
      return flow.release();
    }
    if (end.passed()) return side.late("the peer was killed, and neither test nor a post had failed");
    pause.idle();
  }
  return broken("all requests were done, though the peer was killed before it did its part");
}

Status receives_wait(const Job& job) {
  return doomed(job, nothing, [](Side& side, const Link& link, Peer& peer) -> Status {
    Receiver receiver(side, link.receive, singles(messages(8, 5000)));
    PLAIT_TRY(receiver.prepare());
    for (int i = 0; i < 100; ++i) {
      PLAIT_TRY(receiver.post());
      PLAIT_TRY(receiver.test(Order::oldest));
    }
    peer.kill();
    return until_it_fails(side, receiver);
  });
}

Status sends_wait(const Job& job) {
  return doomed(job, nothing, [](Side& side, const Link& link, Peer& peer) -> Status {
    Sender sender(side, link.send, messages(2000, 100'000));
    PLAIT_TRY(sender.prepare());
    for (int i = 0; i < 100; ++i) {
      PLAIT_TRY(sender.post());
      PLAIT_TRY(sender.test(Order::oldest));
    }
    peer.kill();
    return until_it_fails(side, sender);
  });
}

constexpr size_t kHalfSent = size_t{32} << 20;

Status in_a_message(const Job& job) {
  const auto there = [](Side& side, const Link& link) -> Status {
    auto* sender = new Sender(side, link.send, messages(1, kHalfSent));  // it dies with the process
    PLAIT_TRY(sender->prepare());
    for (int i = 0; i < 50; ++i) {
      PLAIT_TRY(sender->post());
      PLAIT_TRY(sender->test(Order::oldest));
    }
    return Status();
  };
  return doomed(job, there, [](Side& side, const Link& link, Peer& peer) -> Status {
    Receiver receiver(side, link.receive, singles(messages(1, kHalfSent)));
    PLAIT_TRY(receiver.prepare());
    for (int i = 0; i < 20; ++i) {
      PLAIT_TRY(receiver.post());
      PLAIT_TRY(receiver.test(Order::oldest));
    }
    peer.kill();
    return until_it_fails(side, receiver);
  });
}

// The last of several is what the peer's death fails; whoever is tested first has to say so.
Status through_an_earlier(const Job& job) {
  const auto there = [](Side& side, const Link& link) -> Status {
    Sender sender(side, link.send, messages(1, 3000));
    PLAIT_TRY(sender.prepare());
    PLAIT_TRY(drive(side, {&sender}));
    return sender.release();
  };
  return doomed(job, there, [](Side& side, const Link& link, Peer& peer) -> Status {
    Receiver receiver(side, link.receive, singles(messages(6, 3000)));
    PLAIT_TRY(receiver.prepare());
    const Deadline end = side.deadline();
    while (!receiver.all_posted() || !receiver.done(0)) {
      PLAIT_TRY(receiver.post());
      if (receiver.posted() > 0 && !receiver.done(0)) PLAIT_TRY(receiver.test(size_t{0}));
      if (end.passed()) return side.late("what the peer had sent before it was killed did not arrive");
    }
    peer.kill();
    Pause pause;
    while (true) {
      const Status status = receiver.test(size_t{1});
      if (!status.ok()) {
        PLAIT_TRY(is_remote(status));
        return receiver.release();
      }
      if (receiver.done(1)) return broken("a receive was done that nobody sent");
      if (end.passed()) return side.late("the oldest of five receives said nothing of the peer's death");
      pause.idle();
    }
  });
}

// The listener dies before it accepts: connect fails, or goes on, or the first message fails.
Status in_the_handshake(const Job& job) {
  const auto work = [](Side& side, Channel& channel) -> Status {
    Handle mine;
    void* listening = nullptr;
    PLAIT_TRY(side.open());
    PLAIT_TRY(side.listen(&mine, &listening));
    PLAIT_TRY(channel.put(&mine, sizeof mine));
    return channel.await(Deadline());
  };
  Peer peer;
  PLAIT_TRY(peer.start(job, work));
  Side side(job);
  Handle theirs;
  PLAIT_TRY(side.open());
  PLAIT_TRY(peer.blame(peer.channel().get(&theirs, sizeof theirs, side.deadline())));
  Link link;
  for (int i = 0; i < 50 && link.send == nullptr; ++i) PLAIT_TRY(side.connect(theirs, &link.send));
  peer.kill();
  const Deadline end = Deadline::in_ms(500);
  nccl::Config config{nccl::unset};
  NcclResult result = NcclResult::success;
  Pause pause;
  while (link.send == nullptr && result == NcclResult::success && !end.passed()) {
    result =
        side.net().connect(side.context(), side.device(), &config, theirs.bytes.data(), &link.send, nullptr);
    pause.idle();
  }
  if (link.send != nullptr && result == NcclResult::success) {
    Sender sender(side, link.send, messages(500, 100'000));
    PLAIT_TRY(sender.prepare());
    PLAIT_TRY(until_it_fails(side, sender));
  }
  PLAIT_TRY(side.close(link));
  return side.close();
}

constexpr Named kFailureChecks[] = {
    {13, "peer killed, receives wait", receives_wait},
    {13, "peer killed, sends wait", sends_wait},
    {13, "peer killed in the middle of 32 MiB", in_a_message},
    {13, "peer killed, only the oldest receive is tested", through_an_earlier},
    {13, "peer killed in the handshake", in_the_handshake},
};

}  // namespace

std::span<const Named> failure_checks() { return kFailureChecks; }

}  // namespace plait::nccl_drive
