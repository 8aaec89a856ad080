// The tree of a group: how ranks get into it, and what goes up and down it.
//
// Every rank dials rank 0, which keeps the first kChildren and sends the others on to one of these, in turn,
// where they are kept or sent on again: a tree of depth O(log n) whose root has seen every rank. Exchange 0
// is everybody's Contact; with it, joining is done. Where contacts are known before (plan()), the parent of
// rank r is (r - 1) / kChildren instead.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/dialer.h"
#include "bootstrap/door.h"
#include "bootstrap/messages.h"
#include "bootstrap/self.h"

namespace plait::bootstrap {

class Tree {
 public:
  static constexpr size_t kMostHeard = 256;

  // `mine` lacks addresses where these are only known once a connection exists: `port` is where this rank
  // listens.
  Tree(const Self& self, Poller& poller, Door& door, Contact mine, uint16_t port);

  // One of these, once: rank 0 may be at these places; or, everybody is known.
  void seek(std::vector<Place> root);
  void plan(std::vector<Contact> contacts);
  // Rank 0's places anew: its name may mean something else by now.
  void seek_again(std::vector<Place> root);

  void arrive(Arrival arrival);
  void poll();
  // Until poll() has something to do that no descriptor tells.
  int idle_ms() const noexcept;

  bool joined() const noexcept { return !contacts_.empty(); }
  const std::vector<Contact>& contacts() const noexcept { return contacts_; }
  bool has_parent() const noexcept { return self_.rank == 0 || parent_.link != nullptr; }
  // For the deadline: who is missing, as far as this rank can know.
  Status missing() const;

  // Not ok once joining or an exchange failed or a rank was lost, here or anywhere.
  const Status& failed() const noexcept { return failed_; }
  // Fails, and tells all.
  void fail(const Status& why);

  // One exchange after the other. begin() gives this rank's bytes.
  void begin(ByteView mine);
  std::optional<std::vector<Bytes>> finished() { return std::exchange(result_, std::nullopt); }

  void tell(Notice notice);
  std::optional<Notice> heard();
  void leave();
  bool all_left() const noexcept { return all_left_ && all_flushed(); }
  bool all_flushed() const noexcept;

 private:
  struct Neighbour {
    int32_t rank = -1;
    uint64_t instance = 0;
    Contact contact;
    std::unique_ptr<Link> link;
    bool left = false;
  };

  // tree_join.cc
  void introduce_root();
  void climb();
  void ask(std::unique_ptr<Link> link);
  void hear_answer(ByteView message);
  void follow(const Redirect& redirect);
  void restart(const Status& why);
  void adopt(Arrival arrival);
  void redirect(Arrival arrival, int32_t to);
  Neighbour* child(int32_t rank);
  Status objection(const Arrival& arrival) const;
  Status missing_ranks() const;
  std::string advice(const std::string& begin) const;

  // tree.cc
  void pump(Neighbour& from);
  void handle(Neighbour& from, ByteView message);
  void lost(Neighbour& neighbour);
  void flood(ByteView message, const Neighbour* except);
  void hear(const Notice& notice);
  void check_left();
  void say_all_left();

  // tree_exchange.cc
  bool take_up(ByteView message);
  bool take_down(ByteView message);
  void add(const Bundle::Item& item);
  void send_up();
  void complete();
  void finish_round(std::vector<Bytes> all);

  const Self& self_;
  Poller& poller_;
  Door& door_;
  Contact mine_;
  const uint16_t port_;

  // Getting in.
  std::vector<Place> root_;
  std::optional<Dialer> dialer_;
  Neighbour target_;  // whom dialer_ dials, or who was asked to be the parent
  Status refused_;    // why one had to begin again, the last time
  int restarts_ = 0, hops_ = 0;
  bool planned_ = false;

  Neighbour parent_;
  std::deque<Neighbour> children_;
  size_t next_child_ = 0;
  struct Seen {
    uint64_t instance = 0;  // 0: never
    int32_t sent_to = -1;   // the child that it was sent on to
    std::string who;
  };
  std::vector<Seen> seen_;         // who arrived here, by rank
  std::string mismatch_;           // the last rank that was refused though it knew the secret
  std::vector<Contact> contacts_;  // of all; empty until joined

  // The exchange under way. Rank 0 collects; the others pass on.
  uint32_t round_ = 0;
  bool begun_ = false;
  std::vector<Bytes> slots_;
  std::vector<bool> have_;
  int32_t arrived_ = 0;
  size_t collected_ = 0;
  std::vector<Bytes> going_up_;
  std::optional<std::vector<Bytes>> result_;

  Status failed_;
  std::deque<Notice> heard_;
  bool leaving_ = false, said_left_ = false, all_left_ = false;
};

}  // namespace plait::bootstrap
