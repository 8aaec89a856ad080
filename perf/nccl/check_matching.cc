// Point 10.
#include <sched.h>

#include <algorithm>

#include "perf/nccl/checks.h"
#include "perf/nccl/flow.h"
#include "perf/nccl/peer.h"

namespace plait::nccl_drive {
namespace {

Status in_order(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    std::vector<Message> all;
    for (uint64_t i = 0; i < 100; ++i) all.push_back({1 + i, (i * 7919) % 20'000, 7});
    return exchange(side, link, all, singles(all), {Order::oldest});
  });
}

// `n` as large as the plugin's groups are; not exercised where they are of one.
template <class Work>
Status grouped(Side& side, const Work& work) {
  const int n = side.properties().max_receives;
  if (n < 2) return not_exercised("maxRecvs is " + std::to_string(n) + ": no grouped receives");
  return work(n);
}

// Groups of n receives with tags of `tag`, and their messages in the order of `turn` within each group.
struct Groups {
  std::vector<Group> receives;
  std::vector<Message> sends;
};
template <class Tag, class Turn>
Groups groups(size_t count, int n, Tag tag, Turn turn) {
  Groups all;
  for (size_t g = 0; g < count; ++g) {
    Group group;
    for (int i = 0; i < n; ++i) {
      const Message message{1 + g * 100 + uint64_t(i), 500 + 100 * size_t(i) + g, tag(i)};
      group.push_back({message, 2000});
    }
    for (int i = 0; i < n; ++i) all.sends.push_back(group[size_t(turn(i))].message);
    all.receives.push_back(std::move(group));
  }
  return all;
}

Status by_tag(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    return grouped(side, [&](int n) {
      auto all = groups(
          40, n, [](int i) { return 1000 + i; }, [n](int i) { return n - 1 - i; });
      return exchange(side, link, all.sends, all.receives);
    });
  });
}

Status every_size_of_group(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    return grouped(side, [&](int most) -> Status {
      for (int n = 1; n <= most; ++n) {
        auto all = groups(
            10, n, [](int i) { return 1000 + i; }, [n](int i) { return (i + 1) % n; });
        PLAIT_TRY(exchange(side, link, all.sends, all.receives));
      }
      return Status();
    });
  });
}

Status repeats(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    return grouped(side, [&](int n) -> Status {
      // All alike; then two tags, the second of which is sent first.
      auto same = groups(
          20, n, [](int) { return 5; }, [](int i) { return i; });
      PLAIT_TRY(exchange(side, link, same.sends, same.receives));
      const int odd = n / 2;  // of them
      const auto turn = [odd](int i) { return i < odd ? 2 * i + 1 : 2 * (i - odd); };
      auto two = groups(
          20, n, [](int i) { return 5 + i % 2; }, turn);
      return exchange(side, link, two.sends, two.receives);
    });
  });
}

Status huge_tags(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    return grouped(side, [&](int n) {
      const auto tag = [](int i) { return i % 2 == 0 ? 0x7fffffff - i : i; };
      auto all = groups(10, n, tag, [n](int i) { return n - 1 - i; });
      return exchange(side, link, all.sends, all.receives);
    });
  });
}

// One tag is ahead: its second message is posted, or refused with a null request, before the other's first.
Status oldest_group(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    return grouped(side, [&](int) -> Status {
      const Message a1{1, 300, 1}, b1{2, 400, 2}, a2{3, 500, 1}, b2{4, 600, 2};
      Receiver receiver(side, link.receive, {{{a1, 1000}, {b1, 1000}}, {{a2, 1000}, {b2, 1000}}});
      Sender a(side, link.send, {a1, a2}), b(side, link.send, {b1, b2});
      PLAIT_TRY(receiver.prepare());
      PLAIT_TRY(a.prepare());
      PLAIT_TRY(b.prepare());
      for (int i = 0; i < 200; ++i) {
        PLAIT_TRY(receiver.post());
        PLAIT_TRY(a.post());
        if (receiver.outstanding() > 0) PLAIT_TRY(receiver.test(Order::oldest));
        if (receiver.done(0)) return broken("a grouped receive was done with one of its two messages");
      }
      PLAIT_TRY(drive(side, {&receiver, &b, &a}));
      PLAIT_TRY(a.release());
      PLAIT_TRY(b.release());
      return receiver.release();
    });
  });
}

