#include "transport/message.h"

namespace plait::transport {

MessageLink::MessageLink(const MessageWiring& wiring, std::string_view peer)
    : wiring_(wiring), peer_(peer), sends_(wiring, lines_, peer), receives_(wiring, lines_, peer) {
  lines_.bind(wiring);
}

MessageRequest* MessageLink::send(uint32_t tag, const LocalSlice& data, bool at_once) noexcept {
  // A slot that the peer told of meanwhile need not be asked for. (Of many the first ones give it time.)
  if (at_once && status_.ok() && data.bytes > wiring_.eager_bytes() && sends_.idle()) (void)take_lines();
  if (!status_.ok()) return nullptr;
  MessageRequest* request = sends_.start(tag, data);
  if (at_once && request != nullptr) (void)sends_.advance();
  return request;
}

MessageRequest* MessageLink::receive(std::span<const MessageSlot> slots) noexcept {
  if (!status_.ok() || slots.empty() || slots.size() > kMessageTogether) return nullptr;
  return receives_.start(slots);
}

void MessageLink::release(MessageRequest* request) noexcept {
  request->is_send_ ? sends_.release(request) : receives_.release(request);
}

bool MessageLink::progress() noexcept {
  if (!status_.ok()) return false;
  bool moved = take_lines();
  if (!status_.ok()) return true;
  moved = receives_.land() || moved;
  moved = give_credit() || moved;
  moved = receives_.advance() || moved;
  moved = sends_.advance() || moved;  // posts the lines of all
  return moved;
}

// Credit goes before all else: the peer may need it to give any itself.
bool MessageLink::give_credit() noexcept {
  if (!lines_.owes(receives_.streamed()) || !lines_.room_for_credit()) return false;
  lines_.next(LineKind::credit);
  lines_.publish();
  return true;
}

bool MessageLink::take_lines() noexcept {
  bool moved = false;
  for (MessageLine line; lines_.landed(line); lines_.consumed.lines++, moved = true) {
    const char* why = lines_.too_many() ? "more lines than there is room for" : refusal(line);
    if (why == nullptr && holds_key(line.kind) && !sends_.can_take_region(line.id)) break;
    if (why == nullptr && !lines_.credited(line)) why = "credit for what was not sent";
    if (why == nullptr && LineKind(line.kind) == LineKind::lent) {
      if (!receives_.take_lent(line, why)) break;
    } else if (why == nullptr) {
      why = take(line);
    }
    if (why == nullptr) continue;
    broke_rules(why);
    return true;
  }
  return moved;
}

const char* MessageLink::take(const MessageLine& line) noexcept {
  switch (LineKind(line.kind)) {
    case LineKind::credit:
      return nullptr;
    case LineKind::eager:
    case LineKind::ask:
    case LineKind::direct:
    case LineKind::start:
      return receives_.take(line);
    default:
      return sends_.take(line);
  }
}

void MessageLink::broke_rules(const char* what) noexcept {
  fail({Code::internal,
        peer_ + " sent " + what + ": it runs another version of plait, or its memory is damaged"});
}

void MessageLink::done(const Done& done) noexcept {
  if (!status_.ok()) return;
  const bool piece = done.cookie - wiring_.first_cookie < kMessageCookies;
  if (done.status == Code::ok) {
    if (piece) sends_.left(uint32_t(done.cookie - wiring_.first_cookie));
    return;
  }
  const std::string why(wiring_.endpoint->error());
  const Code code = done.status == Code::aborted ? Code::aborted : Code::peer;
  fail({code, "messages with " + peer_ + ": " + (why.empty() ? "a transfer failed" : why)});
}

void MessageLink::fail(const Status& status) noexcept {
  if (!status_.ok()) return;
  status_ = status;
  wiring_.endpoint->close();
  sends_.fail(status);
  receives_.fail(status);
}

void MessageLink::close() noexcept {
  fail({Code::aborted, "messages with " + peer_ + ": this side closed the link"});
}

}  // namespace plait::transport
