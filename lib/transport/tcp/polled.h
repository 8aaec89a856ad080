// The engine that asks the sockets: those that gave something a moment ago at once, all others when epoll
// says so. Each send and each receive is a system call that never waits.
#pragma once

#include <array>
#include <vector>

#include "transport/tcp/engine.h"
#include "transport/tcp/poller.h"

namespace plait::transport::tcp {

constexpr uint32_t kReadable = EPOLLIN | EPOLLRDHUP;

class PolledEngine : public Engine {
 public:
  explicit PolledEngine(Poller& poller) noexcept : poller_(poller) {}
  std::string_view name() const noexcept override { return "polled sockets"; }
  void reserve(size_t connections) override {
    sending_.reserve(connections);
    held_.reserve(connections);
  }
  uint32_t add(Connection& connection) noexcept override;
  void remove(Connection& connection) noexcept override;
  void forget(TcpEndpoint& endpoint) noexcept override;
  void stirred(Connection& connection) noexcept override;
  void wants_to_send(Connection& connection) noexcept override;
  void posted(Connection& connection, bool queued) noexcept override;
  bool gives_at_once() const noexcept override { return true; }
  bool is_look_due() noexcept override;
  void looked(size_t /*events*/) noexcept override { looked_ = polls_; }
  void move(size_t& budget) noexcept override;
  bool drain(Connection& connection, size_t& budget) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return poller_.fd(); }

 protected:
  void receive(size_t& budget) noexcept;
  void send(size_t& budget) noexcept;
  void drop_sent() noexcept;             // of those that wanted to
  void count_run(size_t left) noexcept;  // bytes that left in one poll
  const std::vector<Connection*>& sending() const noexcept { return sending_; }
  size_t hot_count() const noexcept;
  size_t busy_count() const noexcept;  // of those, to which something came lately
  uint32_t polls_since_look() const noexcept { return polls_ - looked_; }

 private:
  static constexpr size_t kHot = 4;

  bool in_run() const noexcept;
  Connection* whose_turn() noexcept;
  void take_held(size_t& budget, size_t share) noexcept;
  void hold(Connection& connection) noexcept;
  void await_room(Connection& connection, bool on) noexcept;
  void tell(Connection& connection) noexcept;
  bool rewatch(Connection& connection) noexcept;
  void unwatch(Connection& connection) noexcept;

  Poller& poller_;
  std::vector<Connection*> sending_;       // with something to send
  std::vector<Connection*> held_;          // with more to receive, of which the kernel does not know
  std::array<Connection*, kHot> hot_{};    // received from without asking epoll
  std::array<Connection*, kTold> told_{};  // by epoll, to have something
  size_t told_count_ = 0;
  size_t connections_ = 0;
  size_t first_ = 0;      // of the sending, whose turn it is
  size_t run_ = 0;        // bytes that left since what is long was received,
  size_t came_ = 0;       // and that came since more than that was to leave
  size_t turn_ = 0;       // of the hot ones, the latest one that whose_turn() named
  bool crowded_ = false;  // epoll told of more than are hot
  uint32_t polls_ = 0, looked_ = 0;
};

}  // namespace plait::transport::tcp
