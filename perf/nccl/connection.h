// A connection of a script to itself: opened step by step, full of planned messages, closed at any time.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "perf/nccl/flow.h"

namespace plait::nccl_drive {

// The same numbers on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  size_t below(size_t n) { return size_t(engine_() % n); }
  size_t between(size_t least, size_t most) { return least + below(most - least + 1); }
  bool chance(size_t of_100) { return below(100) < of_100; }
  uint64_t word() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// A listening comm, and whether a connect through it is under way.
struct Listener {
  Handle handle;
  void* comm = nullptr;
  bool busy = false;
};

class Connection {
 public:
  Connection(Side& side, Listener& listener) : side_(side), listener_(&listener), handle_(listener.handle) {
    listener.busy = true;
  }

  // One random operation.
  Status step(Dice& dice);
  // Everything that was planned, to its end, where both halves are there; then both are closed.
  Status finish(Dice& dice);
  Status close_half(Dice& dice, bool is_send);
  // Closes what there is of a connection that never came to be.
  Status abandon();
  // Whether memory that was kept after a close is as it was then.
  Status check_kept() const;

  bool connected() const { return sender_.armed && receiver_.armed; }
  bool gone() const { return connected() && sender_.closed && receiver_.closed; }

 private:
  struct Half {
    void* comm = nullptr;
    std::unique_ptr<Flow> flow;
    bool armed = false, closed = false;
    bool dead = false;                // failed because the other half was closed
    std::vector<unsigned char> then;  // what the memory held at the close, where it is kept
  };

  Status handshake(Dice& dice);
  Status arm(Dice& dice);
  Status use(Dice& dice, Half& half, const Half& other);
  Status tolerate(Half& half, const Half& other, Status status);
  Status register_more(Dice& dice, Half& half);

  Side& side_;
  Listener* listener_;
  Handle handle_;
  Half sender_, receiver_;
};

}  // namespace plait::nccl_drive
