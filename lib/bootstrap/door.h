// Where a rank is dialed: listeners, the handshakes in progress at them, and what becomes of strangers.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/link.h"
#include "bootstrap/messages.h"
#include "bootstrap/self.h"

namespace plait::bootstrap {

// A rank of this job and epoch that proved itself, meant this rank and said hello.
struct Arrival {
  std::unique_ptr<Link> link;
  Hello hello;
  int32_t rank() const noexcept { return link->claim().dialer; }
  Purpose purpose() const noexcept { return Purpose(link->claim().purpose); }
};

// Nothing here waits for anybody. Whoever did not prove itself within kPatience is cut off, at most limit()
// may try at once, and when more come the one that tries longest gives way: who knows the secret needs a
// moment only.
class Door {
 public:
  static constexpr int64_t kPatienceMs = 5'000, kGiveWayMs = 500, kLingerMs = 2'000;
  static constexpr int kAcceptAtOnce = 64;
  static constexpr size_t kMostLogged = 64;

  Door(const Self& self, Poller& poller);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door();

  // `known`: rank 0's well-known one, which ends with joining.
  Status open(Fd listener, bool known);
  void close_known();

  void poll();
  std::optional<Arrival> next();

  // Tells why not, and lets the link go once that is read.
  void refuse(std::unique_ptr<Link> link, const Refusal& refusal);
  // Lets a link go once what was sent is read.
  void let_go(std::unique_ptr<Link> link);
  bool all_flushed() const noexcept;

  // For the error of a join that failed: who was refused last and why, and that descriptors ran out. May be
  // empty.
  std::string hint() const;
  // Where those who arrived reached this rank, without ports: so others can.
  const std::vector<Address>& reached() const noexcept { return reached_; }
  size_t limit() const noexcept { return limit_; }
  size_t trying() const noexcept { return trying_.size(); }

 private:
  struct Listener final : Polled {
    Fd fd;
    uint64_t id = 0;
    bool known = false, waiting = false;
    void ready() override { waiting = true; }
  };
  void take_in(Listener& listener);
  bool admit(Fd fd, const Address& from);
  bool make_room(bool anyhow);
  void pause(bool paused);
  // True: still trying.
  bool look_at(std::unique_ptr<Link>& link);
  void judge(std::unique_ptr<Link> link, const Hello& hello);
  void stranger(const std::string& who, const Status& why);

  const Self& self_;
  Poller& poller_;
  const size_t limit_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  bool paused_ = false;
  std::deque<std::unique_ptr<Link>> trying_;   // oldest first
  std::deque<std::unique_ptr<Link>> leaving_;  // oldest first, finished at the time in leaving_since_
  std::deque<int64_t> leaving_since_;
  std::deque<Arrival> arrivals_;
  std::vector<Address> reached_;
  std::set<std::string> logged_;
  std::string last_refused_, shortage_;
};

}  // namespace plait::bootstrap
