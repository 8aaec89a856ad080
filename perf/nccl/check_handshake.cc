// Points 3, 4 and 5.
#include <algorithm>
#include <vector>

#include "perf/nccl/checks.h"
#include "perf/nccl/flow.h"
#include "perf/nccl/peer.h"

namespace plait::nccl_drive {
namespace {

constexpr int kPolls = 200;  // of one half alone

struct Listening {
  Handle handle;
  void* comm = nullptr;
};

// A side that listens, without a peer.
Status begin(Side& side, Listening* listening) {
  PLAIT_TRY(side.open());
  return side.listen(&listening->handle, &listening->comm);
}

Status end_connection(Side& side, Listening& listening, Link& link) {
  PLAIT_TRY(prove(side, link));
  PLAIT_TRY(side.close(link));
  PLAIT_TRY(side.close_listen(listening.comm));
  return side.close();
}

Status connect_first(const Job& job) {
  Side side(job);
  Listening listening;
  PLAIT_TRY(begin(side, &listening));
  Link link;
  for (int i = 0; i < kPolls && link.send == nullptr; ++i)
    PLAIT_TRY(side.connect(listening.handle, &link.send));
  PLAIT_TRY(side.join(listening.handle, listening.comm, &link));
  return end_connection(side, listening, link);
}

Status accept_first(const Job& job) {
  Side side(job);
  Listening listening;
  PLAIT_TRY(begin(side, &listening));
  Link link;
  for (int i = 0; i < kPolls; ++i) {
    PLAIT_TRY(side.accept(listening.comm, &link.receive));
    if (link.receive != nullptr) return broken("accept gave a comm before anybody connected");
  }
  PLAIT_TRY(side.join(listening.handle, listening.comm, &link));
  return end_connection(side, listening, link);
}

Status by_turns(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  for (uint64_t time = 0; time < 5; ++time) {
    Link link;
    PLAIT_TRY(side.self(&link));
    PLAIT_TRY(prove(side, link, time));
    PLAIT_TRY(side.close(link));
  }
  return side.close();
}

// Sends on `send` and receives on `receive`.
Status pass_on(Side& side, const Link& link, uint64_t id_out, uint64_t id_in) {
  const auto out = messages(2, 5000, id_out), in = messages(2, 5000, id_in);
  return exchange(side, link, out, singles(in));
}

Status two_processes(const Job& job, bool connect_late) {
  const auto late = [connect_late](Side& side, Channel& channel) -> Status {
    Handle mine, theirs;
    Link link;
    void* listening = nullptr;
    PLAIT_TRY(side.listen(&mine, &listening));
    PLAIT_TRY(channel.put(&mine, sizeof mine));
    PLAIT_TRY(channel.get(&theirs, sizeof theirs, side.deadline()));
    PLAIT_TRY(channel.await(side.deadline()));  // the other side is at it alone until now
    const Deadline end = side.deadline();
    while (connect_late && link.receive == nullptr) {
      PLAIT_TRY(side.accept(listening, &link.receive));
      if (end.passed()) return side.late("accept still gave no comm, before this side connects,");
    }
    PLAIT_TRY(side.join(theirs, listening, &link));
    PLAIT_TRY(pass_on(side, link, 100, 200));
    PLAIT_TRY(channel.await(side.deadline()));
    PLAIT_TRY(side.close(link));
    return side.close_listen(listening);
  };
  return with_peer(job, late, [](Side& side, Peer& peer) -> Status {
    Handle mine, theirs;
    Link link;
    void* listening = nullptr;
    PLAIT_TRY(side.listen(&mine, &listening));
    PLAIT_TRY(peer.channel().put(&mine, sizeof mine));
    PLAIT_TRY(peer.channel().get(&theirs, sizeof theirs, side.deadline()));
    for (int i = 0; i < kPolls && link.send == nullptr; ++i) PLAIT_TRY(side.connect(theirs, &link.send));
    PLAIT_TRY(peer.channel().signal());
    PLAIT_TRY(side.join(theirs, listening, &link));
    PLAIT_TRY(pass_on(side, link, 200, 100));
    PLAIT_TRY(peer.channel().signal());
    PLAIT_TRY(side.close(link));
    return side.close_listen(listening);
  });
}

Status both_at_once(const Job& job) { return two_processes(job, false); }
Status accept_before_connect(const Job& job) { return two_processes(job, true); }

Status connect_to_stopped(const Job& job) {
  const auto there = [](Side& side, Channel& channel) -> Status {
    Link link;
    PLAIT_TRY(meet(side, channel, &link));
    PLAIT_TRY(pass_on(side, link, 100, 200));
    PLAIT_TRY(channel.await(side.deadline()));
    return side.close(link);
  };
  return with_peer(job, there, [](Side& side, Peer& peer) -> Status {
    Handle mine, theirs;
    Link link;
    void* listening = nullptr;
    PLAIT_TRY(peer.channel().get(&theirs, sizeof theirs, side.deadline()));
    peer.stop();
    PLAIT_TRY(side.listen(&mine, &listening));
    for (int i = 0; i < kPolls; ++i) {
      if (link.send == nullptr) PLAIT_TRY(side.connect(theirs, &link.send));
      PLAIT_TRY(side.accept(listening, &link.receive));
      if (link.receive != nullptr) return broken("accept gave a comm though the peer had not connected");
    }
    peer.go_on();
    PLAIT_TRY(peer.channel().put(&mine, sizeof mine));
    PLAIT_TRY(side.join(theirs, listening, &link));
    PLAIT_TRY(pass_on(side, link, 200, 100));
    PLAIT_TRY(peer.channel().signal());
    PLAIT_TRY(side.close(link));
    return side.close_listen(listening);
  });
}

// `count` connections through one listening comm, each from a fresh copy of the handle, all under way at
// once.
Status many(const Job& job, size_t count, bool close_listen_first) {
  Side side(job);
  Listening listening;
  PLAIT_TRY(begin(side, &listening));
  std::vector<Handle> copies(count, listening.handle);
  std::vector<void*> sends(count), receives;
  const Deadline deadline = side.deadline();
  while (receives.size() < count || std::ranges::count(sends, nullptr) > 0) {
    for (size_t i = 0; i < count; ++i)
      if (sends[i] == nullptr) PLAIT_TRY(side.connect(copies[i], &sends[i]));
    void* comm = nullptr;
    if (receives.size() < count) PLAIT_TRY(side.accept(listening.comm, &comm));
    if (comm != nullptr) receives.push_back(comm);
    if (deadline.passed())
      return side.late(std::to_string(std::ranges::count(sends, nullptr)) + " connects and " +
                       std::to_string(count - receives.size()) + " accepts of " + std::to_string(count) +
                       " still gave no comm");
  }
  if (close_listen_first) PLAIT_TRY(side.close_listen(listening.comm));
  // Who is whose is not known: each sends as many bytes as says which it is.
  std::vector<std::unique_ptr<Sender>> senders;
  for (size_t i = 0; i < count; ++i) {
    senders.push_back(std::make_unique<Sender>(side, sends[i], messages(1, 100 + i, 50 + i)));
    PLAIT_TRY(senders.back()->prepare());
  }
  std::vector<bool> seen(count);
  for (void* receive : receives) {
    Memory memory(4096);
    void* registration = nullptr;
    PLAIT_TRY(
        side.said(side.net().reg_mr(receive, memory.data(), memory.size(), nccl::pointer_host, &registration),
                  "regMr"));
    void* data = memory.data();
    void* request = nullptr;
    size_t room = 100 + count;
    int tag = 7, done = 0, got = -1;
    while (done == 0) {
      if (request == nullptr)
        PLAIT_TRY(
            side.said(side.net().irecv(receive, 1, &data, &room, &tag, &registration, &request), "irecv"));
      for (auto& sender : senders) {
        PLAIT_TRY(sender->post());
        PLAIT_TRY(sender->test(Order::oldest));
      }
      if (request != nullptr) PLAIT_TRY(side.said(side.net().test(request, &done, &got), "test"));
      if (deadline.passed()) return side.late("a receive of one of several connections was not done");
    }
    if (got < 100 || got >= int(100 + count) || seen[size_t(got - 100)])
      return broken("a connection received " + std::to_string(got) +
                    " bytes: two copies of a handle did not make two connections");
    seen[size_t(got - 100)] = true;
    if (!is_message(memory.data(), size_t(got), 50 + uint64_t(got - 100)))
      return broken("a connection received other bytes than were sent to it");
    where().bytes.fetch_add(uint64_t(got));
    PLAIT_TRY(side.said(side.net().dereg_mr(receive, registration), "deregMr"));
  }
  for (auto& sender : senders) {
    while (!sender->done()) {
      PLAIT_TRY(sender->test(Order::oldest));
      if (deadline.passed()) return side.late(sender->waits_for());
    }
    PLAIT_TRY(sender->release());
  }
  for (size_t i = 0; i < count; ++i) {
    Link link{sends[i], receives[i]};
    PLAIT_TRY(side.close(link));
  }
  if (!close_listen_first) PLAIT_TRY(side.close_listen(listening.comm));
  return side.close();
}

Status fresh_copies(const Job& job) { return many(job, 2, false); }
Status many_accepts(const Job& job) { return many(job, 6, false); }
Status close_listen_early(const Job& job) { return many(job, 1, true); }

Status listen_again(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  Listening one, two;
  PLAIT_TRY(side.listen(&one.handle, &one.comm));
  PLAIT_TRY(side.listen(&two.handle, &two.comm));
  if (side.handle_overrun()) return broken("listen wrote past the 128 bytes of the handle");
  if (one.handle.bytes == two.handle.bytes) return broken("two listens gave the same handle");
  Link link;
  PLAIT_TRY(side.join(two.handle, two.comm, &link));
  PLAIT_TRY(side.close_listen(one.comm));
  PLAIT_TRY(side.close_listen(two.comm));
  PLAIT_TRY(prove(side, link));
  PLAIT_TRY(side.close(link));
  return side.close();
}

Status nobody_listens(const Job& job) {
  Side side(job);
  Listening listening;
  PLAIT_TRY(begin(side, &listening));
  PLAIT_TRY(side.close_listen(listening.comm));
  const Deadline deadline = Deadline::in_ms(1000);
  nccl::Config config{nccl::unset};
  Pause pause;
  while (!deadline.passed()) {
    void* comm = nullptr;
    const NcclResult result = side.net().connect(side.context(), side.device(), &config,
                                                 listening.handle.bytes.data(), &comm, nullptr);
    if (comm != nullptr) {  // as NCCL does, be it an error or not
      PLAIT_TRY(side.said(side.net().close_send(comm), "closeSend of what a failed connect gave"));
      return side.close();
    }
    if (result != NcclResult::success) return side.close();
    pause.idle();
  }
  PLAIT_TRY(side.close());
  return not_exercised("connect to nobody was still under way after 1 s, which is allowed");
}

constexpr Named kHandshakeChecks[] = {
    {3, "listen gives a comm and writes 128 bytes at most", listen_again},
    {3, "fresh copies of a handle are connections of their own", fresh_copies},
    {4, "connect first, to itself", connect_first},
    {4, "accept first, to itself", accept_first},
    {4, "to itself by turns in one thread, five times", by_turns},
    {4, "two processes, both connect at once", both_at_once},
    {4, "two processes, one accepts before it connects", accept_before_connect},
    {4, "the peer stands still: connect and accept return", connect_to_stopped},
    {5, "one listening comm, six connections", many_accepts},
    {5, "closeListen right after accept, messages after", close_listen_early},
    {5, "connect to nobody ends, or goes on without blocking", nobody_listens},
};

}  // namespace

std::span<const Named> handshake_checks() { return kHandshakeChecks; }

}  // namespace plait::nccl_drive
