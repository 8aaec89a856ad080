// Messages over one comm in one direction, each known before it is sent: posted in order, tested in some
// order, and looked at byte by byte when they are there.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "perf/nccl/side.h"

namespace plait::nccl_drive {

// Memory of whole pages, so that it can be forbidden; full of kUntouched at first.
inline constexpr unsigned char kUntouched = 0xd9;
class Memory {
 public:
  explicit Memory(size_t bytes);
  unsigned char* data() { return bytes_.get(); }
  size_t size() const { return size_; }
  // Whoever touches it from now on is killed by SIGSEGV; system calls fail.
  void forbid();
  void allow();
  // Whether [begin, end) holds only kUntouched.
  bool untouched(size_t begin, size_t end) const;
  void forget();  // fills it with kUntouched

 private:
  struct Free {
    void operator()(unsigned char* bytes) const { std::free(bytes); }
  };
  size_t size_;
  std::unique_ptr<unsigned char[], Free> bytes_;
};

// The bytes of message `id`.
void fill_message(unsigned char* to, size_t bytes, uint64_t id);
bool is_message(const unsigned char* at, size_t bytes, uint64_t id);

// A message as it is sent, and what a place in a receive must get.
struct Message {
  uint64_t id = 0;
  size_t bytes = 0;
  int tag = 0;
};
struct Place {
  Message message;
  size_t room = 0;  // the size that is posted, not less than the message's
};
using Group = std::vector<Place>;  // one irecv

// In which order requests are tested.
enum class Order { oldest, round_robin, newest };

// What is the same in both directions: requests that are posted in order and end in any.
class Flow {
 public:
  Flow(Side& side, void* comm, std::string who) : side_(side), comm_(comm), who_(std::move(who)) {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  virtual ~Flow() = default;

  // Registers the memory; `type`: of the pointers.
  Status prepare(int type = nccl::pointer_host);
  Status release();  // deregisters
  // Posts the next if fewer than `window` are outstanding; a null request is taken for "not yet".
  Status post();
  // One call of test.
  Status test(size_t index);
  // One call for the request whose turn it is.
  Status test(Order order);

  bool all_posted() const { return posted_ == count(); }
  bool done() const { return finished_ == count(); }
  bool done(size_t index) const { return requests_[index].done; }
  size_t posted() const { return posted_; }
  size_t outstanding() const { return posted_ - finished_; }
  virtual size_t count() const = 0;
  Memory& memory() { return *memory_; }
  void* registration() const { return registration_; }
  // What stands still, for a sentence: "test of receive 3 of 32".
  std::string waits_for() const;

  size_t window = nccl::max_requests;
  bool ask_size = true;              // else test's sizes is NULL
  bool size_of_sends = false;        // that test gives it for a send too is asked for
  bool optional_completion = false;  // irecv finds 0x1 in *request

 protected:
  virtual size_t room() const = 0;
  virtual NcclResult start(size_t index, void** request) = 0;
  virtual int places(size_t index) const = 0;
  virtual Status verify(size_t index, const int* sizes) = 0;

  Side& side_;
  void* comm_;
  std::string who_;
  void* registration_ = nullptr;
  std::unique_ptr<Memory> memory_;

 private:
  struct Request {
    void* handle = nullptr;
    bool done = false;
  };
  std::vector<Request> requests_;
  std::vector<int> sizes_;  // what test writes
  size_t posted_ = 0, finished_ = 0;
  size_t turn_ = 0, robin_ = 0;  // the oldest that is not done; the one tested last
};

class Sender final : public Flow {
 public:
  Sender(Side& side, void* comm, std::vector<Message> messages);
  size_t count() const override { return messages_.size(); }

 private:
  size_t room() const override;
  NcclResult start(size_t index, void** request) override;
  int places(size_t) const override { return 1; }
  Status verify(size_t index, const int* sizes) override;
  std::vector<Message> messages_;
  std::vector<size_t> at_;  // of each message in memory
};

class Receiver final : public Flow {
 public:
  Receiver(Side& side, void* comm, std::vector<Group> groups);
  size_t count() const override { return groups_.size(); }
  // Where a place's bytes come to be.
  unsigned char* place(size_t group, size_t index) { return memory_->data() + at_[group][index]; }

 private:
  size_t room() const override;
  NcclResult start(size_t index, void** request) override;
  int places(size_t index) const override { return int(groups_[index].size()); }
  Status verify(size_t index, const int* sizes) override;
  std::vector<Group> groups_;
  std::vector<std::vector<size_t>> at_;
};

// `count` messages of `bytes` each, ids from `first_id`.
std::vector<Message> messages(size_t count, size_t bytes, uint64_t first_id = 1);
// Receives of one place each for them.
std::vector<Group> singles(const std::vector<Message>& messages);

// How flows are driven to their end.
struct Drive {
  Order order = Order::round_robin;
  bool post_all_first = false;  // nothing is tested before all is posted
};
Status drive(Side& side, const std::vector<Flow*>& flows, Drive how = {});

// Of what test has to give the size.
enum class Sizes { none, of_receives, of_all };

// Both directions of a link to itself: sends and receives, to their end.
Status exchange(Side& side, const Link& link, const std::vector<Message>& sends, std::vector<Group> receives,
                Drive how = {}, Sizes sizes = Sizes::of_receives);
// A side with a link to itself, `work`, and all closed.
Status alone(const Job& job, Status (*work)(Side& side, const Link& link));
// A few messages, to see that a link works.
Status prove(Side& side, const Link& link, uint64_t id = 1);

}  // namespace plait::nccl_drive
