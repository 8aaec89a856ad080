#include "transport/tcp/uring.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include "transport/tcp/endpoint.h"
#include "transport/tcp/uring_names.h"

namespace plait::transport::tcp {

namespace {

constexpr unsigned kRequests = 256;  // requests under way to the kernel at a time
// As many buffers as there are may have come, and each connection's end besides; what is more waits in the
// kernel.
constexpr unsigned kNews = 1024;
constexpr size_t kTogether =
    4;  // fed connections from which on posts wait for the poll that sends them together
constexpr uint32_t kLookAtLeast = 256;  // polls until epoll is asked, whatever the ring says

bool watch(int epoll, int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

UringEngine::UringEngine(Poller& poller) noexcept
    : PolledEngine(poller), poller_(poller), pid_(getpid()), letters_(std::make_unique<Letter[]>(kBatch)) {}

// What is under way has no buffers then, and ends with the ring. Of a forked child's the parent's would end.
UringEngine::~UringEngine() {
  if (getpid() == pid_) buffers_.close(in_);
}

Status UringEngine::start() {
  PLAIT_TRY(in_.open(kRequests, kNews));
  PLAIT_TRY(out_.open(kBatch, 2 * kBatch));
  PLAIT_TRY(buffers_.open(in_));
  sleep_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!sleep_ || !watch(sleep_.get(), poller_.fd()) || !watch(sleep_.get(), in_.fd()))
    return Status::system(errno, "tcp: a descriptor to sleep on (look at ulimit -n)");
  return {};
}

void UringEngine::reserve(size_t connections) {
  PolledEngine::reserve(connections);
  free_.reserve(connections);
  hungry_.reserve(connections);
  for (size_t i = feeds_.size(); i < connections; ++i) free_.push_back(uint32_t(i));
  if (feeds_.size() < connections) feeds_.resize(connections);
}

UringEngine::Feed* UringEngine::feed_of(const Connection& connection) noexcept {
  return connection.feed == 0 ? nullptr : &feeds_[connection.feed - 1];
}

uint64_t UringEngine::name_of(const Feed& feed) const noexcept {
  return uint64_t(&feed - feeds_.data()) << 32 | feed.generation;
}

// Epoll need not watch it: the ring tells of its end too.
uint32_t UringEngine::add(Connection& connection) noexcept {
  if (connection.lane() != Lane::mailbox || free_.empty()) return PolledEngine::add(connection);
  const uint32_t index = free_.back();
  free_.pop_back();
  Feed& feed = feeds_[index];
  feed.connection = &connection;
  feed.phase = Phase::fed;
  connection.feed = index + 1;
  ask(feed);
  submit();
  return 0;
}

// To be fed until it ends, or the ring runs out of buffers.
void UringEngine::ask(Feed& feed) noexcept {
  io_uring_sqe* request = in_.next();
  feed.asked = request != nullptr;
  if (!feed.asked) return hungry_.push_back(feed.connection->feed - 1);
  io_uring_prep_recv_multishot(request, feed.connection->fd(), nullptr, 0, 0);
  request->flags |= IOSQE_BUFFER_SELECT;
  request->buf_group = BufferRing::kGroup;
  io_uring_sqe_set_data64(request, name_of(feed));
}

void UringEngine::cancel(const Feed& feed) noexcept {
  io_uring_sqe* request = feed.asked ? in_.next() : nullptr;
  if (request == nullptr) return;
  io_uring_prep_cancel64(request, name_of(feed), 0);
  io_uring_sqe_set_data64(request, kCancelled);
  submit();
}

// To be polled, once what came has been taken.
void UringEngine::leave(Feed& feed) noexcept {
  feed.phase = Phase::leaving;
  if (!feed.asked) return hand_over(feed);
  cancel(feed);
}

void UringEngine::hand_over(Feed& feed) noexcept {
  Connection& connection = *feed.connection;
  end(feed);
  connection.watched = PolledEngine::add(connection);
  poller_.change(connection.fd(), Watch::lane, connection.endpoint().watch_id(connection.lane()),
                 connection.watched | (connection.awaits_room ? uint32_t(EPOLLOUT) : 0U));
  PolledEngine::stirred(connection);
}

// What comes later in its name is dropped.
void UringEngine::end(Feed& feed) noexcept {
  free_.push_back(feed.connection->feed - 1);
  feed.connection->feed = 0;
  feed = Feed{nullptr, feed.generation + 1, Phase::none, false};
}

// The kernel's hold on the socket ends too, or closing it would not be seen by the peer.
void UringEngine::remove(Connection& connection) noexcept {
  Feed* feed = feed_of(connection);
  if (feed == nullptr) return PolledEngine::remove(connection);
  cancel(*feed);
  end(*feed);
}

void UringEngine::stirred(Connection& connection) noexcept {
  if (connection.feed == 0) PolledEngine::stirred(connection);
}

bool UringEngine::gives_at_once() const noexcept { return feeds_.size() - free_.size() < kTogether; }

void UringEngine::posted(Connection& connection, bool queued) noexcept {
  if (gives_at_once()) return PolledEngine::posted(connection, queued);
  wants_to_send(connection);
}

// While nothing is hot the ring says when epoll has something.
bool UringEngine::is_look_due() noexcept {
  const bool due = PolledEngine::is_look_due();
  return due && (!watching_ || hot_count() != 0 || polls_since_look() >= kLookAtLeast);
}

void UringEngine::looked(size_t events) noexcept {
  PolledEngine::looked(events);
  if (events != 0 || watching_ || hot_count() != 0) return;
  io_uring_sqe* request = in_.next();
  if (request == nullptr) return;
  io_uring_prep_poll_add(request, poller_.fd(), POLLIN);
  io_uring_sqe_set_data64(request, kWatched);
  submit();
  watching_ = true;
}

void UringEngine::submit() noexcept {
  ++counts.enters;
  io_uring_submit(in_.get());
}

Result<std::unique_ptr<Engine>> make_uring_engine(Poller& poller) {
  auto engine = std::make_unique<UringEngine>(poller);
  PLAIT_TRY(engine->start());
  return std::unique_ptr<Engine>(std::move(engine));
}

Status uring_status() {
  Poller poller;
  PLAIT_TRY(poller.open());
  return make_uring_engine(poller).status();
}

bool UringEngine::arm() noexcept { return !in_.has_news() && hungry_.empty() && PolledEngine::arm(); }

}  // namespace plait::transport::tcp
