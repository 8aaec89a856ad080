// How the machine gets what lies in plain memory of another process: through Endpoint::post, into cache-sized
// room of its own or straight to where a plain receive wants it.
#include <cstring>

#include "base/pages.h"
#include "collectives/machine/real/descriptor.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

// True when the bytes are here. The get of a source is posted once; its Done comes through pulled().
bool Machine::pull(Link& link, uint32_t stream, const Action& a, uint32_t w, Arrival& arrival,
                   uint64_t offset, size_t bytes) noexcept {
  if (arrival.posted) return arrival.got;
  const Line* key = link.mailbox->in(stream).peek(call_.tag | kDescriptorBit, 1);
  if (key == nullptr) return false;
  const int32_t rank = int32_t(&link - links_.data());
  RemoteRegion* region = import_(context_, rank, {key->payload, kLinePayload});
  if (region == nullptr || !in_bounds(offset, bytes, region->bytes())) {
    fail(Code::internal,
         "rank " + std::to_string(rank) + " announced memory that cannot be got: please report it");
    return true;
  }
  const size_t index = size_t(&arrival - arrivals_.data());
  std::byte* to;
  if (a.kind == Kind::recv && a.dst.in() != Buffer::none) {
    to = bound(a.dst.in()).data + offset_of(a.dst, w);
  } else {
    // No get of this operation is under way to where it would be.
    if (bounce_.size() < arrivals_.size() * kSegmentBytes)
      bounce_ = map_pages(arrivals_.size() * kSegmentBytes);
    if (!bounce_) {
      fail(Code::memory, "no address space to get " + std::to_string(arrivals_.size()) + " messages");
      return true;
    }
    to = bounce_.data() + index * kSegmentBytes;
  }
  Transfer get;
  get.verb = Verb::get;
  get.when = When::delivered;
  get.local = {to, bytes, nullptr};
  get.remote = {region, offset, bytes};
  get.cookie = kPullCookie | index;
  if (link.endpoint->post({&get, 1}) != 1) return false;
  pulls_++;
  arrival = {to, bytes, Form::pulled, 2, false, true};
  return false;
}

void Machine::pulled(const Done& done) noexcept {
  const size_t index = size_t(done.cookie & ~kPullCookie);
  if (pulls_ == 0 || index >= arrivals_.size()) return;  // of an operation that failed
  pulls_--;
  if (done.status == Code::ok) {
    arrivals_[index].got = true;
  } else {
    fail(done.status, "getting from a peer's registered memory failed");
  }
}

}  // namespace plait::collectives::real
