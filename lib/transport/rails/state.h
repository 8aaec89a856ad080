// The life of one rail of one endpoint, agreed on by both sides with three kinds of lines that arrive once
// each and in order (control.cc). A function of events alone: what is to be done comes back as a set of
// actions.
//
//   joining --local_ready and peer_ready--> live --death--> dying --peer's dead line--> down --retry-->
//   joining, generation + 1
//
// A generation is one connection of the rail. Each side says `dead` once a generation, after it has closed
// its end, and leaves `down` only when both have: so after that nothing lands through it, and both know what
// had.
#pragma once

#include <cstdint>

namespace plait::transport::rails {

enum class Phase : uint8_t { joining, live, dying, down };
// local_*: seen here. peer_*: a line of the peer's.
enum class Event : uint8_t { local_death, local_ready, retry, peer_dead, peer_offer, peer_ready };

enum Action : uint8_t {
  kClose = 1,     // the own end: its counters are final then
  kSayDead = 2,   // with what had landed
  kSettle = 4,    // the peer's report: send again what is not in it
  kOpen = 8,      // a new end, and offer its ticket
  kConnect = 16,  // with the ticket of the peer's offer
  kSayReady = 32,
  kGoLive = 64,
  kNonsense = 128,  // no peer says this here
};

class RailState {
 public:
  Phase phase() const noexcept { return phase_; }
  uint32_t generation() const noexcept { return generation_; }
  bool ready_here() const noexcept { return ready_here_; }
  bool offered() const noexcept { return offered_; }
  // `generation` of a peer's line; of local events it is not looked at.
  uint8_t on(Event event, uint32_t generation = 0) noexcept;

 private:
  uint8_t peer_dead(uint32_t generation) noexcept;
  uint8_t peer_offer(uint32_t generation) noexcept;
  uint8_t live_if_both() noexcept;
  void join() noexcept;

  Phase phase_ = Phase::joining;
  uint32_t generation_ = 1;
  // The first generation's tickets, and that both can receive, come out of band.
  bool offered_ = true, ready_here_ = false, ready_there_ = true;
};

}  // namespace plait::transport::rails
