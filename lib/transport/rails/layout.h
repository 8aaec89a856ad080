// Which counters of a rail's endpoint mean what. Part s of logical counter c signals data(c, s % window).
// Parity is kept: rails may send even counters apart from odd
// ones (tcp), and control is small and urgent.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/rails/wire.h"

namespace plait::transport::rails {

// What a part adds to its physical counter, which is its own until the peer took it: its add, + 1 so that 0
// shows, too, and credits for parts that came the other way on the same counter.
constexpr int kCreditBits = 4;
constexpr uint64_t kCreditsMost = (1U << kCreditBits) - 1;
constexpr uint16_t part_value(uint16_t add, uint64_t credits) noexcept {
  return uint16_t((add + 1U) << kCreditBits | credits);
}
constexpr uint16_t add_of(uint16_t value) noexcept { return uint16_t((value >> kCreditBits) - 1); }
constexpr uint64_t credits_of(uint16_t value) noexcept { return value & kCreditsMost; }
// The most that a part may add where a rail's signal adds up to `rail_add`.
constexpr uint16_t most_add(uint16_t rail_add) noexcept {
  return uint16_t(((rail_add + 1U) >> kCreditBits) - 2);
}

struct Layout {
  uint16_t counters = 0, window = 1;

  // Of an endpoint with so many counters, on rails that have `rail_counters`. A window below kLeastWindow:
  // too many.
  static constexpr Layout of(size_t counters, size_t rail_counters) noexcept {
    const size_t pairs = (counters + 1) / 2, control = kControl + 2 * counters;
    const size_t window =
        rail_counters <= control || pairs == 0 ? 0 : (rail_counters - control) / (2 * pairs);
    return {uint16_t(counters), uint16_t(pairs == 0 ? 1 : std::min(window, kWindow))};
  }
  constexpr bool fits(size_t rail_counters) const noexcept { return total() <= rail_counters; }

  constexpr uint16_t data(size_t counter, size_t slot) const noexcept {
    return uint16_t((counter / 2 * window + slot) * 2 + counter % 2);
  }
  constexpr size_t slots() const noexcept { return size_t{counters} * window; }
  constexpr uint16_t lines() const noexcept { return uint16_t((counters + 1) / 2 * window * 2); }
  constexpr uint16_t acks() const noexcept { return uint16_t(lines() + 2); }
  constexpr uint16_t probes() const noexcept { return uint16_t(lines() + 4); }
  constexpr uint16_t credits(size_t counter) const noexcept {
    return uint16_t(lines() + kControl + 2 * counter);
  }
  constexpr size_t total() const noexcept { return size_t{lines()} + kControl + 2 * size_t{counters}; }

 private:
  static constexpr size_t kControl = 6;
};

}  // namespace plait::transport::rails
