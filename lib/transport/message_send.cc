#include "transport/message_send.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace plait::transport {

MessageSends::MessageSends(const MessageWiring& wiring, MessageLines& lines, std::string_view peer)
    : wiring_(wiring),
      lines_(lines),
      peer_(peer),
      piece_bytes_(std::min<size_t>(kPieceBytes, wiring.capabilities->max_transfer)),
      needs_region_(wiring.capabilities->local_needs_region) {
  for (uint16_t i = 0; i < kMessageSends; i++) {
    sends_[i].request.index_ = i;
    sends_[i].request.is_send_ = true;
  }
}

MessageRequest* MessageSends::start(uint32_t tag, const LocalSlice& data) noexcept {
  if (free_.empty()) return nullptr;
  const uint16_t index = free_.take();
  Send& send = sends_[index];
  send.request.begin(1);
  send.phase = Phase::queued;
  send.generation++;
  send.tag = tag;
  send.data = data;
  send.moved = 0;
  burst_.begin(data.bytes);
  queued_.push() = index;
  return &send.request;
}

void MessageSends::release(MessageRequest* request) noexcept {
  request->state_ = MessageRequest::State::free;
  ended_--;
  request->status_ = Status();
  free_.give(request->index_);
}

bool MessageSends::advance() noexcept {
  bool moved = start_granted();
  while (!queued_.empty() && announce(sends_[queued_.front()])) {
    queued_.pop();
    moved = true;
  }
  (void)lines_.flush();
  moved = move() || moved;
  moved = finish_shared() || moved;
  finish_left();
  return moved;
}

// Messages count where they are announced: from there on they meet the peer's receives. A short one waits for
// units that may come back; those that messages hold which nobody takes may never, and it asks.
bool MessageSends::announce(Send& send) noexcept {
  if (!lines_.room()) return false;
  const bool is_short = send.data.bytes <= wiring_.eager_bytes(),
             fits = is_short && lines_.room_for_units(uint32_t(send.data.bytes));
  if (is_short && !fits && !lines_.all_read()) return false;
  if (fits) {
    announce_eager(send);
    count_message(send.tag, kNoIndex);
  } else {
    announce_long(send, post_of(send.tag));
    count_message(send.tag, send.phase == Phase::asked ? send.request.index_ : kNoIndex);
  }
  return true;
}

void MessageSends::announce_eager(Send& send) noexcept {
  MessageLine& line = lines_.next(LineKind::eager);
  line.fields.tag = send.tag;
  line.fields.bytes = send.data.bytes;
  lines_.place(line, send.data.data, uint32_t(send.data.bytes));
  send.line = lines_.publish();
  send.streamed = false;
  leave(send);
}

// A message that is longer than its slot asks all the same: so the receiver learns of it.
void MessageSends::announce_long(Send& send, const Post* post) noexcept {
  if (post != nullptr && post->room >= send.data.bytes && aim(send, *post))
    return write_start(send, LineKind::direct);
  MessageLine& line = lines_.next(LineKind::ask);
  line.fields.tag = send.tag;
  line.fields.bytes = send.data.bytes;
  line.fields.send = MessageHandle::make(send.request.index_, send.generation);
  lines_.publish();
  send.phase = Phase::asked;
  if (post != nullptr) too_long(send, post->room);
}

const MessageSends::Post* MessageSends::post_of(uint32_t tag) const noexcept {
  const auto end = posts_.begin() + ptrdiff_t(post_count_);
  const auto it =
      std::find_if(posts_.begin(), end, [&](const Post& p) { return p.tag == tag && p.ahead == 0; });
  return it == end ? nullptr : &*it;
}

// One message of this tag less is ahead of each post, and none waits for it any more.
void MessageSends::count_at_posts(uint32_t tag) noexcept {
  for (size_t i = 0; i < post_count_; i++) {
    Post& post = posts_[i];
    if (post.tag != tag || post.ahead-- != 0) continue;
    post = posts_[--post_count_];
    i--;
  }
}

