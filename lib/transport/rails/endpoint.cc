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
  error_ = std::move(text);
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

// Where nothing is under way the slots of parts say nothing.
void RailsEndpoint::trim() noexcept {
  if (std::ranges::all_of(out_, [](const Out& out) { return out.sent == out.credited; }) &&
      std::ranges::none_of(rails_, [](const Rail& r) { return r.link.waiting != 0; }))
    drop_pages(part_pages_.data(), part_pages_.size());
}

void RailsEndpoint::orphan() noexcept {
  close();
  domain_ = nullptr;
}

}  // namespace plait::transport::rails
