// Faults x moments: whatever goes wrong, and whenever, every rank ends each operation with the right sum or
// with an error that names somebody, within the deadline. Four ranks, as threads that are joined by TCP;
// seeded.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>

#include "runtime/fabric.h"
#include "runtime/hosts.h"
#include "transport/hooks/fault.h"

namespace plait::test {
namespace {

using runtime::Way;
using transport::hooks::Fault;
using transport::hooks::FaultDomain;

constexpr int kRanks = 4;
constexpr int kOperations = 3;
// Only who stops is to be found by a deadline: whatever else ends in one here was hanging.
constexpr int64_t kDeadlineMs = 20'000, kDeadlineOfStopsMs = 500;

enum class What : uint8_t {
  // On the wire, at a transfer of the victim.
  link_dies,
  transfer_fails,
  late,
  acknowledgement_lost,
  // The rank itself.
  aborts,
  leaves,
  vanishes,
  stops,
  calls_another,
};
constexpr const char* kWhat[] = {"link dies", "transfer fails", "late",  "acknowledgement lost", "aborts",
                                 "leaves",    "vanishes",       "stops", "calls another"};
constexpr int kWhats = 9;

enum class Moment : uint8_t { before, during, after };
constexpr const char* kMoment[] = {"before", "during", "after"};

struct Plan {
  What what;
  Moment moment;
  int step;  // during: how many transfers, or looks, of the victim come first
  int victim;
  const char* algorithm;
  size_t count;
  std::string text() const {
    return std::string(kWhat[int(what)]) + " " + kMoment[int(moment)] + ", step " + std::to_string(step) +
           ", rank " + std::to_string(victim) + ", " + algorithm + ", count " + std::to_string(count);
  }
  bool on_the_wire() const { return what <= What::acknowledgement_lost; }
};

// The fault domains of the ranks of one run, and how many of its ranks had an operation that failed.
struct Wires {
  std::mutex mutex;
  std::array<FaultDomain*, kRanks> of{};
  std::atomic<int> failed{0};
};

plait_status allreduce(plait_comm* comm, float* data, const Plan& p, size_t count, plait_request** request) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.algorithm = p.algorithm;
  return plait_allreduce(comm, data, data, count, PLAIT_FLOAT32, PLAIT_SUM, &config, request);
}

plait_comm_config config_for(const std::string& job, int rank, const std::string& host, int64_t timeout_ms) {
  plait_comm_config config = config_of(rank, kRanks, job.c_str(), host);
  config.timeout_ms = timeout_ms;
  config.bootstrap_timeout_ms = kDeadlineMs;
  return config;
}

struct Outcome {
  std::array<plait_status, kOperations> status{};
  std::string text, wrong;
};

class Runner {
 public:
  Runner(const Plan& p, const std::string& job, int rank, Wires& wires)
      : p_(p),
        rank_(rank),
        wires_(wires),
        data_(p.count),
        handle_(config_for(job, rank, "host-" + std::to_string(rank),
                           p.what == What::stops ? kDeadlineOfStopsMs : kDeadlineMs)) {
    o_.wrong = handle_.error;
  }

  Outcome run() {
    for (int k = 0; k < kOperations && handle_.comm != nullptr && o_.wrong.empty(); k++) {
      const bool mine = rank_ == p_.victim && k == 1;
      if (mine && p_.moment == Moment::before && !act(0)) break;
      o_.status[size_t(k)] = operation(k, mine && p_.moment == Moment::during);
      if (handle_.comm == nullptr) break;
      if (o_.status[size_t(k)] != PLAIT_OK && o_.text.empty()) {
        o_.text = plait_last_error(handle_.comm);
        wires_.failed++;
      }
      if (mine && p_.moment == Moment::after && !act(0)) break;
    }
    return o_;
  }

