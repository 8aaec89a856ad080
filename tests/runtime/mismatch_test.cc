// Ranks that call different things: everybody hears who called what.
#include "runtime/failure.h"

namespace plait::test {
namespace {

void disagree(int n, int odd, const std::function<plait_status(plait_comm*, void*)>& usual,
              const std::function<plait_status(plait_comm*, void*)>& other,
              std::initializer_list<const char*> parts) {
  const std::string job = fresh_job();
  std::vector<std::string> texts(parts.begin(), parts.end());
  run_ranks(processes(n), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size, 20'000);
    if (c.status != PLAIT_OK) return c.error;
    Shared shared(1 << 20);
    // A rank that is slow to leave the barrier may hear in it what the others found out after it.
    plait_status status = plait_barrier(c.comm, nullptr, nullptr);
    if (status == PLAIT_OK) status = rank == odd ? other(c.comm, shared.data) : usual(c.comm, shared.data);
    // A rank whose part was done already hears it from its next call.
    if (status == PLAIT_OK) status = plait_barrier(c.comm, nullptr, nullptr);
    std::string bad = expect(status, PLAIT_ERR_MISMATCH, c.last(), {("rank " + std::to_string(odd)).c_str()});
    for (auto& t : texts) {
      if (bad.empty() && !contains(c.last(), t)) bad = "text lacks \"" + t + "\": " + c.last();
    }
    return bad;
  });
}

plait_status allreduce(plait_comm* c, void* d, size_t count, plait_dtype t, plait_op op,
                       bool in_place = true) {
  void* out = in_place ? d : static_cast<char*>(d) + (1 << 19);
  return plait_allreduce(c, d, out, count, t, op, nullptr, nullptr);
}

TEST(Mismatch, Count) {
  for (size_t usual : {size_t(2), size_t(60000)}) {
    disagree(
        3, 1, [=](auto* c, void* d) { return allreduce(c, d, usual, PLAIT_FLOAT32, PLAIT_SUM); },
        [=](auto* c, void* d) { return allreduce(c, d, usual + 1, PLAIT_FLOAT32, PLAIT_SUM); }, {"count="});
  }
}
TEST(Mismatch, CountAcrossAlgorithms) {
  disagree(
      4, 0, [](auto* c, void* d) { return allreduce(c, d, 60000, PLAIT_FLOAT32, PLAIT_SUM); },
      [](auto* c, void* d) { return allreduce(c, d, 2, PLAIT_FLOAT32, PLAIT_SUM); },
      {"count=2,", "count=60000"});
}
TEST(Mismatch, Dtype) {
  disagree(
      2, 1, [](auto* c, void* d) { return allreduce(c, d, 16, PLAIT_FLOAT32, PLAIT_SUM); },
      [](auto* c, void* d) { return allreduce(c, d, 16, PLAIT_INT32, PLAIT_SUM); }, {"float32", "int32"});
}
TEST(Mismatch, Op) {
  disagree(
      2, 0, [](auto* c, void* d) { return allreduce(c, d, 16, PLAIT_FLOAT32, PLAIT_SUM); },
      [](auto* c, void* d) { return allreduce(c, d, 16, PLAIT_FLOAT32, PLAIT_MAX); }, {"sum", "max"});
}
TEST(Mismatch, InPlace) {
  disagree(
      3, 2, [](auto* c, void* d) { return allreduce(c, d, 4096, PLAIT_FLOAT32, PLAIT_SUM); },
      [](auto* c, void* d) { return allreduce(c, d, 4096, PLAIT_FLOAT32, PLAIT_SUM, false); }, {"in place"});
}
TEST(Mismatch, Kind) {
  for (int n : {2, 4}) {
    disagree(
        n, 1, [](auto* c, void* d) { return allreduce(c, d, 4096, PLAIT_FLOAT32, PLAIT_SUM); },
        [](auto* c, void*) { return plait_barrier(c, nullptr, nullptr); }, {"allreduce", "barrier"});
  }
}
TEST(Mismatch, Root) {
  auto broadcast = [](int root) {
    return [=](plait_comm* c, void* d) {
      return plait_broadcast(c, d, d, 4096, PLAIT_FLOAT32, root, nullptr, nullptr);
    };
  };
  disagree(2, 0, broadcast(0), broadcast(1), {"root=0", "root=1"});  // both wait, nobody sends
  disagree(2, 0, broadcast(1), broadcast(0), {"root=0", "root=1"});  // both send, nobody receives
  disagree(4, 3, broadcast(0), broadcast(1), {"root=0", "root=1"});
}
TEST(Mismatch, Algorithm) {
  auto by = [](const char* algorithm) {
    return [=](plait_comm* c, void* d) {
      plait_call_config config{};
      config.struct_size = sizeof config;
      config.algorithm = algorithm;
      return plait_allreduce(c, d, d, 4096, PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr);
    };
  };
  disagree(3, 0, by("direct"), by("ring"), {"ring", "direct"});
}

}  // namespace
}  // namespace plait::test
