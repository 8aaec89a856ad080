// A transport may say late that what was sent has left. Until then the call lasts, though all that it needs
// has come; peers may be in their next one meanwhile.
#include <deque>

#include "base/clock.h"
#include "runtime/fabric.h"
#include "runtime/hosts.h"
#include "transport/hooks/wrap.h"

namespace plait::test {
namespace {

using namespace transport;

// Its Dones come a while after the inner domain's.
class Late final : public hooks::WrappedDomain {
 public:
  explicit Late(std::unique_ptr<Domain> inner) : WrappedDomain(std::move(inner)) {}
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override {
    return inner().open(counters, cookie);
  }
  size_t poll(std::span<Done> done) noexcept override {
    Done some[16];
    const size_t came = inner().poll(some);
    for (size_t i = 0; i < came; i++) kept_.push_back({some[i], now_ns() + kLateNs});
    size_t count = 0;
    for (; count < done.size() && !kept_.empty() && kept_.front().due_ns <= now_ns(); kept_.pop_front())
      done[count++] = kept_.front().done;
    return count;
  }
  bool arm() noexcept override { return kept_.empty() && inner().arm(); }

 private:
  static constexpr int64_t kLateNs = 400'000'000;  // peers show what they call more often than that
  struct Kept {
    Done done;
    int64_t due_ns;
  };
  std::deque<Kept> kept_;
};

TEST(LateDone, APeerThatIsInItsNextCallMakesNoOtherOne) {
  const std::string job = fresh_job();
  auto before = runtime::wrap_domains([](int rank, runtime::Way way, std::unique_ptr<Domain> domain) {
    if (rank != 0 || way != runtime::Way::network) return domain;
    return std::unique_ptr<Domain>(std::make_unique<Late>(std::move(domain)));
  });
  const RankMain main = [&](int rank, int size) -> std::string {
    const Handle h(config_of(rank, size, job.c_str(), "host-" + std::to_string(rank)));
    std::string words = h.error;
    for (int i = 0; i < 4 && words.empty(); i++) {
      float x = float(rank + 1);
      if (plait_allreduce(h.comm, &x, &x, 1, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr) != PLAIT_OK)
        words = plait_last_error(h.comm);
      else if (x != 3)
        words = "a wrong sum";
    }
    return words;
  };
  EXPECT_EQ(run_threads(0, 2, 2, main), "");
  runtime::wrap_domains(std::move(before));
}

}  // namespace
}  // namespace plait::test