 private:
  plait_status operation(int k, bool in_the_midst) {
    for (size_t i = 0; i < p_.count; i++) data_[i] = value(rank_, k, i);
    if (in_the_midst && p_.on_the_wire()) act(p_.step);
    if (in_the_midst && p_.what == What::calls_another)
      return allreduce(handle_.comm, data_.data(), p_, p_.count - 1, nullptr);
    plait_request* request = nullptr;
    plait_status status =
        allreduce(handle_.comm, data_.data(), p_, p_.count, in_the_midst ? &request : nullptr);
    if (request != nullptr) {
      int done = 0;
      for (int i = 0; i < p_.step && status == PLAIT_OK && done == 0; i++)
        status = plait_test(request, &done);
      if (!p_.on_the_wire() && !act(0)) return PLAIT_OK;
      status = plait_wait(request);
    }
    if (status != PLAIT_OK) return status;
    for (size_t i = 0; i < p_.count && o_.wrong.empty(); i++) {
      float want = 0;
      for (int r = 0; r < kRanks; r++) want += value(r, k, i);
      if (data_[i] != want)
        o_.wrong = "operation " + std::to_string(k) + ": element " + std::to_string(i) + " is wrong";
    }
    return status;
  }
  static float value(int rank, int k, size_t i) { return float((rank + 1) * (k + 2) + int(i % 97)); }

  // False: this rank is gone.
  bool act(int transfers) {
    switch (p_.what) {
      case What::link_dies:
        return wire(Fault::kill, transfers);
      case What::transfer_fails:
        return wire(Fault::fail_on, transfers);
      case What::late:
        return wire(Fault::delay, transfers);
      case What::acknowledgement_lost:
        return wire(Fault::lose_ack, transfers);
      case What::aborts:
        plait_comm_abort(handle_.comm);
        return true;
      case What::stops:  // until all others gave up, however late they came to wait
        for (int ms = 0; ms < kDeadlineMs && wires_.failed < kRanks - 1; ms++) usleep(1000);
        return true;
      case What::leaves:
      case What::vanishes:
        if (p_.what == What::vanishes) plait_comm_abort(handle_.comm);
        handle_.close();
        return false;
      case What::calls_another:
        break;
    }
    return true;
  }
  bool wire(Fault fault, int transfers) {
    std::lock_guard lock(wires_.mutex);
    if (FaultDomain* domain = wires_.of[size_t(rank_)])
      domain->add({.fault = fault, .nth = uint64_t(transfers) + 1, .polls = 200});
    return true;
  }

  const Plan& p_;
  const int rank_;
  Wires& wires_;
  std::vector<float> data_;
  Handle handle_;
  Outcome o_;
};

// Which errors a fault may end in.
bool allowed(const Plan& p, plait_status status) {
  if (status == PLAIT_OK) return true;
  switch (p.what) {
    case What::late:
      return false;
    case What::aborts:
    case What::vanishes:
      return status == PLAIT_ERR_ABORTED || (p.what == What::vanishes && status == PLAIT_ERR_PEER);
    case What::stops:
      return status == PLAIT_ERR_TIMEOUT || status == PLAIT_ERR_PEER;
    case What::calls_another:
      return status == PLAIT_ERR_MISMATCH;
    case What::leaves:
      return status == PLAIT_ERR_PEER || status == PLAIT_ERR_STATE || status == PLAIT_ERR_ABORTED;
    default:
      return status == PLAIT_ERR_PEER;
  }
}

std::string judge(const Plan& p, int rank, const Outcome& o) {
  if (!o.wrong.empty()) return o.wrong;
  bool failed = false;
  for (plait_status s : o.status) {
    if (!allowed(p, s)) return std::string("ended with ") + plait_status_string(s) + ": " + o.text;
    if (failed && s == PLAIT_OK && rank != p.victim) return "a later operation forgot the error";
    failed = failed || s != PLAIT_OK;
  }
  if (failed && o.text.find("rank ") == std::string::npos) return "the error names nobody: " + o.text;
  const bool fatal = p.what >= What::aborts && !(p.what == What::stops && p.moment == Moment::after);
  if (fatal && !failed && rank != p.victim) return "noticed nothing";
  return {};
}

// From now on the networks of all ranks can be made to misbehave; returns what was so before.
auto tap(Wires& wires) {
  return runtime::wrap_domains(
      [&](int32_t rank, Way way,
          std::unique_ptr<transport::Domain> domain) -> std::unique_ptr<transport::Domain> {
        if (way != Way::network) return domain;
        auto wrapped = std::make_unique<FaultDomain>(std::move(domain), transport::hooks::FaultPlan{});
        std::lock_guard lock(wires.mutex);
        wires.of[size_t(rank)] = wrapped.get();
        return wrapped;
      });
}

// Nothing that this rank posts on its network arrives any more.
void lose_all(Wires& wires, int rank) {
  std::lock_guard lock(wires.mutex);
  wires.of[size_t(rank)]->add({.fault = Fault::drop, .probability = 1});
}

std::string run_plan(const Plan& p) {
  Wires wires;
  auto before = tap(wires);
  const std::string job = fresh_job();
  std::string words = run_threads(0, kRanks, kRanks, [&](int rank, int) -> std::string {
    Runner runner(p, job, rank, wires);
    return judge(p, rank, runner.run());
  });
  runtime::wrap_domains(before);
  return words.empty() ? words : p.text() + ": " + words;
}

int runs() {
  const char* text = std::getenv("PLAIT_TEST_FAULTS");
  return text != nullptr ? std::atoi(text) : 60;
}

Plan draw(std::mt19937_64& random) {
  Plan p;
  p.what = What(random() % kWhats);
  p.moment = Moment(random() % 3);
  p.step = int(random() % 24);
  p.victim = int(random() % kRanks);
  p.algorithm = random() % 2 == 0 ? "ring" : "direct";
  p.count = std::array<size_t, 4>{2, 1000, 20'000, 300'000}[random() % 4];
  if (p.what == What::calls_another) p.moment = Moment::during;
  return p;
}

class Faults : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(plait_init(nullptr), PLAIT_OK); }
  void TearDown() override { plait_finalize(); }
};

