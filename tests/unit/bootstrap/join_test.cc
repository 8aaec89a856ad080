// Ranks that meet, exchange and leave.
#include "rig.h"

namespace plait::bootstrap::test {
namespace {

enum class Over { unix_sockets, ipv4, ipv6 };

class Join : public testing::TestWithParam<Over> {
 protected:
  void SetUp() override {
    if (GetParam() == Over::ipv6 && !has_ipv6()) GTEST_SKIP() << "no IPv6 here";
    if (GetParam() != Over::unix_sockets) root_ = loopback_root(GetParam() == Over::ipv4 ? 4 : 6);
  }
  std::string root_;
};
INSTANTIATE_TEST_SUITE_P(Over, Join, testing::Values(Over::unix_sockets, Over::ipv4, Over::ipv6));

TEST_P(Join, ExchangesAndLeavesWithAnyNumberOfRanks) {
  for (int size : {1, 2, 3, 8, 9, 10, 17, 40}) {
    const std::string job = fresh_job();
    run_ranks(size, [&](int rank) -> std::string {
      auto [group, status] = join(member(job, rank, size, root_));
      if (!group) return std::string(status.text());
      if (group->rank() != rank || group->size() != size) return "wrong rank or size";
      for (int i = 0; i < 3; i++) {
        if (std::string wrong = exchange(*group); !wrong.empty()) return wrong;
      }
      return leave(*group);
    });
  }
}

TEST_P(Join, TellsEachRankWhereTheOthersAre) {
  const std::string job = fresh_job();
  run_ranks(12, [&](int rank) -> std::string {
    auto [group, status] = join(member(job, rank, 12, root_));
    if (!group) return std::string(status.text());
    for (int r = 0; r < 12; r++) {
      const Contact& c = group->contact(r);
      if (c.pid != getpid() || c.host.empty()) return "no process or host";
      if (root_.empty() != c.addresses.empty() || root_.empty() == c.door.empty())
        return "wrong kind of place";
      for (const Address& a : c.addresses) {
        if (!a.loopback() || a.port == 0) return "not on loopback: " + to_string(a);
      }
    }
    return leave(*group);
  });
}

TEST_P(Join, OneCommunicatorAfterTheOther) {
  const std::string job = fresh_job();
  run_ranks(10, [&](int rank) -> std::string {
    std::vector<std::unique_ptr<Group>> groups;
    for (uint32_t epoch = 0; epoch < 5; epoch++) {
      Membership m = member(job, rank, 10, root_);
      m.epoch = epoch;
      auto [group, status] = join(m);
      if (!group) return std::string(status.text());
      groups.push_back(std::move(group));
    }
    for (auto& group : groups) {
      if (std::string wrong = exchange(*group); !wrong.empty()) return wrong;
    }
    for (auto& group : groups) {
      if (std::string wrong = leave(*group); !wrong.empty()) return wrong;
    }
    return {};
  });
}

}  // namespace
}  // namespace plait::bootstrap::test
