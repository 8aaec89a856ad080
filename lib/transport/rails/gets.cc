// Parts of gets, and flushes: what comes the other way.
#include <algorithm>

#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

GetPart* RailsEndpoint::free_get() noexcept {
  const auto get = std::ranges::find(gets_, nullptr, &GetPart::op);
  return get == gets_.end() ? nullptr : &*get;
}

bool RailsEndpoint::cut_get(Op& op, size_t counter) noexcept {
  while (op.cut < op.bytes) {
    GetPart* get = free_get();
    if (get == nullptr) return false;
    *get = {.op = &op, .at = op.cut, .bytes = uint32_t(std::min(op.piece, op.bytes - op.cut))};
    if (!post_get(*get)) {
      *get = GetPart();
      return false;
    }
    op.cut += get->bytes;
    op.left++;
    out_[counter].gets++;
  }
  return true;
}

// On each rail that may have brought something.
bool RailsEndpoint::cut_flush(Op& op) noexcept {
  for (; op.cut < rails_.size(); ++op.cut) {
    if (!rails_[op.cut].live()) continue;
    GetPart* get = free_get();
    if (get == nullptr) return false;
    *get = {.op = &op, .at = op.cut};
    if (!post_get(*get)) {
      *get = GetPart();
      return false;
    }
    op.left++;
    out_[op.signal.counter].gets++;
  }
  return true;
}

bool RailsEndpoint::post_get(GetPart& get) noexcept {
  const Op& op = *get.op;
  uint32_t tried = 0;
  const bool flush = op.verb == Verb::flush;
  if (flush) tried = ~(1U << get.at);
  for (;;) {
    const size_t i =
        pick(get.bytes, flush ? nullptr : op.import, tried, out_[op.signal.counter].rail, !flush);
    if (i == kRails) return false;
    Link& link = rails_[i].link;
    Transfer t{op.verb, When::delivered, {theirs_.data(op.signal.counter, 0), 0}, {}, {}, 0};
    t.cookie = domain_->cookie(link.id, kGetTag | uint32_t(&get - gets_.data()));
    if (!flush) {
      t.local = {op.data + get.at, get.bytes, op.region == nullptr ? nullptr : op.region->part(i)};
      t.remote = {op.import->on[i].get(), op.offset + get.at, get.bytes};
    }
    if (link.end->post({&t, 1}) == 1) {
      get.rail = uint8_t(i);
      get.order = ++link.orders;
      link.waiting++;
      posted(i, get.bytes);
      return true;
    }
    tried |= 1U << i;
  }
}

void RailsEndpoint::send_gets_again() noexcept {
  for (GetPart& get : gets_) {
    if (!get.lost) continue;
    if (get.tries > kTries) stuck_ = "a get failed on rail after rail";
    if (get.op->verb == Verb::flush) {  // nothing comes by that rail any more
      get.lost = false;
      --lost_gets_;
      get_done(size_t(&get - gets_.data()));
    } else if (post_get(get)) {
      get.lost = false;
      --lost_gets_;
      domain_->count(get.rail).resent.add(1);
      domain_->count(get.rail).resent_bytes.add(get.bytes);
    }
  }
}

}  // namespace plait::transport::rails
