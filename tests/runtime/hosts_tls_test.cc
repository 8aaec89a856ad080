// TLS between hosts: right sums, and what ranks must have alike.
#include "runtime/hosts.h"

namespace plait::test {
namespace {

TEST(Tls, SumsAreRight) {
  SecretFile secret;
  for (const char* network : {"tcp?tls=1", "tcp:lo?tls=1+connections=3", "tcp:lo?tls=1,tcp:lo?tls=1"}) {
    const std::string job = fresh_job();
    run_ranks(processes(4), [&](int rank, int size) -> std::string {
      auto c = config_of(rank, size, job.c_str(), "host-" + std::to_string(rank / 2));
      c.network = network;
      c.secret_file = secret.path;
      Handle h(c);
      std::string words = h.comm == nullptr ? h.error : sums(h.comm, rank, size);
      if (!words.empty()) return words;
      plait_comm* child = nullptr;
      if (plait_comm_split(h.comm, rank % 2, 0, nullptr, &child) != PLAIT_OK) return plait_last_error(h.comm);
      int its = -1;
      plait_comm_rank(child, &its);
      words = sums(child, its, size / 2);
      plait_comm_destroy(child);
      return words;
    });
  }
}

TEST(Tls, IsAlikeOnAllRanks) {
  SecretFile secret;
  const std::string job = fresh_job();
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    auto c = config_of(rank, size, job.c_str(), "host-" + std::to_string(rank));
    c.network = rank == 1 ? "tcp" : "tcp?tls=1";
    c.secret_file = secret.path;
    Handle h(c);
    if (h.comm != nullptr) return "ranks with TLS and without made a communicator";
    const bool named = contains(h.error, "tcp?tls=1") && contains(h.error, rank == 1 ? "rank 0" : "rank 1") &&
                       contains(h.error, "PLAIT_NETWORK");
    return named ? "" : h.error;
  });
}

TEST(Tls, NeedsASecret) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    auto c = config_of(rank, size, job.c_str(), "host-" + std::to_string(rank));
    c.network = "tcp?tls=1";
    Handle h(c);
    if (h.comm != nullptr) return "TLS without a secret";
    return contains(h.error, "PLAIT_SECRET_FILE") ? "" : h.error;
  });
}

}  // namespace
}  // namespace plait::test
