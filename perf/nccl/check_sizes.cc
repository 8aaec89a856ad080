// Points 11 and 12.
#include "perf/nccl/checks.h"
#include "perf/nccl/flow.h"
#include "perf/nccl/peer.h"

namespace plait::nccl_drive {
namespace {

// Small and large by turns: what ends first is not what was posted first.
std::vector<Message> mixed() {
  std::vector<Message> all;
  for (uint64_t i = 0; i < 64; ++i) all.push_back({1 + i, i % 3 == 0 ? 90'000 + i : 1 + i * 13, 7});
  return all;
}

// All receives stand before anything is sent, so that tests alone bring what comes: a plugin that gives the
// oldest message to whoever is tested is found out.
Status all_stand(Side& side, const Link& link, Order order) {
  const auto few = messages(16, 3000, 1000);
  Sender sender(side, link.send, few);
  Receiver receiver(side, link.receive, singles(few));
  PLAIT_TRY(sender.prepare());
  PLAIT_TRY(receiver.prepare());
  for (const Deadline end = side.deadline(); !receiver.all_posted() && !end.passed();)
    PLAIT_TRY(receiver.post());
  PLAIT_TRY(drive(side, {&sender, &receiver}, {order, true}));
  PLAIT_TRY(sender.release());
  return receiver.release();
}

template <Order order>
Status in_this_order(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    PLAIT_TRY(all_stand(side, link, order));
    return exchange(side, link, mixed(), singles(mixed()), {order, false}, Sizes::of_all);
  });
}

template <Order order>
Status to_peer_in_this_order(const Job& job) {
  return with_peer(
      job,
      [](Side& side, Channel& channel) -> Status {
        Link link;
        PLAIT_TRY(meet(side, channel, &link));
        Receiver receiver(side, link.receive, singles(mixed()));
        PLAIT_TRY(receiver.prepare());
        PLAIT_TRY(drive(side, {&receiver}, {order}));
        PLAIT_TRY(channel.await(side.deadline()));
        PLAIT_TRY(receiver.release());
        return side.close(link);
      },
      [](Side& side, Peer& peer) -> Status {
        Link link;
        PLAIT_TRY(meet(side, peer.channel(), &link));
        Sender sender(side, link.send, mixed());
        PLAIT_TRY(sender.prepare());
        PLAIT_TRY(drive(side, {&sender}, {order}));
        PLAIT_TRY(peer.channel().signal());
        PLAIT_TRY(sender.release());
        return side.close(link);
      });
}

Status no_sizes(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    return exchange(side, link, mixed(), singles(mixed()), {}, Sizes::none);
  });
}

Status sizes_of_groups(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    const int n = side.properties().max_receives;
    std::vector<Message> sends;
    Group group;
    for (int i = 0; i < n; ++i) {
      sends.push_back({1 + uint64_t(i), size_t(i % 3) * 50, i});  // every third is empty
      group.push_back({sends.back(), 200});
    }
    return exchange(side, link, sends, {group}, {}, Sizes::of_all);
  });
}

Status longer_receives(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    std::vector<Message> sends;
    std::vector<Group> receives;
    for (uint64_t i = 0; i < 24; ++i) {
      sends.push_back({1 + i, i % 2 == 0 ? 1 + i * 17 : i * 4001, 7});
      receives.push_back({Place{sends.back(), sends.back().bytes + 1 + i * 500}});
    }
    return exchange(side, link, sends, receives);
  });
}

Status empty(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    std::vector<Message> sends;
    std::vector<Group> receives;
    for (uint64_t i = 0; i < 12; ++i) {
      sends.push_back({1 + i, i % 3 == 2 ? size_t(100) : 0, 7});
      receives.push_back({Place{sends.back(), i % 3 == 0 ? 0 : size_t(300)}});
    }
    return exchange(side, link, sends, receives);
  });
}

Status large(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    std::vector<Message> sends = messages(3, (size_t{9} << 20) + 5);
    return exchange(side, link, sends, singles(sends));
  });
}

Status more_receives(const Job& job) {
  return alone(job, [](Side& side, const Link& link) -> Status {
    const auto all = messages(nccl::max_requests, 4000);
    Sender sender(side, link.send, all);
    Receiver receiver(side, link.receive, singles(all));
    PLAIT_TRY(sender.prepare());
    PLAIT_TRY(receiver.prepare());
    const Deadline end = side.deadline();
    while (!receiver.all_posted()) {
      PLAIT_TRY(receiver.post());
      if (end.passed()) return side.late(receiver.waits_for());
    }
    for (size_t i = 0; i < all.size(); ++i) {  // one send, then all receives stand for a while
      while (sender.posted() == i) {
        PLAIT_TRY(sender.post());
        if (end.passed()) return side.late(sender.waits_for());
      }
      while (!receiver.done(i)) {
        PLAIT_TRY(receiver.test(Order::oldest));
        if (i + 1 < all.size() && receiver.done(i + 1)) return broken("a receive was done before its send");
        if (!sender.done()) PLAIT_TRY(sender.test(Order::oldest));
        if (end.passed()) return side.late(receiver.waits_for());
      }
    }
    PLAIT_TRY(drive(side, {&sender, &receiver}));
    PLAIT_TRY(sender.release());
    return receiver.release();
  });
}

