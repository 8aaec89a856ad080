#include "unit/rails/hook_faults.h"

#include <algorithm>

namespace plait::transport::rails {

void HookFaults::step(Pair& pair, std::mt19937_64& random) {
  if (left_ == SIZE_MAX) left_ = 2 + random() % 4;
  if (left_ != 0 && random() % 100 == 0) hurt(pair, random);
  heal(pair, false);
}

// And both sides see it before anything else happens.
void HookFaults::kill(Pair& pair, hooks::FaultDomain& hook) {
  hook.kill_links();
  for (size_t i = 0; i < 16 * kRails; ++i) pair.poll();
}

void HookFaults::hurt(Pair& pair, std::mt19937_64& random) {
  std::vector<size_t> fine;
  for (size_t i = 0; i < pair.rails; ++i) {
    const bool hurts = std::ranges::any_of(hurts_, [&](const Hurt& h) { return h.rail == i; });
    if (!hurts && pair.live(i)) fine.push_back(i);
  }
  if (fine.size() < 2) return;
  --left_;
  const size_t rail = fine[random() % fine.size()], side = random() % 2;
  hooks::FaultDomain& hook = *pair.sides[side].hooks[rail];
  const Deadline until = Deadline::in_ms(int64_t(random() % 60));
  const size_t kind = random() % 7;
  switch (kind) {
    case 0:
      return kill(pair, hook);
    case 1:
      hook.take_down(true);
      break;
    case 2:
      hook.freeze(true);
      hurts_.push_back({side, rail, Deadline::in_ms(int64_t(random() % 200)), true});
      return;
    case 3:
      hook.add({.fault = hooks::Fault::mute, .probability = 0.5});
      break;
    case 4:
      hook.add({.fault = hooks::Fault::lose_ack, .probability = 0.1});
      break;
    case 5:
      hook.add({.fault = hooks::Fault::delay, .probability = 0.3, .polls = uint32_t(1 + random() % 400)});
      break;
    default:
      hook.add({.fault = hooks::Fault::kill, .probability = 0.1});
      break;
  }
  hurts_.push_back({side, rail, until, kind >= 3, kind == 3});
}

// A rail that owes Dones still, maybe bad ones, or was silent until now, may be found dead a little later: it
// is no rail to rely on yet.
void HookFaults::heal(Pair& pair, bool all) {
  std::erase_if(hurts_, [&](Hurt& h) {
    if (!all && !h.until.passed()) return false;
    hooks::FaultDomain& hook = *pair.sides[h.side].hooks[h.rail];
    hook.clear();
    hook.freeze(false);
    hook.take_down(false);
    const bool over = all || !std::exchange(h.weak, false);
    if (!over) {
      if (h.mute) kill(pair, hook);
      h.until = Deadline::in_ms(h.mute ? 0 : 50);
    }
    return over;
  });
}

}  // namespace plait::transport::rails
