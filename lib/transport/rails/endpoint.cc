#include "transport/rails/endpoint.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "transport/rails/domain.h"

namespace plait::transport::rails {

namespace {

Memory memory_of(std::byte* base, size_t bytes) {
  Memory memory;
  memory.base = base;
  memory.bytes = bytes;
  return memory;
}

}  // namespace

RailsEndpoint::RailsEndpoint(RailsDomain& domain, Layout layout, uint64_t cookie)
    : domain_(&domain),
      mine_(layout),
      cookie_(cookie),
      rails_(domain.rails()),
      counter_words_(std::make_unique<std::atomic<uint64_t>[]>(layout.counters)),
      in_(layout.counters),
      arrived_(layout.slots()) {
  counters_ = counter_words_.get();
  for (Rail& rail : rails_) rail.pause_ns = domain.options().return_first_ms * 1'000'000;
}

RailsEndpoint::~RailsEndpoint() {
  close();
  if (domain_ != nullptr) domain_->forget(*this);
}

Status RailsEndpoint::start() {
  // A line is an offer with a rail's ticket, or a report on all counters.
  size_t most = kCounters * sizeof(Landed);
  for (size_t i = 0; i < rails_.size(); ++i)
    most = std::max(most, domain_->rail(i).capabilities().ticket_bytes);
  cell_bytes_ = round_up(sizeof(LineHead) + most, 64);
  if (cell_bytes_ > domain_->piece_limit() || cell_bytes_ > kCellBytes)
    return Status(Code::unsupported, "rails: a rail's tickets are too long for its transfers");
  cells_ = std::make_unique<std::byte[]>(cell_bytes_ * rails_.size());
  cells_out_ = std::make_unique<std::byte[]>(cell_bytes_ * rails_.size());
  Ticket ticket;
  ticket.counters = mine_.counters;
  ticket.window = mine_.window;
  ticket.cell_bytes = uint32_t(cell_bytes_);
  for (size_t i = 0; i < rails_.size(); ++i) {
    Domain& rail = domain_->rail(i);
    const std::string name = "rails: " + std::string(rail.name()) + ": ";
    auto in = rail.expose(memory_of(cells_.get(), cell_bytes_ * rails_.size()), Access::write);
    if (!in.ok()) return Status(in.status().code(), name + std::string(in.status().text()));
    auto out = rail.expose(memory_of(cells_out_.get(), cell_bytes_ * rails_.size()), Access::none);
    if (!out.ok()) return Status(out.status().code(), name + std::string(out.status().text()));
    cell_regions_.push_back(std::move(*in));
    out_regions_.push_back(std::move(*out));
    PLAIT_TRY(open_link(i));
    ticket.tickets.push_back(rails_[i].link.end->ticket());
    ticket.keys.push_back(cell_regions_[i]->key());
  }
  ticket_ = make_ticket(ticket);
  return {};
}

Status RailsEndpoint::open_link(size_t i) {
  Link& link = rails_[i].link;
  link = Link();
  link.id = domain_->add_link(*this);
  auto end = domain_->rail(i).open(uint16_t(mine_.total()), domain_->cookie(link.id, kOwnTag));
  if (!end.ok()) {
    domain_->drop_link(link.id);
    return end.status();
  }
  link.end = std::move(*end);
  link.seen.resize(mine_.slots());
  link.credits_seen.resize(mine_.counters);
  link.credits_sent.resize(mine_.counters);
  domain_->stirred(i);
  return {};
}

Status RailsEndpoint::connect(ByteView peer_ticket) noexcept {
  if (state_ != State::opened || domain_ == nullptr)
    return Status(Code::state, "rails: this endpoint was connected before, or is closed");
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
  parts_.resize(theirs_.slots());
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

// Imports the control region, and all that the caller has imported.
Status RailsEndpoint::know_peer(size_t i) {
  Link& link = rails_[i].link;
  auto cell = link.end->import(rails_[i].cell_key);
  if (!cell.ok()) return cell.status();
  if ((*cell)->bytes() < their_cell_bytes_ * rails_.size() || !may_write((*cell)->access()))
    return Status(Code::auth, "the peer's control region is too small or may not be written");
  link.cell = std::move(*cell);
  for (Import& import : imports_) {
    if (import.on[i] != nullptr) continue;
    auto on = link.end->import(import.keys[i]);
    if (on.ok()) import.on[i] = std::move(*on);
  }
  return {};
}

Result<std::unique_ptr<RemoteRegion>> RailsEndpoint::import(ByteView bytes) {
  if (over() || state_ == State::opened)
    return Status(Code::state, "rails: a key can be imported after connect(), and not after close()");
  auto key = parse_key(bytes);
  if (!key.ok()) return key.status();
  if (key->keys.size() != rails_.size()) return Status(Code::auth, "rails: this key is of other rails");
  Import import;
  import.bytes = size_t(key->bytes);
  import.access = key->access;
  Status last(Code::state, "rails: no rail is there to import a key on");
  bool any = false;
  for (size_t i = 0; i < rails_.size(); ++i) {
    import.keys.emplace_back(key->keys[i].begin(), key->keys[i].end());
    const Link& link = rails_[i].link;
    if (link.end == nullptr || rails_[i].refused || rails_[i].state.phase() > Phase::live ||
        (rails_[i].state.phase() == Phase::joining && rails_[i].state.generation() > 1))
      continue;
    auto on = link.end->import(key->keys[i]);
    if (!on.ok()) {
      last = on.status();
      if (last.code() != Code::state || state_ != State::ready) return last;  // else it is dying just now
      continue;
    }
    if ((*on)->bytes() != import.bytes || (*on)->access() != import.access)
      return Status(Code::invalid, "rails: a key whose rails do not agree");
    import.on[i] = std::move(*on);
    any = true;
  }
  if (!any) return last;
  imports_.push_back(std::move(import));
  imports_.back().self = std::prev(imports_.end());
  return std::unique_ptr<RemoteRegion>(std::make_unique<RailsRemote>(*this, imports_.back()));
}

void RailsEndpoint::drop(Import& import) noexcept {
  import.dropped = true;
  if (import.uses == 0) imports_.erase(import.self);
}

void RailsEndpoint::unuse(Import* import) noexcept {
  if (import == nullptr || --import->uses != 0 || !import->dropped) return;
  imports_.erase(import->self);
}

bool RailsEndpoint::joining() const noexcept {
  return std::ranges::any_of(rails_, [](const Rail& r) { return r.state.phase() == Phase::joining; });
}

bool RailsEndpoint::step() noexcept {
  if (state_ == State::connecting) return step_connecting();
  if (state_ != State::ready) return false;
  bool moved = receive();
  if (state_ == State::ready) moved |= take_credits();
  if (state_ == State::ready) moved |= control();
  if (state_ == State::ready && joining()) moved |= step_joining();
  if (state_ == State::ready) moved |= pump();
  return moved;
}

void RailsEndpoint::close() noexcept {
  if (state_ == State::closed || domain_ == nullptr) return;
  state_ = State::closed;
  hang_up();
  drop_transfers(Code::aborted);
}

std::string RailsEndpoint::rail_errors() const {
  std::string all;
  for (size_t i = 0; i < rails_.size(); ++i) {
    if (!all.empty()) all += "; ";
    const std::string& error = rails_[i].error;
    all += "rail " + std::to_string(i) + " (" + std::string(domain_->rail(i).name()) +
           "): " + (error.empty() ? "it was coming back" : error);
  }
  return all;
}

void RailsEndpoint::fail_if_alone() noexcept {
  if (state_ != State::ready || std::ranges::any_of(rails_, [](const Rail& r) { return r.live(); })) return;
  fail(Code::peer, rails_.size() == 1 ? rail_errors()
                                      : "all " + std::to_string(rails_.size()) +
                                            " rails to the peer are dead: " + rail_errors());
}

void RailsEndpoint::fail(Code code, std::string text) noexcept {
  if (over()) return;
  log::info("{}: endpoint failed: {}", domain_->name(), text);
  error_ = std::string(domain_->name()) + ": " + std::move(text);
  state_ = State::failed;
  hang_up();
  drop_transfers(code);
  if (!std::exchange(own_done_, true)) domain_->done({cookie_, code}, this, true);
}

void RailsEndpoint::hang_up() noexcept {
  for (size_t i = 0; i < rails_.size(); ++i) {
    Link& link = rails_[i].link;
    if (link.end == nullptr) continue;
    link.end->close();
    for (Import& import : imports_) import.on[i].reset();
    link.cell.reset();
    link.end.reset();
    domain_->drop_link(link.id);
    domain_->stirred(i);
  }
  lines_.clear();
}

void RailsEndpoint::drop_transfers(Code code) noexcept {
  for (Part& part : parts_) {
    if (!part.used) continue;
    if (part.copy != nullptr) domain_->pools().copies.give(*part.copy);
    unuse(part.import);
    part = Part();
  }
  for (GetPart& get : gets_) get = GetPart();
  for (Out& out : out_) out.first = out.last = nullptr;
  while (newest_ != nullptr) finish(*newest_, code);
  queued_ = lost_ = lost_gets_ = 0;
}

void RailsEndpoint::orphan() noexcept {
  close();
  domain_ = nullptr;
}

}  // namespace plait::transport::rails
