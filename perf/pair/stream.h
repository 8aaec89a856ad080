// One side's part in a bandwidth measurement of one size: it sends, takes in, or both.
#pragma once

#include <cstdint>
#include <memory>

#include "perf/pair/session.h"
#include "perf/pair/statistics.h"

namespace plait::perf::pair {

// What all streams of a measurement are made for.
struct Load {
  size_t bytes = 0;
  uint64_t count = 0;  // of each lane; 0: until it is stopped
};

class Stream {
 public:
  virtual ~Stream() = default;
  // Does what can be done now, without waiting. True: something moved.
  virtual bool step() = 0;
  // A transfer of this lane is done.
  virtual void done(size_t) {}
  // Nothing new is begun any more; what is under way is finished.
  virtual void stop() {}
  // All of it has been moved and, where it is checked, looked at.
  virtual bool finished() const = 0;
  // Messages that have arrived at the other side since the last call. Of senders only.
  virtual uint64_t arrived() { return 0; }
  uint64_t wrong() const noexcept { return wrong_; }

 protected:
  uint64_t wrong_ = 0;  // bytes
};

// Writes to the other side, or reads from it.
std::unique_ptr<Stream> make_writer(Session& session, const Load& load);
std::unique_ptr<Stream> make_reader(Session& session, const Load& load);
// Checks what a writer of the other side writes.
std::unique_ptr<Stream> make_write_checker(Session& session, const Load& load);
// What a reader of the other side expects here.
void offer_to_reader(Session& session, const Load& load);
// Messages, and who takes them.
std::unique_ptr<Stream> make_sender(Session& session, const Load& load);
std::unique_ptr<Stream> make_receiver(Session& session, const Load& load);

constexpr uint32_t kDataTag = 0;  // of messages that are measured
// Keeps Session::receives() of the longest messages posted on a lane.
void post_receives(Session& session, size_t lane);
// Takes the first receive of a lane, which is done, and says how many of its bytes are wrong where they are
// checked.
uint64_t take_received(Session& session, size_t lane, size_t bytes);

}  // namespace plait::perf::pair
