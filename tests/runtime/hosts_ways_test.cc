// The ways into a job: an address and a secret, a unique id, a framework's allgather.
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "runtime/hosts.h"
#include "support/own_loopback.h"

namespace plait::test {
namespace {

TEST(Ways, AnAddressAndASecret) {
  SecretFile secret;
  const std::string address = own_loopback() + ":23000";
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    auto c = config_of(rank, size, "ways", "host-" + std::to_string(rank));
    c.address = address.c_str();
    c.secret_file = secret.path;
    Handle h(c);
    return h.comm == nullptr ? h.error : sums(h.comm, rank, size);
  });
}

TEST(Ways, NoSecretOverANetworkIsRefused) {
  const std::string address = own_loopback() + ":23000";
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    auto c = config_of(rank, size, "ways", "");
    c.address = address.c_str();
    c.bootstrap_timeout_ms = 3000;
    Handle h(c);
    if (h.comm != nullptr) return "it was let in";
    return contains(h.error, "PLAIT_SECRET_FILE") ? "" : "the error names no PLAIT_SECRET_FILE: " + h.error;
  });
}

TEST(Ways, AUniqueId) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    plait_unique_id id;
    if (rank == 0) {
      plait_init(nullptr);
      if (plait_get_unique_id("lo", 0, 0, &id) != PLAIT_OK) return plait_last_error(nullptr);
      for (int i = 1; i < size; i++) {
        if (write(ends[1], &id, sizeof id) != sizeof id) return "pipe";
      }
    } else if (read(ends[0], &id, sizeof id) != sizeof id) {
      return "pipe";
    }
    auto c = config_of(rank, size, nullptr, "host-" + std::to_string(rank));
    c.unique_id = &id;
    Handle h(c);
    if (rank == 0) plait_finalize();
    return h.comm == nullptr ? h.error : sums(h.comm, rank, size);
  });
  close(ends[0]);
  close(ends[1]);
}

// What a framework has: everybody's bytes to everybody.
struct Framework {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<char>> given;
  struct Seat {
    Framework* framework;
    int rank;
  };
  static plait_status allgather(void* context, const void* mine, void* all, size_t bytes) {
    auto& seat = *static_cast<Seat*>(context);
    Framework& f = *seat.framework;
    std::unique_lock lock(f.mutex);
    const auto* from = static_cast<const char*>(mine);
    f.given[size_t(seat.rank)].assign(from, from + bytes);
    f.changed.notify_all();
    auto full = [&] {
      return std::all_of(f.given.begin(), f.given.end(), [](auto& g) { return !g.empty(); });
    };
    if (!f.changed.wait_for(lock, std::chrono::seconds(20), full)) return PLAIT_ERR_TIMEOUT;
    for (size_t r = 0; r < f.given.size(); r++)
      std::memcpy(static_cast<char*>(all) + r * bytes, f.given[r].data(), bytes);
    return PLAIT_OK;
  }
};

TEST(Ways, TheFrameworksAllgather) {
  constexpr int kSize = 5;
  Framework framework;
  framework.given.resize(kSize);
  EXPECT_EQ(run_threads(0, kSize, kSize,
                        [&](int rank, int size) -> std::string {
                          Framework::Seat seat{&framework, rank};
                          auto c = config_of(rank, size, nullptr, "host-" + std::to_string(rank / 2));
                          c.allgather = &Framework::allgather;
                          c.allgather_context = &seat;
                          Handle h(c);
                          return h.comm == nullptr ? h.error : sums(h.comm, rank, size);
                        }),
            "");
}

}  // namespace
}  // namespace plait::test
