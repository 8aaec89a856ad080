#include "transport/rails/state.h"

namespace plait::transport::rails {

uint8_t RailState::on(Event event, uint32_t generation) noexcept {
  switch (event) {
    case Event::local_death:
      if (phase_ != Phase::joining && phase_ != Phase::live) return 0;
      phase_ = Phase::dying;
      return kClose | kSayDead;
    case Event::local_ready:
      if (phase_ != Phase::joining || ready_here_) return 0;
      ready_here_ = true;
      return uint8_t((generation_ > 1 ? kSayReady : 0) | live_if_both());
    case Event::retry:
      if (phase_ != Phase::down) return 0;
      generation_++;
      join();
      return kOpen;
    case Event::peer_dead:
      return peer_dead(generation);
    case Event::peer_offer:
      return peer_offer(generation);
    case Event::peer_ready:
      if (generation < generation_) return 0;
      if (generation > generation_ || (phase_ == Phase::joining && (!offered_ || ready_there_)) ||
          phase_ == Phase::live)
        return kNonsense;
      if (phase_ != Phase::joining) return 0;
      ready_there_ = true;
      return live_if_both();
  }
  return 0;
}

uint8_t RailState::peer_dead(uint32_t generation) noexcept {
  if (generation < generation_) return kNonsense;
  if (generation == generation_ + 1 && phase_ == Phase::down) {  // it tried and failed before I knew
    generation_ = generation;
    return kSayDead;
  }
  if (generation != generation_ || phase_ == Phase::down) return kNonsense;
  const bool known = phase_ == Phase::dying;
  phase_ = Phase::down;
  return uint8_t(kSettle | (known ? 0 : kClose | kSayDead));
}

uint8_t RailState::peer_offer(uint32_t generation) noexcept {
  if (generation == generation_ + 1 && phase_ == Phase::down) {
    generation_ = generation;
    join();
    offered_ = true;
    return kOpen | kConnect;
  }
  if (generation != generation_) return kNonsense;
  if (phase_ == Phase::dying) return 0;  // it crossed my dead line
  if (phase_ != Phase::joining || offered_) return kNonsense;
  offered_ = true;
  return kConnect;
}

uint8_t RailState::live_if_both() noexcept {
  if (!ready_here_ || !ready_there_) return 0;
  phase_ = Phase::live;
  return kGoLive;
}

void RailState::join() noexcept {
  phase_ = Phase::joining;
  offered_ = ready_here_ = ready_there_ = false;
}

}  // namespace plait::transport::rails
