// Conversations of two ranks, and who dials for them.
//
// Either side may dial. Where both do, the lower rank's connection is used: the higher one takes what arrives
// instead of its own, the lower one tells the other to wait. Meetings of two ranks are numbered, so that a
// connection that comes late is not taken for a new conversation.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "bootstrap/dialer.h"
#include "bootstrap/door.h"
#include "bootstrap/meeting.h"

namespace plait::bootstrap {

struct MeetingState {
  int32_t rank = -1;
  uint64_t number = 0;
  Meeting::State state = Meeting::State::connecting;
  Status status;
  std::unique_ptr<Dialer> dialer;
  std::unique_ptr<Link> link;  // dialed and not taken up yet, or open
  std::deque<Bytes> in, out;   // out: until it is open
  size_t queued_in = 0, queued_out = 0;
  bool dropped = false;  // the Meeting is gone

  void fail(Status why);
};

class Meetings {
 public:
  static constexpr int kMostRounds = 5;  // an address that refuses that often is dead

  Meetings(const Self& self, Poller& poller, Door& door);
  ~Meetings();

  void arrive(Arrival arrival);
  std::unique_ptr<Meeting> meet(int32_t rank, const Contact& contact);
  void poll();
  std::vector<int> visitors() const;
  int idle_ms() const noexcept;

 private:
  struct Visitor {
    std::unique_ptr<Link> link;
    uint64_t number;
  };
  void dial(MeetingState& meeting, int64_t delay_ms);
  void take_up(MeetingState& meeting, Visitor visitor);
  void opened(MeetingState& meeting);
  void progress(MeetingState& meeting);
  void hear_answer(MeetingState& meeting, ByteView message);
  void hear(MeetingState& meeting);
  MeetingState* connecting(int32_t rank);

  const Self& self_;
  Poller& poller_;
  Door& door_;
  std::vector<std::shared_ptr<MeetingState>> meetings_;
  std::map<int32_t, Visitor> visitors_;
  std::map<int32_t, uint64_t> last_;  // the number of the last conversation with each rank
  std::map<int32_t, Contact> contacts_;
};

}  // namespace plait::bootstrap
