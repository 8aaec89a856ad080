// Frames in. Every field of a header is checked before a byte of what follows it is taken; long payloads are
// received where they belong, short ones many at a time.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/copy.h"
#include "transport/landings.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/socket.h"

namespace plait::transport::tcp {

namespace {

constexpr size_t kBulky = 4096;  // from here on a payload is not worth a copy
// Received beyond the end of a long payload: a short frame that tells of it, the next header, and little that
// must be copied. Payloads here are whole cache lines, so that what comes after is received to an aligned
// address.
constexpr size_t kAhead = sizeof(Header) + 1024;
// A sender may have as few packets as four under way that were not acknowledged (what BBR leaves, and less
// than any connection begins with). Where nothing goes back, so many are sipped in a row, and the next one is
// read to its end.
constexpr uint32_t kSips = 3;
// More bytes than that are not sipped.
constexpr size_t kPeek = 4096 + 2 * sizeof(Header);

}  // namespace

// Where the rest of the current frame goes.
struct Connection::Landing {
  // What of it comes behind the kPlaces-th place, comes with the next call.
  static constexpr size_t kPlaces = 4;
  std::array<iovec, kPlaces + 1> parts;  // one more, for what is behind the frame
  size_t count = 0, bytes = 0;
  RegionTable::Pin pin;
};

bool Connection::receive(size_t& budget) noexcept {
  if (!up() || ended_ || budget == 0) return false;
  const size_t seen = seen_;  // 0 within a frame
  unanswered_ = 0;
  Landing to;
  if (left_ != 0 && !find(to, std::min(left_, budget))) return false;
  const std::span<std::byte> scratch = engine_.scratch();
  if (to.bytes == left_) {
    std::memcpy(scratch.data(), carry_.data(), carried_);
    const size_t ahead = left_ != 0 ? sizeof(Header) + kAhead : kAhead;
    const size_t most = bulky_ ? ahead : scratch.size() - 2 * kPeek;
    const size_t room = std::min(budget - to.bytes, most - carried_) + seen;
    if (room != 0) to.parts[to.count++] = {scratch.data() + carried_, room};
  }
  ++engine_.counts.receives;
  const auto parts = std::span(to.parts).first(to.count);
  const ssize_t got = tls_ ? tls_->receive(parts) : receive_some(socket_.get(), parts);
  if (got <= 0) {
    to.pin = {};
    return nothing_came(got);
  }
  seen_ -= std::min(size_t(got), seen);
  const size_t fresh = size_t(got) - std::min(size_t(got), seen);
  budget -= fresh;
  const size_t landed = std::min(fresh, to.bytes);
  if (landed != 0) took(to, landed);
  to.pin = {};
  if (landed != 0 && left_ == 0) finish();
  if (fresh > landed && up()) parse(scratch.subspan(seen, carried_ + fresh - landed));
  return fresh != 0;
}

// False.
bool Connection::nothing_came(ssize_t got) noexcept {
  if (got == 0 || !would_block(errno)) {
    end(got == 0 ? 0 : errno);
  } else if (broken_ != 0) {
    end(broken_);
  }
  return false;
}

bool Connection::may_sip() const noexcept {
  return sips_ && lane_ == Lane::mailbox && !ended_ && !tls_ && !bulky_ && broken_ == 0 && between_frames() &&
         up();
}

bool Connection::sip(size_t& budget) noexcept {
  if (!may_sip() || seen_ >= kPeek || budget == 0) return receive(budget);
  const std::span<std::byte> scratch = engine_.scratch();
  const size_t most = seen_ + std::min(budget, kPeek);
  ++engine_.counts.receives;
  const ssize_t got = peek_some(socket_.get(), scratch.first(most));
  if (got <= 0) return nothing_came(got);
  if (size_t(got) <= seen_) return false;
  if (size_t(got) == most || unanswered_ == kSips) return receive(budget);
  ++unanswered_;
  const size_t before = std::exchange(seen_, size_t(got));
  budget -= seen_ - before;
  parse(scratch.first(seen_).subspan(before));
  if (between_frames() || !up()) return true;
  drop_seen();
  receive(budget);
  return true;
}

void Connection::drop_seen() noexcept {
  ++engine_.counts.receives;
  if (drop_some(socket_.get(), engine_.scratch().first(seen_))) seen_ = 0;
}

bool Connection::settle() noexcept {
  if (seen_ == 0) return true;
  size_t budget = kScratch;
  return !receive(budget);
}

void Connection::end(int error) noexcept {
  ended_ = true;
  if (tls_ && error == EBADMSG) return endpoint_.broken_seal(tls_->reason());
  endpoint_.ended(broken_ != 0 && error == 0 ? broken_ : error);
}

// So much of the rest of the current frame as is to be found places for, `most` at most. False, and the
// endpoint has failed: its region is gone.
bool Connection::find(Landing& landing, size_t most) noexcept {
  const size_t done = frame_.length - left_;
  if (FrameKind(frame_.kind) == FrameKind::data) {
    landing.parts[landing.count++] = {gets_.front().local + gets_.front().moved + done, most};
    landing.bytes = most;
    return true;
  }
  landing.pin = endpoint_.regions().pin(frame_.slot, frame_.nonce);
  if (!landing.pin) {
    endpoint_.refuse(Refusal::region);
    return false;
  }
  const Landings* elsewhere = landing.pin.landings();
  while (landing.bytes != most && landing.count != Landing::kPlaces) {
    const uint64_t at = frame_.offset + done + landing.bytes;
    size_t bytes = most - landing.bytes;
    std::byte* to = elsewhere == nullptr ? landing.pin.base() + at : elsewhere->find(at, bytes);
    landing.parts[landing.count++] = {to, bytes};
    landing.bytes += bytes;
  }
  return true;
}

// All of the current frame, whose place is known. False: it lies in several.
bool Connection::store_whole(const RegionTable::Pin& to, ByteView bytes) noexcept {
  Landings* elsewhere = to.landings();
  size_t together = bytes.size();
  std::byte* place =
      elsewhere == nullptr ? to.base() + frame_.offset : elsewhere->find(frame_.offset, together);
  if (together != bytes.size()) return false;
  copy_bytes(place, bytes.data(), bytes.size());
  if (elsewhere != nullptr) elsewhere->landed(frame_.offset, bytes.size());
  left_ = 0;
  return true;
}

// Bytes of the current frame. False, and the endpoint has failed: its region is gone.
bool Connection::store(ByteView bytes) noexcept {
  while (!bytes.empty()) {
    Landing to;
    if (!find(to, bytes.size())) return false;
    size_t done = 0;
    for (size_t i = 0; i < to.count; done += to.parts[i++].iov_len)
      copy_bytes(static_cast<std::byte*>(to.parts[i].iov_base), bytes.data() + done, to.parts[i].iov_len);
    bytes = bytes.subspan(done);
    took(to, done);
  }
  return true;
}

void Connection::arrived(ByteView bytes) noexcept {
  if (!up() || ended_) return;
  if (carried_ != 0) {
    const size_t more = std::min(sizeof(Header) - carried_, bytes.size());
    std::memcpy(carry_.data() + carried_, bytes.data(), more);
    carried_ += more;
    bytes = bytes.subspan(more);
    if (carried_ != sizeof(Header)) return;
    carried_ = 0;
    if (begin(carry_) == 0) return;
  }
  if (const size_t here = std::min(left_, bytes.size()); here != 0) {
    if (!store(bytes.first(here))) return;
    bytes = bytes.subspan(here);
    if (left_ == 0) finish();
  }
  if (!bytes.empty() && up()) parse(bytes);
}

void Connection::took(const Landing& landing, size_t bytes) noexcept {
  if (Landings* elsewhere = landing.pin ? landing.pin.landings() : nullptr; elsewhere != nullptr)
    elsewhere->landed(frame_.offset + frame_.length - left_, bytes);
  left_ -= bytes;
}

// Takes all of `bytes`, which begin with a header: what is left of one in the end is carried.
void Connection::parse(ByteView bytes) noexcept {
  carried_ = 0;
  while (!bytes.empty() && up()) {
    if (bytes.size() < sizeof(Header)) {
      carried_ = bytes.size();
      std::memcpy(carry_.data(), bytes.data(), carried_);
      return;
    }
    const size_t used = begin(bytes);
    if (used == 0) return;
    bytes = bytes.subspan(used);
  }
}

// A frame, or the part of it that is there. How many bytes that are; 0: it was refused.
size_t Connection::begin(ByteView bytes) noexcept {
  const auto header = parse_header(bytes.first(sizeof(Header)));
  if (!header) {
    endpoint_.refuse(Refusal::nonsense);
    return 0;
  }
  RegionTable::Pin to;
  if (!check(*header, to)) return 0;
  frame_ = *header;
  left_ = frame_.length;
  // Long frames and the short ones that tell of them take turns.
  bulky_ = left_ > kBulky || was_bulky_;
  was_bulky_ = left_ > kBulky;
  const size_t here = std::min(left_, bytes.size() - sizeof(Header));
  const ByteView payload = bytes.subspan(sizeof(Header), here);
  if (!(to && here == left_ && store_whole(to, payload)) && !store(payload)) return 0;
  to = {};
  if (left_ == 0) finish();
  return up() ? sizeof(Header) + here : 0;
}

// What depends on this endpoint's state. False when the frame was refused, or was the last one. `to`: where a
// put with bytes goes.
bool Connection::check(const Header& h, RegionTable::Pin& to) noexcept {
  std::optional<Refusal> refusal;
  const Place place{h.slot, h.nonce, h.offset};
  switch (FrameKind(h.kind)) {
    case FrameKind::put:
      if (h.counter >= endpoint_.counter_count() && h.add != 0) refusal = Refusal::counter;
      if (!refusal && h.length != 0) refusal = admit(endpoint_.regions(), place, h.length, true, to);
      break;
    case FrameKind::get: {
      RegionTable::Pin pin;
      if (served_.size() >= kDepth) refusal = Refusal::too_many;
      if (!refusal && h.value != 0) refusal = admit(endpoint_.regions(), place, h.value, false, pin);
      break;
    }
    case FrameKind::data:
      if (!awaits(h)) refusal = Refusal::nonsense;
      break;
    case FrameKind::ack:
      if (!endpoint_.acknowledged(Lane(h.value >> kLaneShift), h.value & ((uint64_t{1} << kLaneShift) - 1)))
        refusal = Refusal::nonsense;
      break;
    case FrameKind::error:
      endpoint_.refused(Refusal(h.value));
      return false;
    case FrameKind::goodbye:
      ended_ = true;
      endpoint_.goodbye();
      return false;
  }
  if (refusal) endpoint_.refuse(*refusal);
  return !refusal;
}

// Whether an answer of this length is the next one of the oldest get.
bool Connection::awaits(const Header& h) noexcept {
  if (gets_.empty() || !gets_.front().sent) return false;
  const Op& op = gets_.front();
  const size_t left = op.bytes - op.moved;
  return h.length <= left && (h.length == left) == ((h.flags & kLast) != 0);
}

// All of the current frame is here.
void Connection::finish() noexcept {
  if (FrameKind(frame_.kind) == FrameKind::put) {
    if (frame_.add != 0) endpoint_.signal(frame_.counter, frame_.add);
    if ((frame_.flags & kAsked) != 0) {
      ++landed_;
      endpoint_.owe_ack();
    }
  } else if (FrameKind(frame_.kind) == FrameKind::get) {
    Served& get = served_.push();
    get.place = {frame_.slot, frame_.nonce, frame_.offset};
    get.left = frame_.value;
    wants_to_send();
  } else if (FrameKind(frame_.kind) == FrameKind::data) {
    Op& op = gets_.front();
    op.moved += frame_.length;
    if ((frame_.flags & kLast) == 0) return;
    gets_.pop();
    endpoint_.finished(op, Code::ok);
  }
}

}  // namespace plait::transport::tcp