Status large_groups(const Job& job) {
  return alone(job, [](Side& side, const Link& link) {
    return grouped(side, [&](int n) {
      std::vector<Group> receives;
      std::vector<Message> sends;
      for (uint64_t g = 0; g < 6; ++g) {
        Group group;
        for (int i = 0; i < n; ++i)
          group.push_back(
              {{1 + g * 100 + uint64_t(i), i % 3 == 0 ? size_t(150'000) : size_t(i) * 10, i}, 150'000});
        for (int i = n - 1; i >= 0; --i) sends.push_back(group[size_t(i)].message);
        receives.push_back(group);
      }
      return exchange(side, link, sends, receives);
    });
  });
}

// 32 groups, and 32 times as many sends as a group has places, none tested before all are posted; to a peer.
Status all_in_flight(const Job& job) {
  const auto make = [](int n) {
    return groups(
        nccl::max_requests, n, [](int i) { return i; }, [n](int i) { return n - 1 - i; });
  };
  return with_peer(
      job,
      [&](Side& side, Channel& channel) -> Status {
        Link link;
        PLAIT_TRY(meet(side, channel, &link));
        Receiver receiver(side, link.receive, make(std::max(1, side.properties().max_receives)).receives);
        PLAIT_TRY(receiver.prepare());
        PLAIT_TRY(drive(side, {&receiver}, {Order::round_robin, true}));
        PLAIT_TRY(channel.await(side.deadline()));
        PLAIT_TRY(receiver.release());
        return side.close(link);
      },
      [&](Side& side, Peer& peer) -> Status {
        Link link;
        PLAIT_TRY(meet(side, peer.channel(), &link));
        const int n = std::max(1, side.properties().max_receives);
        Sender sender(side, link.send, make(n).sends);
        sender.window = size_t(n) * nccl::max_requests;
        PLAIT_TRY(sender.prepare());
        PLAIT_TRY(drive(side, {&sender}, {Order::round_robin, true}));
        PLAIT_TRY(peer.channel().signal());
        PLAIT_TRY(sender.release());
        return side.close(link);
      });
}

Status too_many(const Job& job) {
  return alone(job, [](Side& side, const Link& link) -> Status {
    const int n = side.properties().max_receives + 1;
    Memory memory(4096);
    void* registration = nullptr;
    PLAIT_TRY(side.said(
        side.net().reg_mr(link.receive, memory.data(), memory.size(), nccl::pointer_host, &registration),
        "regMr"));
    std::vector<void*> data(size_t(n), memory.data()), memories(size_t(n), registration);
    std::vector<size_t> sizes(size_t(n), 8);
    std::vector<int> tags(size_t(n), 1);
    void* request = nullptr;
    const NcclResult result =
        side.net().irecv(link.receive, n, data.data(), sizes.data(), tags.data(), memories.data(), &request);
    if (result == NcclResult::success)
      return broken("irecv of " + std::to_string(n) + " took what is one more than maxRecvs");
    return side.said(side.net().dereg_mr(link.receive, registration), "deregMr");
  });
}

constexpr Named kMatchingChecks[] = {
    {10, "100 messages of one tag in the order they were posted", in_order},
    {10, "groups of maxRecvs, sent in reverse", by_tag},
    {10, "groups of 1 to maxRecvs", every_size_of_group},
    {10, "repeats of a tag in a group stay in order", repeats},
    {10, "tags up to 2^31 - 1", huge_tags},
    {10, "a tag that is ahead waits for its group", oldest_group},
    {10, "groups of large and small places", large_groups},
    {10, "32 groups, 32 x maxRecvs sends in flight to a peer", all_in_flight},
    {10, "more than maxRecvs is an error", too_many},
};

}  // namespace

std::span<const Named> matching_checks() { return kMatchingChecks; }

}  // namespace plait::nccl_drive
