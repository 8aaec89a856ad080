#include "runtime/rail_loss.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/clock.h"
#include "runtime/fabric.h"
#include "runtime/hosts.h"
#include "transport/hooks/wrap.h"

namespace plait::test {
namespace {

using runtime::Way;
using transport::rails::RailEvent;

constexpr int64_t kDeadlineMs = 60'000;
constexpr size_t kMostRanks = 4, kRails = 2;

// What is posted on one rail of one rank: the link that posts the `at`-th transfer fails there.
struct Trigger {
  std::atomic<uint64_t> posted{0}, at{UINT64_MAX};
  std::atomic<bool> fired{false};
};

class CountingDomain final : public transport::hooks::WrappedDomain {
 public:
  CountingDomain(Rail rail, Trigger& trigger)
      : WrappedDomain(std::move(rail.domain)), fail_(std::move(rail.fail)), trigger_(trigger) {}

  Result<std::unique_ptr<transport::Endpoint>> open(uint16_t counters, uint64_t cookie) override {
    auto end = inner().open(counters, cookie);
    if (!end.ok()) return end;
    return std::unique_ptr<transport::Endpoint>(std::make_unique<End>(std::move(*end), counters, *this));
  }

 private:
  class End final : public transport::hooks::WrappedEndpoint {
   public:
    End(std::unique_ptr<transport::Endpoint> inner, uint16_t counters, CountingDomain& domain)
        : WrappedEndpoint(std::move(inner), counters), domain_(domain) {}
    size_t post(std::span<const transport::Transfer> transfers) noexcept override {
      const size_t taken = WrappedEndpoint::post(transfers);
      Trigger& t = domain_.trigger_;
      if ((t.posted += taken) < t.at) return taken;
      t.at = UINT64_MAX;
      t.fired = true;
      domain_.fail_(inner());
      return taken;
    }

   private:
    CountingDomain& domain_;
  };

  const std::function<void(transport::Endpoint&)> fail_;
  Trigger& trigger_;
};

// What became of the rails of all ranks.
struct Story {
  struct Of {
    uint64_t settled = 0, back = 0;
  };
  std::mutex mutex;
  std::array<Of, kRails> of;
  uint64_t parts = 0, bytes = 0;  // sent again
  const int64_t began_ns = now_ns();

  void add(int rank, const RailEvent& e) {
    const std::lock_guard lock(mutex);
    Of& o = of[e.rail];
    if (e.what == RailEvent::What::settled) ++o.settled;
    if (e.what == RailEvent::What::back) ++o.back;
    parts += e.parts;
    bytes += e.bytes;
    if (e.what != RailEvent::What::settled) return;
    std::printf("  %.2f s: rank %d: rail %zu (%.*s) to rank %lu is out: %.*s; %lu bytes go again\n",
                double(now_ns() - began_ns) / 1e9, rank, e.rail, int(e.name.size()), e.name.data(),
                e.endpoint, int(e.why.size()), e.why.data(), e.bytes);
  }
  // Of a rail, over all ranks.
  Of sum(size_t rail) {
    const std::lock_guard lock(mutex);
    return of[rail];
  }
};

// What the ranks of one job share.
struct World {
  const Losses& losses;
  size_t rails;
  std::array<std::array<Trigger, kRails>, kMostRanks> triggers{};
  Story story{};
  std::array<std::atomic<uint64_t>, kRails> fired{};  // links, by rail

  std::string state() {
    std::string text;
    for (size_t r = 0; r < kRails; r++) {
      const Story::Of sum = story.sum(r);
      text += "rail " + std::to_string(r) + ": " + std::to_string(fired[r]) + " times hurt, " +
              std::to_string(sum.settled) + " ends settled, " + std::to_string(sum.back) + " back; ";
    }
    return text;
  }
  bool healed() {
    for (size_t r = 0; r < kRails; r++) {
      const Story::Of sum = story.sum(r);
      if (sum.settled != sum.back || sum.settled < 2 * fired[r]) return false;
    }
    return true;
  }
  std::unique_ptr<transport::Domain> network(int rank) {
    std::vector<std::unique_ptr<transport::Domain>> domains;
    for (size_t r = 0; r < rails; ++r) {
      domains.push_back(std::make_unique<CountingDomain>(losses.make(rank, r), triggers[size_t(rank)][r]));
    }
    if (rails == 1) return std::move(domains[0]);
    transport::rails::Options options;
    options.told = [this, rank](const RailEvent& event) { story.add(rank, event); };
    options.silent_ms = 10'000;  // however slow this machine is, only a link that failed is out
    return std::move(transport::rails::make_domain(std::move(domains), options).value());
  }
};

// One rank of a job; empty words: all went well.
class Member {
 public:
  Member(World& world, const std::string& job, int rank)
      : world_(world),
        rank_(rank),
        handle_(config_for(job, rank, world.losses.ranks)),
        data_(world.losses.count),
        wrong_(handle_.error) {}
  const std::string& wrong() const { return wrong_; }
  std::string error() const { return plait_last_error(handle_.comm); }