// Those that stop take seconds each: all of them only where many runs were asked for.
bool asked_for_all() { return std::getenv("PLAIT_TEST_FAULTS") != nullptr; }

TEST_F(Faults, TableOfFaultsAndMoments) {
  for (int what = 0; what < kWhats; what++) {
    for (Moment moment : {Moment::before, Moment::during, Moment::after}) {
      for (const char* algorithm : {"ring", "direct"}) {
        const Plan p{What(what), moment, 3, 2, algorithm, 1000};
        if (p.what == What::calls_another && moment != Moment::during) continue;
        if (p.what == What::stops && !asked_for_all() && algorithm[0] == 'd') continue;
        ASSERT_EQ(run_plan(p), "");
      }
    }
  }
}

// During: at each transfer of the victim for what happens on the wire, after so many looks for what happens
// to the rank.
TEST_F(Faults, EachStep) {
  for (int what = 0; what < kWhats; what++) {
    if (What(what) == What::stops && !asked_for_all()) continue;
    for (const char* algorithm : {"ring", "direct"}) {
      for (int step = 0; step < (What(what) == What::calls_another ? 1 : 12); step++) {
        ASSERT_EQ(run_plan({What(what), Moment::during, step, 1, algorithm, 1000}), "");
      }
    }
  }
}

// Ranks that disagree tell why and leave; a third sees only that its links to them end: what they told it by
// these is lost, and rank 0, which passes news on, is busy with something else meanwhile.
TEST_F(Faults, AReasonIsBetterThanTheEndOfALink) {
  Wires wires;
  auto before = tap(wires);
  const std::string job = fresh_job();
  std::atomic<int> gone{0};
  const std::string words = run_threads(0, kRanks, kRanks, [&](int rank, int) -> std::string {
    const std::string host = "host-" + std::to_string(rank == 2 ? 1 : rank);
    Handle handle(config_for(job, rank, host, kDeadlineMs));
    if (!handle.error.empty()) return handle.error;
    std::vector<float> data(1000);
    const Plan p{What::calls_another, Moment::during, 0, 2, "direct", data.size()};
    plait_status status = allreduce(handle.comm, data.data(), p, p.count, nullptr);
    if (host == "host-1") lose_all(wires, rank);
    // Two links of rank 3 have ended for long when this rank comes to pass the news on.
    if (rank == 0) {
      while (gone < 2) usleep(1000);
      usleep(100'000);
    }
    if (status == PLAIT_OK) status = allreduce(handle.comm, data.data(), p, p.count - (rank == 2), nullptr);
    std::string text = plait_last_error(handle.comm);
    handle.close();
    gone++;
    return status == PLAIT_ERR_MISMATCH &&
                   text.find("rank 2 called allreduce(count=999,") != std::string::npos
               ? ""
               : std::string(plait_status_string(status)) + ": " + text;
  });
  runtime::wrap_domains(before);
  EXPECT_EQ(words, "");
}

TEST_F(Faults, Drawn) {
  const char* given = std::getenv("PLAIT_TEST_SEED");
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  for (int i = 0; i < runs(); i++, seed++) {
    std::mt19937_64 random(seed);
    ASSERT_EQ(run_plan(draw(random)), "") << "PLAIT_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace plait::test
