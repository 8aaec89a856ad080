// Groups of some ranks of a group: they exchange and meet, without their parent too, and nobody else gets in.
#include <atomic>

#include "bootstrap/crypto.h"
#include "rig.h"

namespace plait::bootstrap::test {
namespace {

// The subgroup of ranks r, r + colors, r + 2 * colors...
Result<Subgroup> plan(Group& group, const Invitation& mine, int colors, uint64_t number) {
  auto all = group.allgather(mine.card(), within_ms(20'000));
  if (!all.ok()) return all.status();
  Subgroup what;
  what.name = std::to_string(number);
  what.number = number;
  for (int r = group.rank() % colors; r < group.size(); r += colors) {
    if (r == group.rank()) what.rank = int32_t(what.cards.size());
    what.cards.push_back((*all)[size_t(r)]);
  }
  return what;
}

Joined divide(Group& group, int colors, uint64_t number, Watch watch = {}, int64_t ms = 20'000) {
  auto mine = group.invite(0, 0);
  if (!mine.ok()) return {nullptr, mine.status()};
  auto what = plan(group, *mine, colors, number);
  if (!what.ok()) return {nullptr, what.status()};
  auto child = group.subgroup(std::move(*mine), *what, std::move(watch), within_ms(ms));
  if (!child.ok()) return {nullptr, child.status()};
  return {std::move(*child), {}};
}

class Subgroups : public testing::TestWithParam<bool> {
 protected:
  const std::string root_ = GetParam() ? loopback_root() : "", job_ = fresh_job();
};
INSTANTIATE_TEST_SUITE_P(Over, Subgroups, testing::Values(false, true),
                         [](auto& over) { return over.param ? "Tcp" : "Unix"; });

TEST_P(Subgroups, ExchangeAndOutliveTheirParents) {
  constexpr int kSize = 20;
  run_ranks(kSize, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, kSize, root_));
    if (!group) return std::string(status.text());
    auto [half, why] = divide(*group, 2, 1);
    if (!half) return std::string(why.text());
    if (half->size() != kSize / 2 || half->rank() != rank / 2) return "another place";
    if (std::string wrong = exchange(*half) + exchange(*group); !wrong.empty()) return wrong;
    auto [fifth, reason] = divide(*half, 5, 1);
    if (!fifth) return std::string(reason.text());
    if (std::string wrong = leave(*group) + leave(*half); !wrong.empty()) return wrong;
    group.reset();
    half.reset();
    std::string wrong = exchange(*fifth);
    auto meeting = fifth->meet(1 - fifth->rank());
    meeting->send(bytes_of_text("from " + std::to_string(rank)));
    std::optional<Bytes> answer;
    if (!poll_until(*fifth, [&] { return (answer = meeting->receive()).has_value(); })) return "no answer";
    return wrong + leave(*fifth);
  });
}

TEST_P(Subgroups, AMemberThatDoesNotComeIsNamed) {
  run_ranks(3, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 3, root_));
    if (!group) return std::string(status.text());
    std::string wrong;
    if (rank == 2) {
      auto mine = group->invite(0, 0);
      if (!mine.ok() || !plan(*group, *mine, 1, 1).ok()) wrong = "no plan";
      // It stays, but for the subgroup.
      if (wrong.empty()) wrong = exchange(*group);
    } else {
      auto [child, why] = divide(*group, 1, 1, {}, 1'000);
      if (child) wrong = "joined without rank 2";
      if (why.code() != Code::timeout || why.text().find("rank 2 did not come") == std::string_view::npos)
        wrong = std::string(why.text());
      if (wrong.empty()) wrong = exchange(*group);
    }
    return wrong + leave(*group);
  });
}

// Whoever is not connected to the others yet hears of the reason in no other way.
TEST_P(Subgroups, AWatchEndsTheWait) {
  const int64_t start = now_ns();
  run_ranks(3, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 3, root_));
    if (!group) return std::string(status.text());
    std::string wrong;
    if (rank == 2) {
      auto mine = group->invite(0, 0);
      if (!mine.ok() || !plan(*group, *mine, 1, 1).ok()) wrong = "no plan";
      wrong += exchange(*group);
    } else {
      Watch watch;
      watch.look = [] { return Status(Code::aborted, "enough waited"); };
      auto [child, why] = divide(*group, 1, 1, std::move(watch));
      if (child || why.text().find("enough waited") == std::string_view::npos)
        wrong = std::string(why.text());
      wrong += exchange(*group);
    }
    return wrong + leave(*group);
  });
  EXPECT_LT(now_ns() - start, 15'000'000'000);
}

// A rank that saw another card has another secret, and another job: it is turned away.
TEST_P(Subgroups, WhoSawOtherCardsStaysOut) {
  run_ranks(2, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 2, root_));
    if (!group) return std::string(status.text());
    auto mine = group->invite(0, 0);
    auto what = plan(*group, *mine, 1, 1);
    if (!what.ok()) return "no plan";
    if (rank == 1) what->cards[0][0] ^= std::byte(1);  // its nonce
    auto child = group->subgroup(std::move(*mine), *what, {}, within_ms(1'500));
    std::string wrong = child.ok() ? "joined" : exchange(*group);
    return wrong + leave(*group);
  });
}

TEST_P(Subgroups, ACardThatMakesNoSenseIsRefused) {
  auto [group, status] = join(member(job_, 0, 1, root_));
  ASSERT_NE(group, nullptr) << status.text();
  for (size_t keep : {size_t(0), size_t(15), size_t(20)}) {
    auto mine = group->invite(0, 0);
    ASSERT_TRUE(mine.ok()) << mine.status().text();
    Bytes card = mine->card();
    card.resize(keep);
    auto child = group->subgroup(std::move(*mine), {"1", 1, 0, {card}}, {}, within_ms(1'000));
    EXPECT_FALSE(child.ok());
    EXPECT_EQ(child.status().code(), Code::version);
  }
}

TEST(DerivedSecret, DependsOnParentAndContext) {
  const Secret one(bytes_of_text("a secret of one job")), other(bytes_of_text("a secret of another"));
  const Bytes context = bytes_of_text("context"), another = bytes_of_text("Context");
  auto bytes = [](const SecretPtr& secret) { return Bytes(secret->bytes().begin(), secret->bytes().end()); };
  EXPECT_EQ(bytes(derived_secret(one, context)), bytes(derived_secret(one, context)));
  EXPECT_NE(bytes(derived_secret(one, context)), bytes(derived_secret(one, another)));
  EXPECT_NE(bytes(derived_secret(one, context)), bytes(derived_secret(other, context)));
  EXPECT_EQ(derived_secret(one, context)->bytes().size(), sizeof(Digest));
}

}  // namespace
}  // namespace plait::bootstrap::test
