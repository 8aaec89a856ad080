// A peer made of bare sockets, which says what a test wants it to say.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include "rig.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/link.h"
#include "transport/tcp/socket.h"

namespace plait::transport::tcp::test {

// What a raw peer can speak to, and whose calls to the kernel a test knows, whatever PLAIT_TEST_TCP says.
inline Options polled(size_t send_buffer = 0) {
  Options options = loopback();
  options.engine = EngineKind::polled;
  options.tls = nullptr;
  options.send_buffer = send_buffer;
  return options;
}

// A connection to `to`, without a word.
inline Fd call(const Address& to) {
  Fd fd = dial(to, to);
  EXPECT_TRUE(bool(fd));
  return fd;
}

// Whether the other side ended `socket` within the limit, whatever it said before; `domain` is polled.
inline bool hung_up(Domain& domain, const Fd& socket, int64_t limit_ms = kLimitMs) {
  for (Deadline deadline = Deadline::in_ms(limit_ms); !deadline.passed();) {
    domain.poll({});
    std::byte bytes[4096];
    const ssize_t got = recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != ENOTCONN)) return true;
  }
  return false;
}

// The dialing side of a link to `side`'s endpoint: its ticket is the smaller one.
struct RawPeer {
  Ticket ticket;
  Fd listener, lanes[2], pulse;
  Side& side;

  explicit RawPeer(Side& to) : side(to) {
    const Ticket theirs = ticket_of(*side.end);
    ticket = theirs;
    ticket.domain = 0;
    ticket.bulk_lanes = 1;
    ticket.endpoint = random_word();
    for (Token& token : ticket.tokens) token = random_token();
    Address address = theirs.addresses[0];
    listener = std::move(listen_on(address, {}).value());
    ticket.addresses[0] = address;
    ticket.sum = sum_of(ticket);
  }
  bool greet(size_t lane) {
    const Ticket theirs = ticket_of(*side.end);
    lanes[lane] = call(theirs.addresses[0]);
    return poll_until([&] {
      return error_of(lanes[lane].get()) == 0 &&
             say_hello(lanes[lane].get(), HelloKind::hello, Lane(lane), ticket.endpoint, theirs.endpoint,
                       theirs.tokens[lane], "raw");
    });
  }
  bool connect() {
    EXPECT_TRUE(side.end->connect(bytes_of(ticket)).ok());
    EXPECT_TRUE(greet(0) && greet(1));
    Address from;
    EXPECT_TRUE(poll_until([&] { return bool(pulse = accept_from(listener.get(), from)); }));
    Hello hello;
    EXPECT_TRUE(take(pulse, &hello, sizeof hello));
    EXPECT_TRUE(say_hello(pulse.get(), HelloKind::answer, Lane::pulse, ticket.endpoint, nonce(),
                          ticket_of(*side.end).tokens[size_t(Lane::pulse)], "raw"));
    EXPECT_TRUE(take(lanes[0], &hello, sizeof hello) && take(lanes[1], &hello, sizeof hello));
    return poll_until([&] { return side.end->state() == State::ready; });
  }
  uint64_t nonce() const { return ticket_of(*side.end).endpoint; }
  bool poll_until(const std::function<bool()>& done) {
    for (Deadline deadline = Deadline::in_ms(kLimitMs); !done(); side.poll()) {
      if (deadline.passed()) return false;
    }
    return true;
  }
  void say(size_t lane, const void* bytes, size_t n) {
    EXPECT_EQ(send(lanes[lane].get(), bytes, n, MSG_NOSIGNAL), ssize_t(n));
  }
  void say(size_t lane, const Header& h) { say(lane, &h, sizeof h); }
  // Exactly `n` bytes.
  bool take(Fd& from, void* to, size_t n) {
    size_t have = 0;
    return poll_until([&] {
      const ssize_t got = recv(from.get(), static_cast<std::byte*>(to) + have, n - have, MSG_DONTWAIT);
      if (got > 0) have += size_t(got);
      return have == n;
    });
  }
};

}  // namespace plait::transport::tcp::test
