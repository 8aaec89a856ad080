// Requests of a communicator: where they come from, and where they go.
#include "runtime/communicator.h"
#include "runtime/operators.h"

namespace plait::runtime {

namespace {

// Is a released request of a call with nothing of its own but where its buffers lie?
bool may_come_again(const plait_request& r) noexcept {
  const Args& a = r.args;
  if (r.came_again) return r.result.ok() && r.prepared->valid;
  return !r.persistent && !r.is_message() && r.result.ok() && r.prepared != nullptr && r.prepared->valid &&
         r.tensor == nullptr && r.low_rank == nullptr && a.custom == nullptr && a.codec == nullptr &&
         a.timeout_ms == 0 && a.algorithm.empty() && !a.uneven && a.maker == 0 &&
         int(a.op) < collectives::kReduceOps;
}

}  // namespace

plait_request* Communicator::take_request(bool persistent) {
  plait_request* request = free_;
  if (request == nullptr) {
    request = &requests_.emplace_back();
  } else {
    free_ = request->next;
  }
  request->magic = plait_request::kMagic;
  request->holders = 1;
  request->tensor = nullptr;
  request->low_rank = nullptr;
  request->factor = nullptr;
  request->comm = this;
  request->state = plait_request::State::idle;
  request->persistent = persistent;
  request->came_again = false;
  request->next = nullptr;
  request->letter.kind = Letter::Kind::none;
  return request;
}

void Communicator::release(plait_request* request) noexcept {
  if (--request->holders != 0) return;
  request->magic = 0;
  if (waited_ == request) waited_ = nullptr;
  if (request->is_message()) {
    if (short_.brief == request) short_.brief = nullptr;
    return put_away(request);
  }
  let_go(request->args.custom);
  request->args.custom = nullptr;
  if (!may_come_again(*request)) return put_away(request);
  const Args& a = request->args;
  plait_request*& place = ready_[place_of(a.collective, a.root, a.count)];
  if (place != nullptr) put_away(place);
  place = request;
}

void Communicator::put_away(plait_request* request) noexcept {
  request->next = free_;
  free_ = request;
}

// What they were prepared for changes.
void Communicator::forget_ready(const Prepared& prepared) noexcept {
  for (plait_request*& place : ready_) {
    if (place == nullptr || place->prepared != &prepared) continue;
    put_away(place);
    place = nullptr;
  }
  if (called_ == &prepared) called_ = nullptr;
}

}  // namespace plait::runtime
