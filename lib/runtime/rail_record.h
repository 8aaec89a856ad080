// What the flight recorder keeps of a communicator's rails: counts of each, and the latest of what became of
// them. The driving thread writes; any thread may read at any moment, a signal handler too.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "transport/rails/rails.h"

namespace plait::runtime {

using RailCounts = std::shared_ptr<const transport::rails::AllCounts>;

class RailRecord {
 public:
  static constexpr uint32_t kEvents = 32;    // that are remembered
  static constexpr size_t kTextBytes = 304;  // of a reason; what is longer is cut

  struct Event {
    int64_t at_ns = 0;       // base/clock.h
    uint64_t operation = 0;  // that ran, 0: none
    int32_t rank = 0;        // to which the rail leads
    uint8_t rail = 0;
    transport::rails::RailEvent::What what{};
    uint64_t parts = 0, bytes = 0;  // settled: sent again
    char why[kTextBytes] = {};      // NUL-terminated
  };

  explicit RailRecord(RailCounts counts) noexcept : counts_(std::move(counts)) {}
  const transport::rails::AllCounts& counts() const noexcept { return *counts_; }

  void add(const transport::rails::RailEvent& event, uint64_t operation) noexcept;

  // Events are numbered from 1; 0: there was none.
  uint64_t latest() const noexcept { return latest_.load(std::memory_order_acquire); }
  // False when it is not, or no longer, kept.
  bool read(uint64_t number, Event* event) const noexcept;

 private:
  static constexpr size_t kWords = (sizeof(Event) + 7) / 8;
  struct Entry {
    std::atomic<uint64_t> number{0};  // written last; 0: none, or being written
    std::atomic<uint64_t> words[kWords]{};
  };

  const RailCounts counts_;
  std::atomic<uint64_t> latest_{0};
  Entry entries_[kEvents];
};

}  // namespace plait::runtime
