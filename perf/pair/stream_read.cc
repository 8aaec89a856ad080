// Reads: gets from the other side's memory, which need not do anything about it.
//
// Where they are checked, the other side's slots hold a pattern, and a slot here is scrubbed before it is
// read to again.
#include <algorithm>
#include <cstring>

#include "perf/pair/stream_transfers.h"

namespace plait::perf::pair {
namespace {

using transport::Transfer;

Transfer shape_of(const Load& load) {
  Transfer t;
  t.verb = transport::Verb::get;
  t.when = transport::When::delivered;
  t.signal.counter = load.bytes <= kShortBytes ? kShortCounter : kLongCounter;
  return t;
}

// Whose memory it is, and of which slot.
void fill_slot(Session& session, size_t lane, uint64_t slot, size_t bytes) {
  const auto slice = session.in(lane, slot, bytes);
  fill({slice.data, slice.bytes}, session.stream(lane, false), slot);
}

class Reader final : public TransferStream {
 public:
  Reader(Session& session, const Load& load) : TransferStream(session, load, shape_of(load)) {}

  bool finished() const override {
    return std::all_of(lanes_.begin(), lanes_.end(), [this](const Count& lane) {
      return lane.done == lane.posted && (stopped_ || lane.posted >= wanted());
    });
  }

 protected:
  // Where they are checked: a window, and the next one when that is done. (Gets may end in any order.)
  uint64_t allowed(size_t i) const override {
    if (stopped_) return lanes_[i].posted;
    if (!checks()) return UINT64_MAX;
    return lanes_[i].done / session_.slots() * session_.slots() + session_.slots();
  }
  void aim(size_t i, uint64_t number, Transfer& t) override {
    t.local = session_.out(i, number, load_.bytes);
    t.remote = session_.there(i, number, load_.bytes);
    if (checks()) std::memset(t.local.data, 0, t.local.bytes);
  }
  void settle(size_t i) override {
    const Count& lane = lanes_[i];
    if (!checks() || lane.done != lane.posted) return;
    if (lane.done % session_.slots() != 0 && lane.done < wanted() && !stopped_) return;
    const uint64_t first = (lane.done - 1) / session_.slots() * session_.slots();
    for (uint64_t number = first; number < lane.done; number++) {
      const auto slice = session_.out(i, number, load_.bytes);
      wrong_ += count_wrong({slice.data, slice.bytes}, session_.stream(i, true), number % session_.slots());
    }
  }
};

}  // namespace

std::unique_ptr<Stream> make_reader(Session& session, const Load& load) {
  return std::make_unique<Reader>(session, load);
}

void offer_to_reader(Session& session, const Load& load) {
  for (size_t i = 0; i < session.lanes(); i++)
    for (uint32_t slot = 0; slot < session.slots(); slot++) fill_slot(session, i, slot, load.bytes);
}

}  // namespace plait::perf::pair