// Where the bytes go, and how. False when the peer named memory that it may not: its slot is beyond its
// region.
bool MessageSends::aim(Send& send, const Post& post) noexcept {
  send.slot = post.slot;
  send.region = post.region;
  send.offset = post.offset;
  RemoteRegion* remote = post.region == kNoRegion ? nullptr : regions_[post.region].remote.get();
  send.streamed = remote == nullptr || (needs_region_ && send.data.region == nullptr);
  if (send.streamed) return true;
  return may_write(remote->access()) && in_bounds(post.offset, send.data.bytes, remote->bytes());
}

void MessageSends::write_start(Send& send, LineKind kind) noexcept {
  MessageLine& line = lines_.next(kind);
  line.flags = send.streamed ? kStreamed : 0;
  line.fields.tag = send.tag;
  line.fields.slot = send.slot;
  line.fields.bytes = send.data.bytes;
  send.shared = may_share(send);
  if (send.shared) {
    share(send, line);
  } else {
    send.parts = send.streamed ? parts(send) : 0;
    line.fields.pieces = send.streamed ? send.parts : pieces(send);
  }
  send.line = lines_.publish();
  send.phase = Phase::moving;
  if (!send.streamed) regions_[send.region].uses++;
  moving_.push() = send.request.index_;
}

// Do both ranks reach both ends of it?
bool MessageSends::may_share(const Send& send) const noexcept {
  if (wiring_.mapped == nullptr || wiring_.arena == nullptr || send.streamed || send.data.bytes == 0)
    return false;
  return in_bounds(offset_in_arena(send.data.data), send.data.bytes, wiring_.arena->memory().bytes) &&
         regions_[send.region].remote->mapped() != nullptr && shares_ - shares_done_ < kMessageShares;
}

void MessageSends::share(Send& send, MessageLine& line) noexcept {
  send.share = ++shares_;
  line.flags = kShared;
  line.fields.send = send.share;
  line.fields.offset = offset_in_arena(send.data.data);
  copy_of(send).offer();
}

SharedCopy MessageSends::copy_of(const Send& send) const noexcept {
  return {wiring_.mapped->shares[send.share % kMessageShares],
          send.share,
          SharedCopy::Side::sender,
          send.data.data,
          regions_[send.region].remote->mapped() + send.offset,
          send.data.bytes,
          burst_.past_cache(send.data.bytes, false)};
}

uint32_t MessageSends::pieces(const Send& send) const noexcept {
  return uint32_t((send.data.bytes + piece_bytes_ - 1) / piece_bytes_);
}

// Of a window of messages the next one is filled while one is read: halves would only be more parts.
uint32_t MessageSends::parts(const Send& send) const noexcept {
  const bool alone = queued_.size() <= 1 && moving_.empty();
  const auto whole = uint32_t(parts_of(send.data.bytes));
  return whole == 1 && alone && wiring_.mapped != nullptr && send.data.bytes > 1 ? 2 : whole;
}

bool MessageSends::start_granted() noexcept {
  bool moved = false;
  for (; !granted_.empty() && lines_.room(); granted_.pop(), moved = true)
    write_start(sends_[granted_.front()], LineKind::start);
  return moved;
}

const char* MessageSends::take(const MessageLine& line) noexcept {
  switch (LineKind(line.kind)) {
    case LineKind::post:
      return take_post(line);
    case LineKind::grant:
      return take_grant(line);
    case LineKind::key:
      return take_key(line);
    default:
      return take_region(line);
  }
}

// The peer counted `seen` messages when it wrote this: those announced since may have come before its slot
// was known here, and the slot may be for one of them.
const char* MessageSends::take_post(const MessageLine& line) noexcept {
  const MessageFields& f = line.fields;
  Post post{f.tag, f.slot, f.ahead, line.id, f.offset, f.bytes};
  if (messages_ - f.seen > kMessageLines) return "a slot that has seen messages that were not sent";
  for (uint32_t number = f.seen; number != messages_; number++) {
    const Sent& sent = sent_[number % kMessageLines];
    if (sent.tag != f.tag || post.ahead-- != 0) continue;
    return sent.asked == kNoIndex ? nullptr : grant(sends_[sent.asked], post);
  }
  if (post_count_ == posts_.size()) return "more slots than a link has";
  posts_[post_count_++] = post;
  return nullptr;
}

