// Notices, losses, meetings, failures of joining.
#include <algorithm>
#include <atomic>
#include <random>

#include "rig.h"

namespace plait::bootstrap::test {
namespace {

std::string said(const std::optional<Notice>& notice) { return notice ? notice->text : "nothing"; }

class Over : public testing::TestWithParam<bool> {
 protected:
  const std::string root_ = GetParam() ? loopback_root() : "", job_ = fresh_job();
};
INSTANTIATE_TEST_SUITE_P(Over, Over, testing::Values(false, true),
                         [](auto& over) { return over.param ? "Tcp" : "Unix"; });

TEST_P(Over, ANoticeReachesEveryOtherRankOnce) {
  constexpr int kSize = 20;
  run_ranks(kSize, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, kSize, root_));
    if (!group) return std::string(status.text());
    Notice mine;
    mine.kind = Notice::kFirstFree;
    mine.culprit = (rank + 1) % kSize;
    mine.number = uint64_t(rank) << 40;
    mine.text = "from " + std::to_string(rank);
    group->tell(mine);
    std::vector<int> heard(kSize);
    std::string wrong;
    poll_until(*group, [&, &group = group] {
      while (auto n = group->heard()) {
        heard[size_t(n->origin)]++;
        if (n->text != "from " + std::to_string(n->origin) || n->culprit != (n->origin + 1) % kSize ||
            n->number != uint64_t(n->origin) << 40 || n->kind != Notice::kFirstFree)
          wrong = "a changed notice";
      }
      return std::count(heard.begin(), heard.end(), 1) == kSize - 1;
    });
    if (std::count(heard.begin(), heard.end(), 1) != kSize - 1 || heard[size_t(rank)] != 0)
      return "not heard once";
    if (!wrong.empty()) return wrong;
    return leave(*group);
  });
}

// Whoever dies, with or without ranks below it, all that remain hear of it.
TEST_P(Over, TheDeathOfANeighbourIsHeardByAll) {
  constexpr int kSize = 20;
  for (int victim : {0, 1, 5, 19}) {
    const std::string job = fresh_job(), root = root_.empty() ? "" : loopback_root();
    std::atomic<int> done{0};
    run_ranks(kSize, [&](int rank) -> std::string {
      auto [group, status] = join(member(job, rank, kSize, root));
      if (!group) return std::string(status.text());
      if (rank == victim) return {};
      std::optional<Notice> notice;
      poll_until(*group, [&, &group = group] { return notice || (notice = group->heard()); });
      if (!notice) return "nothing heard";
      if (notice->kind != Notice::kLost || notice->culprit != victim) return said(notice);
      if (notice->text.find("lost rank " + std::to_string(victim)) == std::string::npos) return said(notice);
      auto all = group->allgather({}, within_ms(5'000));
      if (all.ok() || all.status().code() != Code::peer) return "an exchange without the victim";
      // The others must have heard before this one's end is news.
      done++;
      poll_until(*group, [&] { return done == kSize - 1; });
      return {};
    });
  }
}

TEST_P(Over, RanksThatNeverComeAreNamedToAll) {
  run_ranks(12, [&](int rank) -> std::string {
    if (rank == 4 || rank == 9) return {};
    auto [group, status] = join(member(job_, rank, 12, root_), 1'500);
    if (group) return "joined without them";
    if (status.code() != Code::timeout) return std::string(status.text());
    return status.text().find("ranks 4, 9 did not come") != std::string::npos ? ""
                                                                              : std::string(status.text());
  });
}

TEST_P(Over, ARankThatDoesNotExchangeIsNamedToAll) {
  run_ranks(12, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 12, root_));
    if (!group) return std::string(status.text());
    if (rank == 7) {
      poll_until(*group, [&, &group = group] { return group->heard().has_value(); });
      return {};
    }
    auto all = group->allgather({}, within_ms(1'000));
    if (all.ok()) return "without rank 7";
    return all.status().text().find("rank 7 did not come") != std::string::npos
               ? ""
               : std::string(all.status().text());
  });
}

TEST_P(Over, ARankWithoutItsRankZeroNamesIt) {
  const int64_t start = now_ns();
  auto [group, status] = join(member(job_, 1, 2, root_), 500);
  EXPECT_EQ(group, nullptr);
  EXPECT_EQ(status.code(), Code::timeout) << status.text();
  EXPECT_NE(status.text().find("rank 0 did not come"), std::string::npos) << status.text();
  EXPECT_LT(now_ns() - start, 3'000'000'000);
}

TEST_P(Over, TheAbortFlagEndsAJoin) {
  std::atomic<bool> abort{false};
  std::thread later([&] {
    usleep(100'000);
    abort = true;
  });
  auto group = Group::join(member(job_, 0, 2, root_), {Deadline::in_ms(20'000), &abort});
  later.join();
  ASSERT_FALSE(group.ok());
  EXPECT_EQ(group.status().code(), Code::aborted);
}

TEST_P(Over, LeavingWaitsForTheLast) {
  std::atomic<bool> left{false};
  run_ranks(12, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 12, root_));
    if (!group) return std::string(status.text());
    if (rank == 11) {
      usleep(300'000);
      left = true;
      return leave(*group);
    }
    if (std::string wrong = leave(*group); !wrong.empty()) return wrong;
    if (!left) return "left before the last";
    return group->heard() ? "news of a loss" : "";
  });
}

TEST_P(Over, TooMuchForAnExchangeFailsForAll) {
  run_ranks(3, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 3, root_));
    if (!group) return std::string(status.text());
    const Bytes mine(24u << 20);
    auto all = group->allgather(mine, within_ms(20'000));
    if (all.ok()) return "72 MiB went through";
    return all.status().code() == Code::invalid ? "" : std::string(all.status().text());
  });
}

TEST_P(Over, BigExchanges) {
  run_ranks(11, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 11, root_));
    if (!group) return std::string(status.text());
    const Bytes mine(size_t(rank) << 18, std::byte(rank));
    auto all = group->allgather(mine, within_ms(20'000));
    if (!all.ok()) return std::string(all.status().text());
    for (int r = 0; r < 11; r++) {
      if ((*all)[size_t(r)] != Bytes(size_t(r) << 18, std::byte(r))) return "wrong bytes";
    }
    return leave(*group);
  });
}

// ---- meetings

// Says `text` to `rank` and gives what it says.
std::string talk(Group& group, int rank, const std::string& text) {
  auto meeting = group.meet(rank);
  if (!meeting->send(bytes_of_text(text))) return "not sent";
  std::optional<Bytes> answer;
  poll_until(group, [&] {
    answer = meeting->receive();
    return answer || meeting->state() == Meeting::State::failed;
  });
  return answer ? text_of(*answer) : std::string(meeting->status().text());
}

TEST_P(Over, BothSidesMeetAThousandTimes) {
  run_ranks(2, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 2, root_));
    if (!group) return std::string(status.text());
    for (int i = 0; i < 1'000; i++) {
      const std::string answer = talk(*group, 1 - rank, std::to_string(i));
      if (answer != std::to_string(i)) return "meeting " + std::to_string(i) + ": " + answer;
    }
    return leave(*group);
  });
}

