// Two sides that are connected: a domain, connections (lanes) to the other side, and memory on both.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/wait.h"
#include "perf/pair/buffer.h"
#include "perf/pair/control.h"
#include "perf/progress.h"
#include "transport/message.h"
#include "transport/transport.h"

namespace plait::perf::pair {

// Counters of an endpoint. TCP keeps what is short (even) from waiting behind what is long (odd); messages
// have the first two for themselves.
constexpr uint16_t kShortCounter = 0, kLongCounter = 1, kCreditCounter = 2, kCounters = 4;
constexpr size_t kShortBytes = 4096;

struct Lane {
  std::unique_ptr<transport::Endpoint> endpoint;
  std::unique_ptr<transport::RemoteRegion> remote, remote_letters;
  // Of send only. Receives stay posted from one size to the next: there is no other way to be rid of them.
  std::unique_ptr<transport::MessageLink> messages;
  std::deque<transport::MessageRequest*> receives;
  uint64_t sent = 0, posted = 0, taken = 0;  // messages, from the beginning
};

class Session {
 public:
  // Both sides call it. `domain`: what -d names.
  static Result<std::unique_ptr<Session>> open(const Options& options,
                                               std::unique_ptr<transport::Domain> domain, bool shared,
                                               Control& control);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options& options() const noexcept { return options_; }
  Control& control() noexcept { return control_; }
  Progress& progress() noexcept { return progress_; }
  const transport::Capabilities& capabilities() const noexcept { return domain_->capabilities(); }
  std::string_view device() const noexcept { return domain_->name(); }
  size_t lanes() const noexcept { return lanes_.size(); }
  Lane& lane(size_t i) noexcept { return lanes_[i]; }
  // Messages under way on a lane, alike on both sides.
  uint32_t depth() const noexcept { return depth_; }
  // Of messages, posted on a lane.
  uint32_t receives() const noexcept {
    const uint32_t asked = options_.rx_depth != 0 ? options_.rx_depth : depth_;
    return options_.validate ? std::min(asked, slots_) : asked;
  }
  // Places for messages in the memory of a lane: several where each message is checked, else one.
  uint32_t slots() const noexcept { return slots_; }

  // Where a lane's messages come to, or are read from by the other side; where they leave from, or are read
  // to.
  size_t most_bytes() const noexcept { return options_.sizes.back(); }
  transport::LocalSlice in(size_t lane, uint64_t slot, size_t bytes) const noexcept;
  transport::LocalSlice out(size_t lane, uint64_t slot, size_t bytes) const noexcept;
  // The other side's in().
  transport::RemoteSlice there(size_t lane, uint64_t slot, size_t bytes) const noexcept;
  // Names a stream of bytes for fill(): that of a lane, to or from the other side.
  uint64_t stream(size_t lane, bool incoming) const noexcept {
    return 2 * lane + uint64_t(incoming == control_.server());
  }

  // Polls once; `done(lane)` for each transfer whose cookie is transfer_cookie(lane). True: something came.
  template <class Done>
  bool harvest(Done&& done) noexcept;
  static uint64_t transfer_cookie(size_t lane) noexcept { return kTransfers + lane; }
  // Moves messages on; true when something moved.
  bool move_messages() noexcept;

  // After a turn in which nothing moved: relaxes, yields or, with -e, sleeps. Code::peer and Code::timeout
  // when there is nothing to wait for any more.
  Status rest();
  // After turns in which something moved. With the time it says, now and then, that this side is alive.
  void moved() noexcept { idle_ = 0, fresh_ = true; }
  Status pulse(int64_t now);
  // Polls until `there`. False, if it may end: the other side says that it is done, so nothing more will
  // come.
  template <class There>
  Result<bool> await(There&& there, bool may_end = false);
  // Once all is measured: who lets go first is no death to the other.
  Status part();
  // What of this side or of a lane has failed so far.
  Status health();
  // For Control::hear(): serves the other side while it is waited for. `step`: this side's part in it, if it
  // has one; true: something moved.
  Status serve(const std::function<bool()>& step = {});

 private:
  static constexpr uint64_t kTransfers = 16;  // below: cookies of endpoints
  static constexpr uint64_t kMessages = uint64_t{1} << 32;
  static constexpr size_t kHarvest = 256;

  Session(const Options& options, std::unique_ptr<transport::Domain> domain, Control& control)
      : options_(options), control_(control), domain_(std::move(domain)), shared_(false) {}
  Status connect();
  Status agree_on_depth();
  Status make_memory();
  Status swap_keys();
  Status import_into(Lane& lane, const Bytes& key, const Bytes& letters);
  Status during_import(const Status& why) const;
  Status make_messages();
  Status check_capabilities() const;
  size_t lane_bytes() const noexcept { return size_t{slots_} * stride_; }
  void message_done(const transport::Done& done) noexcept;
  Status look(int64_t now);
  Status sleep();

  const Options& options_;
  Control& control_;
  std::unique_ptr<transport::Domain> domain_;
  Progress progress_;
  bool shared_;
  uint32_t depth_ = 1, slots_ = 1;
  size_t stride_ = 0;
  std::vector<Buffer> buffers_;  // before what names them
  std::byte *in_ = nullptr, *out_ = nullptr, *letters_ = nullptr, *shadows_ = nullptr;
  std::unique_ptr<transport::Region> in_region_, out_region_, letters_region_, shadows_region_;
  std::vector<Lane> lanes_;
  std::array<transport::Done, kHarvest> dones_;
  bool failed_ = false;  // a Done said so: health() knows more
  uint32_t idle_ = 0;
  bool fresh_ = true;  // something moved since the clock was read
  int64_t next_look_ns_ = 0, moved_ns_ = 0;
};

template <class F>
bool Session::harvest(F&& done) noexcept {
  const size_t count = domain_->poll(dones_);
  for (size_t i = 0; i < count; i++) {
    const transport::Done& one = dones_[i];
    if (one.cookie >= kMessages) {
      message_done(one);
    } else if (one.status != Code::ok || one.cookie < kTransfers) {
      failed_ = true;
    } else {
      done(size_t(one.cookie - kTransfers));
    }
  }
  return count != 0;
}

template <class There>
Result<bool> Session::await(There&& there, bool may_end) {
  const bool messages = lanes_.front().messages != nullptr;
  for (;;) {
    harvest([](size_t) {});
    if (messages) move_messages();
    if (there()) {
      moved();
      return true;
    }
    PLAIT_TRY(rest());
    if (may_end && control_.next_is(Kind::done)) return bool(there());
  }
}

}  // namespace plait::perf::pair
