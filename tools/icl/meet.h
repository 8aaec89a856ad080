// How the two processes of a ping meet, on two machines maybe: over TCP they tell each other once what their
// ends are. Whoever can connect is trusted.
#pragma once

#include <cstdint>
#include <string>

#include "drivers/icl/icl.h"

namespace plait::icl {

struct Card {
  unsigned char ticket[ICL_TICKET_BYTES], key[ICL_KEY_BYTES];
  uint64_t bytes, count;  // what the one who joins wants measured
};

class Meeting {
 public:
  // Waits for one to join at `port` of any address, or joins at "HOST:PORT"; for a minute.
  static Meeting listen(uint16_t port);
  static Meeting join(const std::string& where);
  Meeting(Meeting&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ~Meeting();

  void say(const Card& card) const;
  Card hear() const;
  void ready() const;  // returns once both called it

 private:
  explicit Meeting(int fd) noexcept : fd_(fd) {}
  void send_all(const void* what, size_t bytes) const;
  void receive_all(void* what, size_t bytes) const;
  int fd_;
};

}  // namespace plait::icl
