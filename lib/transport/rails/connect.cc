// From a peer's ticket to rails that are ready.
#include <type_traits>

#include "base/clock.h"
#include "transport/misuse.h"
#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

Status RailsEndpoint::connect(ByteView peer_ticket) noexcept {
  if (state_ != State::opened || domain_ == nullptr) return connected_before("rails");
  auto ticket = parse_ticket(peer_ticket);
  if (!ticket.ok()) return ticket.status();
  PLAIT_TRY(accept(*ticket));
  return connect_rails(*ticket);
}

Status RailsEndpoint::accept(const Ticket& ticket) {
  if (ticket.tickets.size() != rails_.size()) {
    return Status(Code::unsupported, "rails: the peer has " + std::to_string(ticket.tickets.size()) +
                                         " rails, this rank " + std::to_string(rails_.size()) +
                                         ": give all ranks the same, in the same order");
  }
  if (ticket.counters != mine_.counters) {
    return Status(Code::unsupported, "rails: the peer opened " + std::to_string(ticket.counters) +
                                         " counters, this rank " + std::to_string(mine_.counters) +
                                         ": both ends must open as many");
  }
  theirs_ = {ticket.counters, ticket.window};
  their_cell_bytes_ = ticket.cell_bytes;
  if (their_cell_bytes_ < cell_bytes_)
    return Status(Code::unsupported, "rails: the peer has no room for what it must be told when a rail dies");
  out_.resize(theirs_.counters);
  static_assert(std::is_trivially_copyable_v<Part> && std::is_trivially_destructible_v<Part>);
  part_pages_ = map_pages(theirs_.slots() * sizeof(Part));
  if (!part_pages_) return Status(Code::memory, "rails: no address space for what is under way");
  parts_ = {reinterpret_cast<Part*>(part_pages_.data()), theirs_.slots()};
  return {};
}

Status RailsEndpoint::connect_rails(const Ticket& ticket) {
  bool any = false;
  Status last;
  for (size_t i = 0; i < rails_.size(); ++i) {
    Rail& rail = rails_[i];
    rail.cell_key.assign(ticket.keys[i].begin(), ticket.keys[i].end());
    const Status status = rail.link.end->connect(ticket.tickets[i]);
    if (status.ok()) {
      any = true;
      continue;
    }
    last = status;
    const Code code = status.code();
    if (!any && (code == Code::auth || code == Code::invalid || code == Code::version)) return status;
    rail.refused = true;
    rail.error = status.text();
  }
  if (!any) {
    fail(last.code(), rail_errors());
    return last;
  }
  state_ = State::connecting;
  for (size_t i = 0; i < rails_.size(); ++i) domain_->stirred(i);
  return {};
}

// Until each rail is ready or has failed.
bool RailsEndpoint::step_connecting() noexcept {
  bool waits = false, any = false;
  for (size_t i = 0; i < rails_.size(); ++i) {
    Rail& rail = rails_[i];
    if (rail.refused) continue;
    domain_->stirred(i);
    const State state = rail.link.end->state();
    if (state == State::failed) {
      rail.refused = true;
      rail.error = rail.link.end->error();
    } else if (state != State::ready) {
      waits = true;
    } else {
      any = true;
    }
  }
  if (waits) {
    if (any && ready_since_ns_ == 0) ready_since_ns_ = now_ns();
    return false;
  }
  if (!any) {
    fail(Code::peer, "rails: connecting failed on every rail: " + rail_errors());
  } else {
    become_ready();
  }
  return true;
}

// Who posts here afterwards can do so on every rail that is live: the peer did not become ready before its
// own rails were, or had failed.
void RailsEndpoint::become_ready() noexcept {
  state_ = State::ready;
  ready_since_ns_ = now_ns();
  for (size_t i = 0; i < rails_.size(); ++i) {
    if (rails_[i].refused) continue;
    if (const Status status = know_peer(i); !status.ok()) {
      rails_[i].refused = true;
      rails_[i].error = status.text();
    } else {
      act(i, rails_[i].state.on(Event::local_ready), {});
    }
  }
  for (size_t i = 0; i < rails_.size(); ++i) {
    if (rails_[i].refused) die(i, rails_[i].error);
  }
  fail_if_alone();
}

}  // namespace plait::transport::rails
