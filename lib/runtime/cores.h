// Which ranks compete for cores: what decides how a rank waits.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace plait::runtime {

// Where a rank may run, as it tells the others. The kernel counts, not the host: containers of one machine
// are hosts of their own to a job, and share its cores all the same.
struct Seat {
  uint64_t kernel = 0;  // of its boot id; 0: not known, alone
  cpu_set_t cpus{};     // none: not known (more of them than a cpu_set_t holds), all
  uint64_t device = 0;  // that it works with (near_device); 0: none that was named
};
static_assert(std::is_trivially_copyable_v<Seat>);

// Of the calling thread.
Seat my_seat() noexcept;

struct Share {
  int ranks = 1, cores = 1;
  int before = 0;  // of these ranks, how many have lower numbers than the one that shares
  bool crowded() const noexcept { return ranks > cores; }
};

// The ranks that compete with number `mine`, itself among them, and the cores they have together: all that
// overlap with it, with those that overlap with these, and so on. Ranks that are bound to a core each do not
// compete.
Share share_of(std::span<const Seat> seats, size_t mine);

// What all ranks conclude alike of how crowded hosts are: the cores that the ranks of a host have to
// themselves, where they are fewest a rank. 0: nobody shares, or a mask is not known. `host_of`: of each
// rank, from 0 on.
int32_t fewest_cores(std::span<const Seat> seats, std::span<const int32_t> host_of);

// The core to begin on, of those that a rank may use, counted from 0 and around: each rank of a host on
// another one. Where hosts share cores (containers), those of a host together: what they tell each other most
// often then needs no other core (2 hosts of 2 ranks on 2 cores: 29 instead of 41 us for 8 bytes). `near`:
// the ranks of its host, `local`: its number among them.
int32_t first_core(const Share& share, int32_t near, int32_t local) noexcept;

// With more ranks than cores, how they are spread decides how well the cores are shared: puts this thread on
// its first_core() once, and then leaves it to the scheduler (8 ranks on 2 cores: 7 us an operation without,
// 3 us with).
void nudge(int32_t core) noexcept;

}  // namespace plait::runtime
