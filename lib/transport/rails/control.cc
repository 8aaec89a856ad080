// Lines to the peer's endpoint: each arrives once, in order, as long as one rail lives. One is under way at a
// time, in the peer's cell of the rail that carries it; a cell is free again when the peer has signalled, by
// that rail, that it read it. A line whose rail dies, or does not answer for a while, goes by another rail
// too: the peer knows it by its number.
#include <algorithm>
#include <cstring>

#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

bool RailsEndpoint::control() noexcept {
  bool moved = false;
  for (size_t i = 0; i < rails_.size(); ++i) {
    if (!rails_[i].receives()) continue;
    Link& link = rails_[i].link;
    if (const uint64_t lines = link.counter(mine_.lines()); lines != link.lines_seen) {
      link.lines_seen = lines;
      link.acks_owed++;
      moved = true;
      domain_->stirred(i);
      hear(i);
      if (state_ != State::ready) return true;
      if (!rails_[i].receives()) continue;  // the line was about this rail
    }
    if (link.acks_owed != 0 && rails_[i].live() && post_signal(i, theirs_.acks(), uint16_t(1)))
      --link.acks_owed;
    if (lines_.empty()) continue;
    if (const uint64_t acks = link.counter(mine_.acks()); acks != link.acks_seen) {
      link.acks_seen = acks;
      moved = true;
      if (link.number != line_number_ - uint32_t(lines_.size()) + 1) continue;
      lines_.pop_front();
      line_on_ = 0;
      line_late_ = false;
    }
  }
  return (!lines_.empty() && may_talk_ && send_line()) || moved;
}

void RailsEndpoint::hear(size_t rail) noexcept {
  may_talk_ = true;
  const Bytes cell(cells_.get() + rail * cell_bytes_, cells_.get() + (rail + 1) * cell_bytes_);
  const auto line = parse_line(cell);
  if (!line || line->head.rail >= rails_.size() || line->head.number > heard_ + 1)
    return fail(Code::auth, "the peer sent a control line that makes no sense");
  if (line->head.number != heard_ + 1) return;  // it came before, by another rail
  ++heard_;
  obey(*line);
}

void RailsEndpoint::obey(const Line& line) noexcept {
  const Event event = line.head.kind == LineKind::dead    ? Event::peer_dead
                      : line.head.kind == LineKind::offer ? Event::peer_offer
                                                          : Event::peer_ready;
  Rail& rail = rails_[line.head.rail];
  const uint8_t actions = rail.state.on(event, line.head.generation);
  if ((actions & kNonsense) != 0)
    return fail(Code::auth, "the peer sent a control line that is out of place");
  if ((actions & kClose) != 0) rail.error = "the peer found it dead";
  act(line.head.rail, actions, line.payload);
}

void RailsEndpoint::say(LineKind kind, size_t rail, ByteView payload) noexcept {
  LineHead head;
  head.kind = kind;
  head.rail = uint8_t(rail);
  head.generation = rails_[rail].state.generation();
  head.number = ++line_number_;
  lines_.push_back(make_line(head, payload));
}

bool RailsEndpoint::send_line() noexcept {
  if (line_on_ != 0 && !line_late_) return false;
  const Bytes& line = lines_.front();
  for (size_t i = 0; i < rails_.size(); ++i) {
    Link& link = rails_[i].link;
    if (!rails_[i].live() || (line_on_ >> i & 1) != 0) continue;
    // The latest acknowledgement of this cell may not have been looked at while there was no line.
    link.acks_seen = std::max(link.acks_seen, link.counter(mine_.acks()));
    if (link.lines_sent != link.acks_seen) continue;
    std::byte* cell = cells_out_.get() + i * cell_bytes_;
    std::memcpy(cell, line.data(), line.size());
    Transfer t;
    t.signal = {theirs_.lines(), 1};
    t.local = {cell, line.size(), out_regions_[i].get()};
    t.remote = {link.cell.get(), i * their_cell_bytes_, line.size()};
    if (link.end->post({&t, 1}) != 1) continue;
    domain_->stirred(i);
    link.lines_sent++;
    link.number = line_number_ - uint32_t(lines_.size()) + 1;
    line_on_ |= 1U << i;
    line_since_ns_ = 0;
    line_late_ = false;
    return true;
  }
  return false;
}

}  // namespace plait::transport::rails