const char* MessageSends::take_grant(const MessageLine& line) noexcept {
  const MessageFields& f = line.fields;
  Send& send = sends_[MessageHandle::index(f.send)];
  if (f.send != MessageHandle::make(send.request.index_, send.generation))
    return "a grant for a send that ended";
  return grant(send, {send.tag, f.slot, 0, line.id, f.offset, f.bytes});
}

const char* MessageSends::grant(Send& send, const Post& post) noexcept {
  if (send.phase != Phase::asked) return "a grant for a send that did not ask";
  if (post.room < send.data.bytes) {
    too_long(send, post.room);
    return nullptr;
  }
  if (!aim(send, post)) return "a slot outside of its region";
  send.phase = Phase::granted;
  granted_.push() = send.request.index_;
  return nullptr;
}

const char* MessageSends::take_region(const MessageLine& line) noexcept {
  regions_[line.id].remote.reset();
  coming_.region = line.id;
  coming_.bytes = line.flags;
  learn_key(line, 0);
  return nullptr;
}

const char* MessageSends::take_key(const MessageLine& line) noexcept {
  if (line.id != coming_.region || line.flags != coming_.lines || line.flags >= key_lines_of(coming_.bytes))
    return "a key of no region that it told of";
  learn_key(line, line.flags);
  return nullptr;
}

void MessageSends::learn_key(const MessageLine& line, uint32_t at) noexcept {
  std::memcpy(coming_.key.data() + size_t{at} * kMessageKeyBytes, line.key, kMessageKeyBytes);
  coming_.lines = at + 1;
  if (coming_.lines != key_lines_of(coming_.bytes)) return;
  auto imported = wiring_.endpoint->import({coming_.key.data(), coming_.bytes});
  // Else what goes there is streamed.
  if (imported.ok()) regions_[coming_.region].remote = std::move(imported).value();
}

void MessageSends::leave(Send& send) noexcept {
  send.phase = Phase::leaving;
  leaving_.push() = send.request.index_;
}

// Their chunks were taken, by both; in the order of their numbers.
bool MessageSends::finish_shared() noexcept {
  bool moved = false;
  for (; !shared_.empty() && copy_of(sends_[shared_.front()]).done(); shared_.pop(), moved = true) {
    Send& send = sends_[shared_.front()];
    regions_[send.region].uses--;
    shares_done_++;
    leave(send);
  }
  return moved;
}

// A caller whose sends are done may poll no more, and the peer's receives end all the same.
bool MessageSends::has_left(const Send& send) const noexcept {
  return lines_.left(send.line) && (!send.streamed || wiring_.mapped != nullptr ||
                                    wiring_.endpoint->sent(uint16_t(wiring_.first_counter + 1)));
}

void MessageSends::finish_left() noexcept {
  for (; !leaving_.empty() && has_left(sends_[leaving_.front()]); leaving_.pop())
    end(sends_[leaving_.front()]);
}

void MessageSends::end(Send& send) noexcept {
  send.phase = Phase::free;
  burst_.end(send.data.bytes);
  ended_ += send.request.end(0, send.data.bytes);
}

void MessageSends::too_long(Send& send, uint64_t room) noexcept {
  const Status status(Code::mismatch, "a message of " + std::to_string(send.data.bytes) + " bytes with tag " +
                                          std::to_string(int32_t(send.tag)) + " to " + peer_ +
                                          " met a receive of " + std::to_string(room) + " bytes there");
  if (trouble_.ok()) trouble_ = status;
  send.request.fail(status);
  send.phase = Phase::free;
  burst_.end(send.data.bytes);
  ended_ += send.request.end(0, 0);
}

void MessageSends::fail(const Status& status) noexcept {
  for (Send& send : sends_) {
    if (send.request.state_ != MessageRequest::State::pending) continue;
    send.request.fail(status);
    send.phase = Phase::free;
    ended_ += send.request.end(0, 0);
  }
}

}  // namespace plait::transport
