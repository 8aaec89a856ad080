// Somebody who dials a rank and is no rank.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/file.h"
#include "bootstrap/handshake.h"
#include "bootstrap/resolve.h"
#include "bootstrap/socket.h"
#include "rig.h"

namespace plait::bootstrap::test {

// The first place of "host:port", numeric.
Place place_of(const std::string& root);
// A blocking connection with time limits; waits for a listener up to 5 s.
Fd dial(const Place& place);
bool send_all(const Fd& fd, ByteView bytes);
// Up to `most` bytes, until the other side closes or `ms` pass.
Bytes receive_all(const Fd& fd, size_t most, int ms = 5'000);
// Did the other side end the connection within `ms`?
bool was_closed(const Fd& fd, int ms);

// What passes between a rank and its listener, byte for byte both ways: a proxy that records.
class Recorder {
 public:
  explicit Recorder(const Place& to);
  ~Recorder();
  std::string root() const;
  // Of all connections; by connection, from the dialer.
  Bytes all() const;
  std::vector<Bytes> dialed() const;

 private:
  void serve();
  void carry(Fd from);
  Place to_;
  Fd listener_;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  Bytes all_;
  std::vector<Bytes> dialed_;
  std::vector<std::thread> threads_;
  std::thread server_;
};

}  // namespace plait::bootstrap::test
