// Faults by hooks: what polls alone decide, the same way every time where the rails are fakes.
#pragma once

#include <vector>

#include "unit/rails/faults.h"

namespace plait::transport::rails {

class HookFaults final : public Faults {
 public:
  void step(Pair& pair, std::mt19937_64& random) override;
  void heal_all(Pair& pair) override { heal(pair, true); }
  std::string now() const override { return std::to_string(hurts_.size()) + " hurts now"; }

 private:
  void hurt(Pair& pair, std::mt19937_64& random);
  void kill(Pair& pair, hooks::FaultDomain& hook);
  void heal(Pair& pair, bool all);

  struct Hurt {
    size_t side, rail;
    Deadline until;
    bool weak = false, mute = false;  // for a while after it
  };
  std::vector<Hurt> hurts_;
  size_t left_ = SIZE_MAX;  // hurts that come still; SIZE_MAX: not known yet
};

}  // namespace plait::transport::rails