// What became of a send that is longer than its receive.
struct TooLong {
  NcclResult send = NcclResult::success, receive = NcclResult::success;
  int received = -1;
  bool send_done = false, receive_done = false;
  bool over() const {
    return (send_done || send != NcclResult::success) && (receive_done || receive != NcclResult::success);
  }
  bool refused() const { return send == NcclResult::invalid_usage || receive == NcclResult::invalid_usage; }
};

void step(Side& side, void*& request, NcclResult& result, bool& done, int* size,
          const std::function<NcclResult(void**)>& start) {
  if (done || result != NcclResult::success) return;
  if (request == nullptr) {
    result = start(&request);
    return;
  }
  int is_done = 0;
  result = side.net().test(request, &is_done, size);
  done = result == NcclResult::success && is_done != 0;
}

Status too_long_for(Side& side, const Link& link, size_t sent, size_t room, Memory& out, Memory& in,
                    void* out_registration, void* in_registration) {
  void *out_request = nullptr, *in_request = nullptr;
  Net& net = side.net();
  const int warned = warnings();
  TooLong all;
  const Deadline end = side.deadline();
  Pause pause;
  while (!all.over() && !(all.refused() && all.receive != NcclResult::success)) {
    step(side, in_request, all.receive, all.receive_done, &all.received, [&](void** request) {
      void* data = in.data();
      size_t size = room;
      int tag = 7;
      return net.irecv(link.receive, 1, &data, &size, &tag, &in_registration, request);
    });
    int size;
    step(side, out_request, all.send, all.send_done, &size, [&](void** request) {
      return net.isend(link.send, out.data(), sent, 7, out_registration, request);
    });
    if (end.passed()) {
      if (all.refused()) break;
      return side.late("a send that is longer than its receive came to no end, neither done nor refused,");
    }
    pause.idle();
  }
  if (!in.untouched(room, in.size()))
    return broken("a send that is longer than its receive was written past it");
  if (all.refused()) {
    if (warnings() == warned)
      return broken("a send longer than its receive was refused without a text in the log");
    return Status();
  }
  const std::string results = "the send: " + name_of(all.send) + ", the receive: " + name_of(all.receive);
  if (all.receive != NcclResult::success)
    return broken("longer than its receive, but not invalid usage (5); " + results);
  if (side.properties().reg_is_global == 0)
    return broken("a send longer than its receive was taken for one that fits, regIsGlobal being 0; " +
                  results);
  if (all.received != int(room) || !is_message(in.data(), room, 1))
    return broken("a send longer than its receive was truncated to " + std::to_string(all.received) +
                  " bytes, not " + std::to_string(room));
  return Status();
}

Status too_long(Side& side, const Link& link, size_t sent, size_t room) {
  Memory out(sent), in(sent + 4096);
  fill_message(out.data(), sent, 1);
  void *of_out = nullptr, *of_in = nullptr;
  Net& net = side.net();
  PLAIT_TRY(side.said(net.reg_mr(link.send, out.data(), out.size(), nccl::pointer_host, &of_out), "regMr"));
  PLAIT_TRY(side.said(net.reg_mr(link.receive, in.data(), in.size(), nccl::pointer_host, &of_in), "regMr"));
  PLAIT_TRY(too_long_for(side, link, sent, room, out, in, of_out, of_in));
  PLAIT_TRY(side.said(net.dereg_mr(link.send, of_out), "deregMr"));
  return side.said(net.dereg_mr(link.receive, of_in), "deregMr");
}

Status short_receive(const Job& job) {
  return alone(job, [](Side& side, const Link& link) { return too_long(side, link, 1000, 400); });
}
Status short_receive_large(const Job& job) {
  return alone(job, [](Side& side, const Link& link) { return too_long(side, link, 1'000'000, 300'000); });
}
Status no_room(const Job& job) {
  return alone(job, [](Side& side, const Link& link) { return too_long(side, link, 64, 0); });
}

constexpr Named kSizesChecks[] = {
    {11, "test with NULL sizes", no_sizes},
    {11, "sizes of a group, none for what is empty", sizes_of_groups},
    {11, "oldest first", in_this_order<Order::oldest>},
    {11, "round-robin", in_this_order<Order::round_robin>},
    {11, "newest first", in_this_order<Order::newest>},
    {11, "oldest first, with a peer", to_peer_in_this_order<Order::oldest>},
    {11, "round-robin, with a peer", to_peer_in_this_order<Order::round_robin>},
    {11, "newest first, with a peer", to_peer_in_this_order<Order::newest>},
    {12, "receives longer than what is sent", longer_receives},
    {12, "zero bytes, into no room and some", empty},
    {12, "messages of 9 MiB and 5 bytes", large},
    {12, "32 receives stand, sends come one by one", more_receives},
    {12, "1000 bytes for 400: invalid usage or truncated", short_receive},
    {12, "1 MB for 300 kB: invalid usage or truncated", short_receive_large},
    {12, "64 bytes for none: invalid usage or truncated", no_room},
};

}  // namespace

std::span<const Named> size_checks() { return kSizesChecks; }

}  // namespace plait::nccl_drive
