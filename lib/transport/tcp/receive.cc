// Frames in. Every field of a header is checked before a byte of what follows it is taken; long payloads are
// received where they belong, short ones many at a time.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/copy.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/socket.h"

namespace plait::transport::tcp {

namespace {

constexpr size_t kBulky = 4096;  // from here on a payload is not worth a copy
// Received beyond the end of a long payload: the next header, and little that must be copied; a multiple of a
// cache line, so that what comes after is received to an aligned address.
constexpr size_t kAhead = sizeof(Header) + 512;
// A sender may have as few packets as four under way that were not acknowledged (what BBR leaves, and less
// than any connection begins with). Where nothing goes back, so many are sipped in a row, and the next one is
// read to its end.
constexpr uint32_t kSips = 3;

}  // namespace

bool Connection::receive(size_t& budget) noexcept {
  if (!up() || ended_ || budget == 0) return false;
  rest_ = 0;
  unanswered_ = 0;
  std::array<iovec, 2> parts;
  size_t count = 0;
  const size_t direct = std::min(left_, budget);
  const std::span<std::byte> scratch = engine_.scratch();
  RegionTable::Pin pin;
  if (direct != 0) {
    std::byte* to = landing(pin);
    if (to == nullptr) return false;
    parts[count++] = {to, direct};
  }
  if (direct == left_) {
    std::memcpy(scratch.data(), carry_.data(), carried_);
    const size_t room = std::min(budget - direct, (bulky_ ? kAhead : scratch.size()) - carried_);
    if (room != 0) parts[count++] = {scratch.data() + carried_, room};
  }
  ++engine_.counts.receives;
  const auto to = std::span(parts).first(count);
  const ssize_t got = tls_ ? tls_->receive(to) : receive_some(socket_.get(), to);
  pin = {};
  if (got <= 0) {
    if (got == 0 || !would_block(errno))
      end(got == 0 ? 0 : errno);
    else if (broken_ != 0)
      end(broken_);
    return false;
  }
  budget -= size_t(got);
  const size_t landed = std::min(size_t(got), direct);
  if (landed != 0) took(landed);
  if (size_t(got) > landed && up()) parse(scratch.first(carried_ + size_t(got) - landed));
  return true;
}

bool Connection::sip(size_t& budget) noexcept {
  if (!sips_ || lane_ != Lane::mailbox || tls_ || bulky_ || broken_ != 0 || !between_frames() || !up())
    return receive(budget);
  ++engine_.counts.receives;
  const size_t here = waiting_bytes(socket_.get());
  if (here <= rest_) return false;
  const size_t room = std::min(budget, engine_.scratch().size());
  if (here == 1 || here - 1 > room || unanswered_ == kSips) return receive(budget);
  ++unanswered_;
  iovec part{engine_.scratch().data(), here - 1};
  ++engine_.counts.receives;
  const ssize_t got = receive_some(socket_.get(), {&part, 1});
  if (got <= 0) return receive(budget);
  rest_ = size_t(got) == here - 1 ? 1 : 0;
  budget -= size_t(got);
  parse(engine_.scratch().first(size_t(got)));
  if (!between_frames()) receive(budget);
  return true;
}

bool Connection::settle() noexcept {
  if (rest_ == 0) return true;
  size_t budget = kScratch;
  receive(budget);
  return kScratch - budget <= 1;
}

void Connection::end(int error) noexcept {
  ended_ = true;
  if (tls_ && error == EBADMSG) return endpoint_.broken_seal(tls_->reason());
  endpoint_.ended(broken_ != 0 && error == 0 ? broken_ : error);
}

// Where the rest of the current frame goes. Null, and the endpoint has failed, when its region is gone.
std::byte* Connection::landing(RegionTable::Pin& pin) noexcept {
  const size_t done = frame_.length - left_;
  if (FrameKind(frame_.kind) == FrameKind::data) return gets_.front().local + gets_.front().moved + done;
  pin = endpoint_.regions().pin(frame_.slot, frame_.nonce);
  if (pin) return pin.base() + frame_.offset + done;
  endpoint_.refuse(Refusal::region);
  return nullptr;
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
    RegionTable::Pin pin;
    std::byte* to = landing(pin);
    if (to == nullptr) return;
    copy_bytes(to, bytes.data(), here);
    bytes = bytes.subspan(here);
    took(here);
  }
  if (!bytes.empty() && up()) parse(bytes);
}

void Connection::took(size_t bytes) noexcept {
  left_ -= bytes;
  if (left_ == 0) finish();
}

// Takes all of `bytes`, which begin with a header: what is left of one in the end is carried.
void Connection::parse(ByteView bytes) noexcept {
  carried_ = 0;
  while (!bytes.empty() && up()) {
    if (bytes.front() == kFiller) {
      bytes = bytes.subspan(1);
      continue;
    }
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
  if (!check(*header)) return 0;
  frame_ = *header;
  left_ = frame_.length;
  // Long frames and the short ones that tell of them take turns.
  bulky_ = left_ > kBulky || was_bulky_;
  was_bulky_ = left_ > kBulky;
  const size_t here = std::min(left_, bytes.size() - sizeof(Header));
  if (here != 0) {
    RegionTable::Pin pin;
    std::byte* to = landing(pin);
    if (to == nullptr) return 0;
    std::memcpy(to, bytes.data() + sizeof(Header), here);
  }
  left_ -= here;
  if (left_ == 0) finish();
  return up() ? sizeof(Header) + here : 0;
}

// What depends on this endpoint's state. False when the frame was refused, or was the last one.
bool Connection::check(const Header& h) noexcept {
  std::optional<Refusal> refusal;
  RegionTable::Pin pin;
  const Place place{h.slot, h.nonce, h.offset};
  switch (FrameKind(h.kind)) {
    case FrameKind::put:
      if (h.counter >= endpoint_.counter_count() && h.add != 0) refusal = Refusal::counter;
      if (!refusal && h.length != 0) refusal = admit(endpoint_.regions(), place, h.length, true, pin);
      break;
    case FrameKind::get:
      if (served_.size() >= kDepth) refusal = Refusal::too_many;
      if (!refusal && h.value != 0) refusal = admit(endpoint_.regions(), place, h.value, false, pin);
      break;
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
