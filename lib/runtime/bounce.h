// Where ranks share cores, operations on plain memory work in the arena. There ranks take whatever work there
// is, and wait for each other once or twice; through mailboxes they wait for each message, and each time some
// other rank has the core. Peers do not notice, so each rank decides for itself.
#pragma once

#include <cstddef>
#include <utility>

#include "runtime/cores.h"
#include "runtime/request.h"
#include "transport/shm/arena.h"

namespace plait::runtime {

// Of a communicator: its operations run one at a time.
class Bounce {
 public:
  // `in` and `out` become where operation `p` is to work, if that pays: its input is there. Where there is no
  // room they stay.
  void begin(transport::shm::Arena& arena, const Share& share, const Prepared& p, std::byte*& in,
             std::byte*& out) noexcept;
  // The operation has ended: its result, if it is one, goes where it belongs.
  void end(bool ok) noexcept {
    if (to_ != nullptr) bring_back(ok);
  }
  // Did operations since the last call need room that is worth giving back?
  bool was_roomy() noexcept { return std::exchange(roomy_, false); }
  // Gives room back: what is worth it, or all.
  void rest(transport::shm::Arena& arena) noexcept;
  void drop(transport::shm::Arena& arena) noexcept;

 private:
  std::byte* room(transport::shm::Arena& arena, size_t bytes) noexcept;
  void bring_back(bool ok) noexcept;

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  // Of the running operation: where its result goes; null: it is there.
  std::byte* to_ = nullptr;
  size_t result_bytes_ = 0;
  bool roomy_ = false;
};

}  // namespace plait::runtime
