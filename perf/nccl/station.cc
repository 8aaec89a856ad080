#include "perf/nccl/station.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace plait::nccl_drive {
namespace {

constexpr unsigned kTestsToYield = 256,
                   kTestsToLook = 4096;  // empty tests between yields, and looks at the clock

// Empty polls: NCCL yields when it is idle, so that a plugin's own threads come to run.
class Spin {
 public:
  explicit Spin(const Side& side) : side_(side), end_(side.deadline()) {}
  // Something moved: the wait begins anew, at the next look.
  void moved() { polls_ = 0, renew_ = true; }
  Status idle(const char* what) {
    if (++polls_ % kTestsToYield == 0) ::sched_yield();
    if (polls_ % kTestsToLook != 0) return Status();
    if (std::exchange(renew_, false)) end_ = side_.deadline();
    return end_.passed() ? side_.late(std::string(what) + " was not done") : Status();
  }

 private:
  const Side& side_;
  Deadline end_;
  unsigned polls_ = 0;
  bool renew_ = false;
};

}  // namespace

Status Station::open(Channel& channel, size_t comms, size_t most) {
  room_ = std::max(most, kLeastRoom);
  comms_.resize(comms);
  for (Comm& comm : comms_) {
    PLAIT_TRY(meet(side_, channel, &comm.link));
    out_.push_back(std::make_unique<Memory>(room_));
    in_.push_back(std::make_unique<Memory>(room_));
    fill_message(out_.back()->data(), room_, 1);
    Net& net = side_.net();
    PLAIT_TRY(side_.said(
        net.reg_mr(comm.link.send, out_.back()->data(), room_, nccl::pointer_host, &comm.send_memory),
        "regMr"));
    PLAIT_TRY(side_.said(
        net.reg_mr(comm.link.receive, in_.back()->data(), room_, nccl::pointer_host, &comm.receive_memory),
        "regMr"));
  }
  return Status();
}

Status Station::close() {
  for (Comm& comm : comms_) {
    PLAIT_TRY(side_.said(side_.net().dereg_mr(comm.link.send, comm.send_memory), "deregMr"));
    PLAIT_TRY(side_.said(side_.net().dereg_mr(comm.link.receive, comm.receive_memory), "deregMr"));
    PLAIT_TRY(side_.close(comm.link));
  }
  return Status();
}

Status Station::post(Comm& comm, bool is_send, size_t index, size_t bytes, void** request) {
  const auto which = size_t(&comm - comms_.data());
  void* data = (is_send ? *out_[which] : *in_[which]).data() + place_of(index, bytes, room_);
  int tag = 0;
  *request = nullptr;
  return side_.said(
      is_send ? side_.net().isend(comm.link.send, data, bytes, tag, comm.send_memory, request)
              : side_.net().irecv(comm.link.receive, 1, &data, &bytes, &tag, &comm.receive_memory, request),
      is_send ? "isend" : "irecv");
}

Status Station::finish(void** request, bool* done) {
  int is_done = 0, size = 0;
  const NcclResult result = side_.net().test(*request, &is_done, &size);
  *done = is_done != 0;
  if (*done) *request = nullptr;
  return result == NcclResult::success ? Status() : side_.said(result, "test");
}

Status Station::wait(Comm& comm, bool is_send, size_t bytes) {
  void* request = nullptr;
  Spin spin(side_);
  while (request == nullptr) {
    PLAIT_TRY(post(comm, is_send, 0, bytes, &request));
    if (request == nullptr) PLAIT_TRY(spin.idle(is_send ? "isend" : "irecv"));
  }
  for (bool done = false; !done;) {
    PLAIT_TRY(finish(&request, &done));
    if (!done) PLAIT_TRY(spin.idle(is_send ? "a send" : "a receive"));
  }
  return Status();
}

// A plugin that moves nothing is fast. Of what came into the first slot the first bytes and the last are
// looked at: more would cost time that is measured.
Status Station::arrived(size_t which, size_t bytes) const {
  constexpr size_t kSample = 64;
  const size_t last = (bytes - 1) / kSample * kSample;
  const unsigned char *in = in_[which]->data(), *out = out_[which]->data();
  if (std::memcmp(in, out, std::min(bytes, kSample)) == 0 &&
      std::memcmp(in + last, out + last, bytes - last) == 0)
    return Status();
  return Status(Code::mismatch, "messages of " + std::to_string(bytes) +
                                    " bytes were done, and their memory holds other bytes than were sent");
}

Status Station::lead_ping(size_t bytes, size_t count, std::vector<double>* half_us) {
  Comm& comm = comms_.front();
  for (size_t i = 0; i < count; ++i) {
    const int64_t start = now_ns();
    void *send = nullptr, *receive = nullptr;
    bool sent = false, received = false;
    Spin spin(side_);
    while (!sent || !received) {
      if (receive == nullptr && !received) PLAIT_TRY(post(comm, false, 0, bytes, &receive));
      if (send == nullptr && !sent) PLAIT_TRY(post(comm, true, 0, bytes, &send));
      if (send != nullptr) PLAIT_TRY(finish(&send, &sent));
      if (receive != nullptr) PLAIT_TRY(finish(&receive, &received));
      PLAIT_TRY(spin.idle("a ping-pong"));
    }
    half_us->push_back(double(now_ns() - start) / 2e3);
  }
  return arrived(0, bytes);
}

Status Station::follow_ping(size_t bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    PLAIT_TRY(wait(comms_.front(), false, bytes));
    PLAIT_TRY(wait(comms_.front(), true, bytes));
  }
  return arrived(0, bytes);
}

Status Station::stream(bool is_send, size_t bytes, size_t count, size_t window) {
  for (Comm& comm : comms_) {
    comm.requests.assign(window, nullptr);
    comm.posted = comm.done = 0;
  }
  Spin spin(side_);
  for (size_t ended = 0; ended < comms_.size();) {
    bool moved = false;
    for (Comm& comm : comms_) {
      if (comm.done == count) continue;
      while (comm.posted < count && comm.posted - comm.done < window) {
        void** request = &comm.requests[comm.posted % window];
        PLAIT_TRY(post(comm, is_send, comm.posted % window, bytes, request));
        if (*request == nullptr) break;
        ++comm.posted;
      }
      while (comm.done < comm.posted) {  // the oldest first, as NCCL does
        bool done = false;
        PLAIT_TRY(finish(&comm.requests[comm.done % window], &done));
        if (!done) break;
        ++comm.done;
        moved = true;
      }
      if (comm.done == count) ++ended;
    }
    if (moved)
      spin.moved();
    else
      PLAIT_TRY(spin.idle(is_send ? "a stream of sends" : "a stream of receives"));
  }
  return Status();
}

Status Station::lead_stream(size_t bytes, size_t count, size_t window) {
  PLAIT_TRY(stream(true, bytes, count, window));
  return wait(comms_.front(), false, 8);
}

Status Station::follow_stream(size_t bytes, size_t count, size_t window) {
  PLAIT_TRY(stream(false, bytes, count, window));
  for (size_t i = 0; i < comms_.size(); ++i) PLAIT_TRY(arrived(i, bytes));
  return wait(comms_.front(), true, 8);
}

}  // namespace plait::nccl_drive