  // An allreduce of all elements: what it ended with. Where the sums are wrong, wrong() says so.
  plait_status sum(int round) {
    for (size_t i = 0; i < data_.size(); i++) data_[i] = value(rank_, round, i);
    const plait_status status = allreduce(data_.data(), data_.size(), PLAIT_SUM);
    for (size_t i = 0; i < data_.size() && status == PLAIT_OK && wrong_.empty(); i++) {
      float want = 0;
      for (int r = 0; r < world_.losses.ranks; r++) want += value(r, round, i);
      if (data_[i] != want)
        wrong_ = "round " + std::to_string(round) + ": element " + std::to_string(i) + " is wrong";
    }
    return status;
  }
  bool right(int round) {
    if (sum(round) != PLAIT_OK) wrong_ = "round " + std::to_string(round) + ": " + error();
    return wrong_.empty();
  }
  // Until every link that failed was settled at both ends and all are used again, as rank 0 sees it.
  bool heal() {
    const Deadline deadline = Deadline::in_ms(kDeadlineMs);
    for (int look = 0;; look++, usleep(10'000)) {
      // At first some may still be in the operation before.
      float hurt[2] = {look == 0 || (rank_ == 0 && !world_.healed()) ? 1.0F : 0.0F,
                       deadline.passed() ? 1.0F : 0.0F};
      if (allreduce(hurt, 2, PLAIT_SUM) != PLAIT_OK) wrong_ = "while a rail is to come back: " + error();
      if (!wrong_.empty() || hurt[0] == 0) return wrong_.empty();
      if (hurt[1] != 0) wrong_ = "a rail did not come back: " + world_.state();
    }
  }

 private:
  static plait_comm_config config_for(const std::string& job, int rank, int ranks) {
    plait_comm_config config = config_of(rank, ranks, job.c_str(), "host-" + std::to_string(rank));
    config.timeout_ms = config.bootstrap_timeout_ms = kDeadlineMs;
    config.network = "tcp";  // in whose place the rails are put
    return config;
  }
  static float value(int rank, int round, size_t i) { return float((rank + 1) * (round + 2) + int(i % 97)); }
  plait_status allreduce(float* data, size_t count, plait_op op) {
    return plait_allreduce(handle_.comm, data, data, count, PLAIT_FLOAT32, op, nullptr, nullptr);
  }

  World& world_;
  const int rank_;
  const Handle handle_;
  std::vector<float> data_;
  std::string wrong_;
};

std::string on_ranks(World& world, const std::function<std::string(Member&, int rank)>& body) {
  auto before = runtime::wrap_domains(
      [&](int32_t rank, Way way,
          std::unique_ptr<transport::Domain> domain) -> std::unique_ptr<transport::Domain> {
        return way == Way::network ? world.network(rank) : std::move(domain);
      });
  const std::string job = fresh_job();
  const int ranks = world.losses.ranks;
  std::string words = run_threads(0, ranks, ranks, [&](int rank, int) -> std::string {
    Member member(world, job, rank);
    return member.wrong().empty() ? body(member, rank) : member.wrong();
  });
  runtime::wrap_domains(before);
  return words;
}

// The link of which rank, on which rail, fails in a round, after which share of what is posted there.
struct Plan {
  int rank;
  size_t rail;
  double share;
};

std::vector<Plan> draw(uint64_t seed, int rounds, int ranks, size_t rails) {
  std::mt19937_64 random(seed);
  std::vector<Plan> plans;
  for (int i = 0; i < rounds; i++)
    plans.push_back(
        {int(random() % uint64_t(ranks)), random() % rails, 0.02 + double(random() % 600) / 1000});
  return plans;
}

// From here on, in a call that posts `usual` transfers when all is well.
void arm(Trigger& t, uint64_t usual, double share) { t.at = t.posted + 1 + uint64_t(double(usual) * share); }
// Whether it failed.
bool disarm(Trigger& t) {
  t.at = UINT64_MAX;
  return t.fired.exchange(false);
}

}  // namespace

uint64_t seed_of_test() {
  const char* given = std::getenv("PLAIT_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("PLAIT_TEST_SEED=%lu\n", seed);
  return seed;
}

void lose_rails(const Losses& losses, uint64_t seed) {
  World world{losses, kRails};
  const std::vector<Plan> plans = draw(seed, losses.rounds, losses.ranks, kRails);
  const std::string words = on_ranks(world, [&](Member& member, int rank) -> std::string {
    auto& triggers = world.triggers[size_t(rank)];
    if (!member.right(-1)) return member.wrong();  // it connects
    uint64_t usual[kRails];
    for (size_t r = 0; r < kRails; r++) usual[r] = triggers[r].posted;
    if (!member.right(0)) return member.wrong();
    for (size_t r = 0; r < kRails; r++) usual[r] = triggers[r].posted - usual[r];
    for (int round = 1; round <= losses.rounds; round++) {
      const Plan& plan = plans[size_t(round) - 1];
      Trigger& trigger = triggers[plan.rail];
      if (plan.rank == rank) arm(trigger, usual[plan.rail], plan.share);
      if (!member.right(round)) return member.wrong();
      if (plan.rank == rank && disarm(trigger)) ++world.fired[plan.rail];
      if (!member.heal()) return member.wrong();
    }
    return {};
  });
  ASSERT_EQ(words, "");
  const uint64_t fired = world.fired[0] + world.fired[1];
  std::printf("in %lu of %d rounds a link failed; %lu parts (%lu bytes) went again\n", fired, losses.rounds,
              world.story.parts, world.story.bytes);
  EXPECT_GT(fired, 0u) << "no link failed within an operation";
  EXPECT_GT(world.story.parts, 0u) << "nothing was under way when a link failed";
  for (size_t r = 0; r < kRails; r++) {
    EXPECT_GE(world.story.sum(r).settled, 2 * world.fired[r]) << "of rail " << r;
    EXPECT_EQ(world.story.sum(r).settled == 0, world.fired[r] == 0) << "of rail " << r;
  }
}

// A rank's part of the operation may be over when the link fails: then it is the next one that ends in an
// error.
void lose_the_rail(const Losses& losses, uint64_t seed, const std::function<std::string(int rank)>& name) {
  const Plan plan = draw(seed, 1, losses.ranks, 1)[0];
  World world{losses, 1};
  std::array<std::string, kMostRanks> errors;
  const std::string words = on_ranks(world, [&](Member& member, int rank) -> std::string {
    Trigger& trigger = world.triggers[size_t(rank)][0];
    if (!member.right(-1)) return member.wrong();
    const uint64_t before = trigger.posted;
    if (!member.right(0)) return member.wrong();
    if (rank == plan.rank) arm(trigger, trigger.posted - before, plan.share);
    plait_status status = PLAIT_OK;
    for (int round = 1; round <= 4 && status == PLAIT_OK; round++) status = member.sum(round);
    if (rank == plan.rank && !disarm(trigger)) return "no link failed within an operation";
    errors[size_t(rank)] = member.error();
    if (status == PLAIT_ERR_PEER) return member.wrong();
    return std::string("ended with ") + plait_status_string(status) + ": " + member.error();
  });
  ASSERT_EQ(words, "") << "rank " << plan.rank << " loses a link";
  int at_first_hand = 0;
  for (int rank = 0; rank < losses.ranks; rank++) {
    const std::string& error = errors[size_t(rank)];
    std::printf("rank %d, where rank %d loses a link: %s\n", rank, plan.rank, error.c_str());
    EXPECT_TRUE(error.starts_with("rank ") || error.starts_with("others lost their link to this rank"))
        << error;
    EXPECT_FALSE(error.starts_with("rank " + std::to_string(rank) + " ")) << "it names no peer: " << error;
    if (contains(error, "heard from rank ")) continue;
    ++at_first_hand;
    EXPECT_TRUE(contains(error, "over " + name(rank) + ", ")) << "it names no device: " << error;
  }
  EXPECT_GT(at_first_hand, 0);
}

}  // namespace plait::test
