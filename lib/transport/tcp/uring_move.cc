// What the ring says that came, and what it is given to send.
#include <algorithm>
#include <cerrno>

#include "transport/tcp/endpoint.h"
#include "transport/tcp/uring.h"
#include "transport/tcp/uring_names.h"

namespace plait::transport::tcp {

namespace {

// From here on what is still to come of a frame is better received where it belongs.
constexpr size_t kBulk = size_t{16} << 10;

bool cannot_feed(int error) noexcept {
  return error == EINVAL || error == EOPNOTSUPP || error == EAGAIN || error == ENOTSUP;
}

}  // namespace

void UringEngine::move(size_t& budget) noexcept {
  take(budget);
  receive(budget);
  if (sending().empty() || budget == 0) return;
  if (sending().size() < 2 || !out_works_) return send(budget);
  send_together(budget);
}

void UringEngine::take(size_t& budget) noexcept {
  io_uring_cqe* news = nullptr;
  while (budget >= BufferRing::kBytes && io_uring_peek_cqe(in_.get(), &news) == 0) {
    const News copy{news->user_data, news->res, news->flags};
    io_uring_cqe_seen(in_.get(), news);
    came(copy, budget);
  }
  if (hungry_.empty()) return;
  std::vector<uint32_t>& hungry = hungry_;
  for (size_t count = hungry.size(); count != 0; --count) {
    Feed& feed = feeds_[hungry.front()];
    hungry.erase(hungry.begin());
    if (feed.phase == Phase::fed && !feed.asked) ask(feed);
  }
  submit();
}

void UringEngine::came(const News& news, size_t& budget) noexcept {
  if (news.name == kWatched) watching_ = false;
  if (news.name == kWatched || news.name == kCancelled) return;
  const bool filled = (news.flags & IORING_CQE_F_BUFFER) != 0;
  const unsigned buffer = news.flags >> IORING_CQE_BUFFER_SHIFT;
  const size_t index = news.name >> 32;
  if (index < feeds_.size() && feeds_[index].connection != nullptr && name_of(feeds_[index]) == news.name) {
    const size_t bytes = filled && news.result > 0 ? size_t(news.result) : 0;
    budget -= std::min(budget, bytes);
    came(feeds_[index], news, {filled ? buffers_.data(buffer) : nullptr, bytes});
  }
  if (filled) buffers_.give_back(buffer);
}

void UringEngine::came(Feed& feed, const News& news, ByteView bytes) noexcept {
  Connection& connection = *feed.connection;
  if (!bytes.empty()) connection.arrived(bytes);
  if (feed.connection != &connection || name_of(feed) != news.name) return;  // its endpoint failed
  if ((news.flags & IORING_CQE_F_MORE) == 0) {
    feed.asked = false;
    return ended(feed, news.result);
  }
  if (feed.phase == Phase::fed && connection.awaited() > kBulk) leave(feed);
}

// The request has, with these bytes or this error.
void UringEngine::ended(Feed& feed, int result) noexcept {
  const int error = result < 0 ? -result : 0;
  if (result == 0 || (result < 0 && error != ECANCELED && error != ENOBUFS && !cannot_feed(error)))
    return feed.connection->end(error);
  if (feed.phase == Phase::leaving || cannot_feed(error)) return hand_over(feed);
  hungry_.push_back(feed.connection->feed - 1);
}

bool UringEngine::drain(Connection& connection, size_t& budget) noexcept {
  if (Feed* feed = feed_of(connection)) {
    if (feed->phase == Phase::fed || !feed->asked) leave(*feed);
    take(budget);
    if (connection.feed != 0) return false;
  }
  return PolledEngine::drain(connection, budget);
}

void UringEngine::send_together(size_t& budget) noexcept {
  const size_t count = sending().size(), before = budget;
  ++turn_;
  for (size_t at = 0; at < count && budget != 0 && out_works_;) {
    size_t left = budget, letters = 0;
    for (; at < count && letters < kBatch && left != 0; ++at) {
      Connection* connection = sending()[(turn_ + at) % count];
      if (connection->up() && write(letters_[letters], *connection, left)) ++letters;
    }
    if (letters != 0) post(letters, budget);
  }
  count_run(before - budget);
  drop_sent();
}

bool UringEngine::write(Letter& letter, Connection& connection, size_t& left) noexcept {
  letter.out.clear();
  if (!connection.offer(letter.out, left)) return false;
  letter.request = out_.next();
  if (letter.request == nullptr) return false;
  left -= std::min(left, letter.out.bytes);
  letter.connection = &connection;
  letter.message.msg_iov = letter.out.parts.data();
  letter.message.msg_iovlen = letter.out.count;
  // Never to be continued later: when the call returns all of this memory is its owners' again.
  io_uring_prep_sendmsg(letter.request, connection.fd(), &letter.message, MSG_NOSIGNAL | MSG_DONTWAIT);
  io_uring_sqe_set_data64(letter.request, uint64_t(&letter - letters_.get()));
  return true;
}

void UringEngine::post(size_t letters, size_t& budget) noexcept {
  for (size_t i = 0; i < letters; ++i) {
    if (letters_[i].connection->up()) continue;
    io_uring_prep_nop(letters_[i].request);  // the endpoint failed over a later letter
    io_uring_sqe_set_data64(letters_[i].request, i);
  }
  for (size_t answered = 0; answered < letters;) {
    ++counts.enters;
    const int submitted = io_uring_submit_and_wait(out_.get(), unsigned(letters - answered));
    io_uring_cqe* news = nullptr;
    while (io_uring_peek_cqe(out_.get(), &news) == 0) {
      Letter& letter = letters_[news->user_data];
      const int result = news->res;
      io_uring_cqe_seen(out_.get(), news);
      ++answered;
      if (result > 0) budget -= std::min(budget, size_t(result));
      if (letter.connection->up()) letter.connection->accepted(letter.out.bytes, result);
    }
    if (submitted >= 0 || submitted == -EINTR) continue;
    out_works_ = false;  // what it was given is never submitted
    break;
  }
  for (size_t i = 0; i < letters; ++i) letters_[i].out.clear();
}

}  // namespace plait::transport::tcp
