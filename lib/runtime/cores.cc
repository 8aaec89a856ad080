#include "runtime/cores.h"

#include <sched.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/boot_id.h"
#include "base/hash.h"
#include "base/wait.h"

namespace plait::runtime {
namespace {

bool may_overlap(const cpu_set_t& a, const cpu_set_t& b) noexcept {
  cpu_set_t both;
  CPU_AND(&both, &a, &b);
  return CPU_COUNT(&a) == 0 || CPU_COUNT(&both) != 0;
}

}  // namespace

Seat my_seat() noexcept {
  Seat seat;
  CPU_ZERO(&seat.cpus);
  if (sched_getaffinity(0, sizeof seat.cpus, &seat.cpus) != 0) CPU_ZERO(&seat.cpus);
  if (const std::string boot = boot_id(); !boot.empty()) seat.kernel = fnv1a(boot);
  return seat;
}

Share share_of(std::span<const Seat> seats, size_t mine) {
  if (seats[mine].kernel == 0) return {1, usable_cores()};
  std::vector<bool> counted(seats.size());
  counted[mine] = true;
  cpu_set_t all = seats[mine].cpus;
  bool known = CPU_COUNT(&all) != 0;  // else it may run wherever any other does
  Share share;
  for (bool grew = true; grew;) {
    grew = false;
    for (size_t r = 0; r < seats.size(); r++) {
      if (counted[r] || seats[r].kernel != seats[mine].kernel) continue;
      if (known && !may_overlap(seats[r].cpus, all)) continue;
      counted[r] = grew = true;
      share.ranks++;
      share.before += r < mine ? 1 : 0;
      known = known && CPU_COUNT(&seats[r].cpus) != 0;
      CPU_OR(&all, &all, &seats[r].cpus);
    }
  }
  share.cores = known ? CPU_COUNT(&all) : usable_cores();
  return share;
}

int32_t fewest_cores(std::span<const Seat> seats, std::span<const int32_t> host_of) {
  if (std::ranges::any_of(seats, [](const Seat& s) { return s.kernel == 0 || CPU_COUNT(&s.cpus) == 0; }))
    return 0;
  std::vector<int32_t> ranks;  // of each host
  for (int32_t host : host_of) {
    ranks.resize(std::max(ranks.size(), size_t(host) + 1));
    ranks[size_t(host)]++;
  }
  std::vector<bool> asked(ranks.size());
  int32_t fewest = 0;
  double least = 1;  // cores a rank
  for (size_t r = 0; r < seats.size(); r++) {
    const auto host = size_t(host_of[r]);
    if (asked[host]) continue;  // its first rank speaks for a host
    asked[host] = true;
    const Share share = share_of(seats, r);
    const double each = double(share.cores) / share.ranks;
    if (each >= least) continue;
    least = each;
    fewest = std::max(1, int32_t(double(ranks[host]) * each));
  }
  return fewest;
}

int32_t first_core(const Share& share, int32_t near, int32_t local) noexcept {
  if (share.ranks <= near) return local;
  return int32_t(int64_t(share.before) * share.cores / share.ranks);
}

void nudge(int32_t core) noexcept {
  cpu_set_t old, one;
  if (sched_getaffinity(0, sizeof old, &old) != 0) return;
  const int cores = CPU_COUNT(&old);
  if (cores <= 0) return;
  int skip = core % cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &old) || skip-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof old, &old);
    return;
  }
}

}  // namespace plait::runtime