TEST_P(Over, EveryoneMeetsEveryoneAtOnce) {
  constexpr int kSize = 12;
  run_ranks(kSize, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, kSize, root_));
    if (!group) return std::string(status.text());
    for (int round = 0; round < 5; round++) {
      std::vector<std::unique_ptr<Meeting>> meetings;
      for (int r = 0; r < kSize; r++) {
        if (r == rank) continue;
        meetings.push_back(group->meet(r));
        meetings.back()->send(bytes_of_text(std::to_string(rank)));
      }
      size_t heard = 0;
      std::string wrong;
      poll_until(*group, [&] {
        for (auto& m : meetings) {
          if (auto bytes = m->receive()) {
            heard++;
            if (text_of(*bytes) != std::to_string(m->rank())) wrong = "somebody else";
          }
          if (m->state() == Meeting::State::failed && wrong.empty() && heard < meetings.size()) {
            if (m->status().code() != Code::peer) wrong = std::string(m->status().text());
          }
        }
        return heard == meetings.size() || !wrong.empty();
      });
      if (!wrong.empty()) return wrong;
      if (heard != meetings.size()) return "heard " + std::to_string(heard);
      if (auto all = group->allgather({}, within_ms(20'000)); !all.ok())
        return std::string(all.status().text());
    }
    return leave(*group);
  });
}

TEST_P(Over, AVisitorWaitsToBeMet) {
  run_ranks(3, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 3, root_));
    if (!group) return std::string(status.text());
    if (rank != 0) {
      if (talk(*group, 0, "hello " + std::to_string(rank)) != "well met") return "no answer";
    } else {
      for (int i = 0; i < 2; i++) {
        if (!poll_until(*group, [&, &group = group] { return !group->visitors().empty(); }))
          return "no visitor";
        const int visitor = group->visitors().front();
        if (talk(*group, visitor, "well met") != "hello " + std::to_string(visitor)) return "wrong words";
      }
    }
    return leave(*group);
  });
}

TEST_P(Over, LongMessagesInOrderAndLimits) {
  run_ranks(2, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 2, root_));
    if (!group) return std::string(status.text());
    auto meeting = group->meet(1 - rank);
    if (meeting->send(Bytes(Meeting::kMostMessage + 1))) return "too long a message";
    for (int i = 0; i < 3; i++) {
      if (!meeting->send(Bytes(Meeting::kMostMessage, std::byte(i)))) return "not sent";
    }
    for (int i = 0; i < 3; i++) {
      std::optional<Bytes> got;
      if (!poll_until(*group, [&] { return (got = meeting->receive()).has_value(); })) return "not received";
      if (*got != Bytes(Meeting::kMostMessage, std::byte(i))) return "wrong order";
    }
    return leave(*group);
  });
}

TEST_P(Over, AMeetingWithTheDeadFails) {
  std::atomic<bool> gone{false};
  run_ranks(3, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 3, root_));
    if (!group) return std::string(status.text());
    if (rank == 2) {
      group.reset();
      gone = true;
      return {};
    }
    poll_until(*group, [&] { return gone.load(); });
    auto meeting = group->meet(2);
    poll_until(*group, [&] { return meeting->state() == Meeting::State::failed; });
    if (meeting->state() != Meeting::State::failed) return "not failed";
    if (meeting->status().text().find("rank 2") == std::string_view::npos)
      return std::string(meeting->status().text());
    auto all = group->allgather({}, within_ms(5'000));
    return all.ok() ? "exchanged" : "";
  });
}

TEST(Meeting, OutlivesItsGroup) {
  const std::string job = fresh_job();
  run_ranks(2, [&](int rank) -> std::string {
    auto [group, status] = join(member(job, rank, 2));
    if (!group) return std::string(status.text());
    auto meeting = group->meet(1 - rank);
    group.reset();
    if (meeting->state() != Meeting::State::failed || meeting->send({}) || meeting->receive()) return "alive";
    return {};
  });
}

}  // namespace
}  // namespace plait::bootstrap::test
