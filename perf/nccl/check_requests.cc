// Points 7, 8 and 9.
#include <atomic>
#include <thread>

#include "perf/nccl/checks.h"
#include "perf/nccl/flow.h"
#include "perf/nccl/peer.h"

namespace plait::nccl_drive {
namespace {

// What NCCL's service thread does while messages move: registers on the comms in use, connects and closes
// others.
Status serve(Side& side, const Link& busy, const std::atomic<bool>& stop) {
  Memory memory(1 << 16);
  do {
    for (void* comm : {busy.send, busy.receive}) {
      void* registration = nullptr;
      PLAIT_TRY(
          side.said(side.net().reg_mr(comm, memory.data(), memory.size(), nccl::pointer_host, &registration),
                    "regMr beside messages"));
      PLAIT_TRY(side.said(side.net().dereg_mr(comm, registration), "deregMr beside messages"));
    }
    Link link;
    PLAIT_TRY(side.self(&link));
    PLAIT_TRY(side.close(link));
  } while (!stop);
  return Status();
}

Status two_threads(const Job& job) {
  return alone(job, [](Side& side, const Link& link) -> Status {
    std::atomic<bool> stop = false;
    Status service;
    std::thread thread([&] { service = serve(side, link, stop); });
    Status status;
    for (uint64_t round = 0; round < 20 && status.ok(); ++round) {
      const auto all = messages(32, 1 + (round * 3001) % 60000, 1 + 100 * round);
      status = exchange(side, link, all, singles(all));
    }
    stop = true;
    thread.join();
    PLAIT_TRY(status);
    return service;
  });
}

// `here` posts sends, `there` receives them; the peer closes when told.
Status to_peer(const Job& job, const std::vector<Message>& all,
               const std::function<Status(Side&, Sender&)>& send,
               const std::function<Status(Side&, Receiver&)>& receive) {
  return with_peer(
      job,
      [&](Side& side, Channel& channel) -> Status {
        Link link;
        PLAIT_TRY(meet(side, channel, &link));
        Receiver receiver(side, link.receive, singles(all));
        PLAIT_TRY(receiver.prepare());
        PLAIT_TRY(receive(side, receiver));
        PLAIT_TRY(channel.await(side.deadline()));
        PLAIT_TRY(receiver.release());
        return side.close(link);
      },
      [&](Side& side, Peer& peer) -> Status {
        Link link;
        PLAIT_TRY(meet(side, peer.channel(), &link));
        Sender sender(side, link.send, all);
        PLAIT_TRY(sender.prepare());
        PLAIT_TRY(send(side, sender));
        PLAIT_TRY(peer.channel().signal());
        PLAIT_TRY(sender.release());
        return side.close(link);
      });
}

Status all_before_test(const Job& job) {
  return to_peer(
      job, messages(nccl::max_requests, 200'000),
      [](Side& side, Sender& sender) {
        return drive(side, {&sender}, {Order::oldest, true});
      },
      [](Side& side, Receiver& receiver) {
        return drive(side, {&receiver}, {Order::oldest, true});
      });
}

// Only the last request is tested: the others have to end all the same.
Status test_last_only(Side& side, Flow& flow) {
  const Deadline end = side.deadline();
  while (!flow.all_posted()) {
    PLAIT_TRY(flow.post());
    if (end.passed()) return side.late(flow.waits_for());
  }
  Pause pause;
  while (!flow.done(flow.count() - 1)) {
    PLAIT_TRY(flow.test(flow.count() - 1));
    if (end.passed()) return side.late("the last of 32 requests, the only one tested, was not done");
    pause.idle();
  }
  return drive(side, {&flow}, {Order::oldest, true});
}

Status last_only(const Job& job) {
  return to_peer(
      job, messages(nccl::max_requests, 100'000),
      [](Side& side, Sender& s) { return test_last_only(side, s); },
      [](Side& side, Receiver& r) { return test_last_only(side, r); });
}

Status window_many_times(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    const auto all = messages(nccl::max_requests * 16, 3000);
    return exchange(side, link, all, singles(all), {Order::oldest});
  });
}

Status several_comms(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  constexpr size_t kComms = 4;
  std::array<Link, kComms> links;
  std::vector<std::unique_ptr<Flow>> flows;
  std::vector<Flow*> all;
  for (size_t i = 0; i < kComms; ++i) {
    PLAIT_TRY(side.self(&links[i]));
    const auto sends = messages(nccl::max_requests * 2, 10'000, 1 + 1000 * i);
    flows.push_back(std::make_unique<Receiver>(side, links[i].receive, singles(sends)));
    flows.push_back(std::make_unique<Sender>(side, links[i].send, sends));
  }
  for (auto& flow : flows) {
    PLAIT_TRY(flow->prepare());
    all.push_back(flow.get());
  }
  PLAIT_TRY(drive(side, all));
  for (auto& flow : flows) PLAIT_TRY(flow->release());
  for (Link& link : links) PLAIT_TRY(side.close(link));
  return side.close();
}

Status sends_before_receives(const Job& job) {
  return alone(job, [](Side& side, const Link& link) -> Status {
    const auto all = messages(nccl::max_requests, 2000);
    Sender sender(side, link.send, all);
    Receiver receiver(side, link.receive, singles(all));
    PLAIT_TRY(sender.prepare());
    PLAIT_TRY(receiver.prepare());
    for (int i = 0; i < 500; ++i) PLAIT_TRY(sender.post());  // null requests are as good
    PLAIT_TRY(drive(side, {&sender, &receiver}, {Order::oldest, true}));
    PLAIT_TRY(sender.release());
    return receiver.release();
  });
}

Status optional_completion(const Job& job) {
  return alone(job, [](Side& side, const Link& link) -> Status {
    const auto all = messages(40, 900);
    Sender sender(side, link.send, all);
    Receiver receiver(side, link.receive, singles(all));
    receiver.optional_completion = true;
    PLAIT_TRY(sender.prepare());
    PLAIT_TRY(receiver.prepare());
    PLAIT_TRY(drive(side, {&receiver, &sender}));
    PLAIT_TRY(sender.release());
    return receiver.release();
  });
}

constexpr Named kRequestsChecks[] = {
    {7, "regMr, connect and close in a thread beside messages", two_threads},
    {8, "32 sends of 200 kB to a peer before any test", all_before_test},
    {8, "of 32 requests only the last is tested", last_only},
    {8, "32 in flight again and again", window_many_times},
    {8, "four comms with 32 in flight each", several_comms},
    {9, "sends before any receive is posted", sends_before_receives},
    {9, "irecv with 0x1 in *request", optional_completion},
};

}  // namespace

std::span<const Named> request_checks() { return kRequestsChecks; }

}  // namespace plait::nccl_drive
