// One of the two processes of a measurement: connections to the other, and the two things it does over them.
#pragma once

#include <algorithm>
#include <vector>

#include "perf/nccl/flow.h"
#include "perf/nccl/peer.h"

namespace plait::nccl_drive {

// Of memory that messages in flight go through, a direction of a connection, at least.
constexpr size_t kLeastRoom = size_t{16} << 20;
// Where the index-th message of a stream of `bytes` each begins in `room` bytes: as NCCL's proxy does, those
// in flight have memory of their own, as far as it goes.
inline size_t place_of(size_t index, size_t bytes, size_t room) {
  return index % std::max(size_t{1}, room / bytes) * bytes;
}

class Station {
 public:
  explicit Station(Side& side) : side_(side) {}

  // `most`: bytes of the largest message.
  Status open(Channel& channel, size_t comms, size_t most);
  Status close();

  // Ping-pong on the first connection, `count` times; the leader writes the half round trips, in us.
  Status lead_ping(size_t bytes, size_t count, std::vector<double>* half_us);
  Status follow_ping(size_t bytes, size_t count);
  // `count` messages on every connection, `window` in flight on each, and an answer at the end.
  Status lead_stream(size_t bytes, size_t count, size_t window);
  Status follow_stream(size_t bytes, size_t count, size_t window);

 private:
  struct Comm {
    Link link;
    void *send_memory = nullptr, *receive_memory = nullptr;
    std::vector<void*> requests;  // the slot of each in flight
    size_t posted = 0, done = 0;
  };
  Status post(Comm& comm, bool is_send, size_t slot, size_t bytes, void** request);
  Status wait(Comm& comm, bool is_send, size_t bytes);
  Status finish(void** request, bool* done);
  Status arrived(size_t which, size_t bytes) const;
  Status stream(bool is_send, size_t bytes, size_t count, size_t window);

  Side& side_;
  size_t room_ = 0;  // bytes of the memory of a direction of a connection
  std::vector<Comm> comms_;
  std::vector<std::unique_ptr<Memory>> out_, in_;
};

}  // namespace plait::nccl_drive
