#include "rig.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "base/file.h"
#include "bootstrap/socket.h"

namespace plait::bootstrap::test {

std::string fresh_job() {
  static std::atomic<int> count{0};
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(now_ns()) + "-" + std::to_string(count++);
}

// Below those that the kernel gives to whoever names none: between this and its use another rank may ask for
// one.
uint16_t free_port(int family) {
  static std::atomic<uint32_t> next{uint32_t(getpid()) * 37};
  const Address address = parse_ip(family == 4 ? "127.0.0.1" : "::1").value();
  for (int i = 0; i < 100; ++i) {
    const auto port = uint16_t(12'000 + next++ % 8000);
    auto fd = listen_at({address.with_port(port), {}});
    if (fd.ok()) return port;
    if (fd.status().code() != Code::state) break;
  }
  return 0;
}

bool has_ipv6() { return free_port(6) != 0; }

std::string loopback_root(int family) {
  return (family == 4 ? "127.0.0.1:" : "[::1]:") + std::to_string(free_port(family));
}

Bytes bytes_of_text(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

std::string text_of(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

SecretPtr secret_of(std::string_view text) { return std::make_shared<const Secret>(bytes_of_text(text)); }

Membership member(const std::string& job, int32_t rank, int32_t size, const std::string& root) {
  Membership m;
  m.rank = rank;
  m.size = size;
  m.job = job;
  m.root = root;
  if (!root.empty()) m.secret = secret_of("a secret that the tests share");
  return m;
}

void run_ranks(int count, const Main& main) {
  std::vector<std::string> complaints(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int r = 0; r < count; r++) threads.emplace_back([&, r] { complaints[size_t(r)] = main(r); });
  for (auto& thread : threads) thread.join();
  for (int r = 0; r < count; r++) EXPECT_EQ(complaints[size_t(r)], "") << "rank " << r;
}

Joined join(const Membership& m, int64_t ms) {
  auto group = Group::join(m, within_ms(ms));
  if (!group.ok()) return {nullptr, group.status()};
  return {std::move(*group), {}};
}

std::string exchange(Group& group, int64_t ms) {
  auto of = [](int rank) { return Bytes(size_t(rank % 7 + 1), std::byte(rank)); };
  auto all = group.allgather(of(group.rank()), within_ms(ms));
  if (!all.ok()) return std::string(all.status().text());
  if (all->size() != size_t(group.size())) return "a wrong number of contributions";
  for (int r = 0; r < group.size(); r++) {
    if ((*all)[size_t(r)] != of(r)) return "wrong bytes of rank " + std::to_string(r);
  }
  return {};
}

bool poll_until(Group& group, const std::function<bool()>& done, int64_t ms) {
  const Deadline deadline = Deadline::in_ms(ms);
  for (;;) {
    group.poll();
    if (done()) return true;
    if (deadline.passed()) return false;
    pollfd p{group.wait_fd(), POLLIN, 0};
    ::poll(&p, 1, 10);
  }
}

std::string leave(Group& group, int64_t ms) {
  group.leave();
  return poll_until(
             group, [&] { return group.all_left(); }, ms)
             ? ""
             : "not all left";
}

}  // namespace plait::bootstrap::test
