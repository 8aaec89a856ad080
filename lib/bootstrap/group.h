// The ranks of a job, met and authenticated: a tree of connections over which they exchange bytes and hear of
// failures. No rank holds more than kChildren + 1 connections of it, and every exchange is O(log n) hops
// deep. How they meet is in docs/bootstrap.md, what that is worth against strangers in docs/security.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "bootstrap/crypto.h"
#include "bootstrap/meeting.h"
#include "bootstrap/membership.h"
#include "bootstrap/notice.h"
#include "bootstrap/subgroup.h"
#include "transport/exchange.h"

namespace plait::bootstrap {

// What every rank knows of each after joining.
struct Contact {
  std::string host;                // its host name, at most 64 bytes: for people
  int64_t pid = 0;                 // in its own PID name space: for people
  std::vector<Address> addresses;  // where it listens, best first; none when met over Unix sockets
  std::string door;                // the abstract Unix name where it listens, else empty
};

class Group final : public transport::Exchange {
 public:
  static constexpr int kChildren = 8;

  // Collective. Blocks until all ranks are there. Code::timeout names the ranks that did not come or got lost
  // on their way; Code::mismatch a size that differs or a rank given twice; Code::auth; Code::version;
  // Code::peer a rank that went away meanwhile; Code::invalid a membership or address that makes no sense;
  // Code::system, no descriptor left among them; Code::aborted. A failure is told to every rank that is in
  // the tree already.
  static Result<std::unique_ptr<Group>> join(const Membership&, const transport::Bounds&);

  // Closes all connections: to neighbours that did not leave, this rank is lost.
  ~Group() override;

  int rank() const noexcept override;
  int size() const noexcept override;

  // At most 64 MiB in all. After a failure, or the loss of a rank, every further one fails alike.
  Result<std::vector<Bytes>> allgather(ByteView mine, const transport::Bounds&) override;

  const Contact& contact(int rank) const;

  // A key for another use, which `label` names, alike on all ranks of this group and of no other: HKDF of its
  // secret. Nothing where it has none.
  std::optional<Key> derived_key(std::string_view label) const;

  // For a group of some ranks of this one (subgroup.h): what this rank tells the others of it.
  Result<Invitation> invite(uint16_t port_min, uint16_t port_max) const;
  // Collective over the subgroup's ranks, which all have the same cards. Blocks, and fails, as join() does;
  // this group is as it was. It may end before the subgroup, but not before unwatch().
  Result<std::unique_ptr<Group>> subgroup(Invitation mine, const Subgroup& what, Watch watch,
                                          const transport::Bounds& bounds) const;
  // What subgroup() was told to watch is not looked at any more.
  void unwatch() noexcept;

  // The rest never blocks. One thread at a time, which may change.

  // Moves everything that can move, a bounded amount. While meetings are connecting or wait_fd() is not
  // awaited, ten times a second is enough: it is also what dials again and ends the handshakes of strangers.
  void poll();
  // Readable when poll() has something to do.
  int wait_fd() const noexcept;

  // allgather() in pieces: begin() once all ranks know that the others take part, then poll() until
  // finished() has it or failed() is not ok.
  void begin(ByteView mine);
  std::optional<std::vector<Bytes>> finished();
  const Status& failed() const noexcept;
  // Why an exchange, or joining, is not done by now: who is missing, as far as this rank can know.
  Status missing() const;

  // Tells every other rank once. Where a rank of the tree is gone, its subtrees do not hear each other: they
  // all heard of the loss.
  void tell(const Notice& notice);
  // What another rank told, or a neighbour's end, in the order heard. 256 wait at most; then new ones are
  // dropped.
  std::optional<Notice> heard();

  // A barrier that ends the group: leave() is this rank's word, all_left() is everybody's, and from then on
  // a closed connection is no loss.
  void leave();
  bool all_left() const noexcept;

  // Begins a conversation with `rank`, or takes up the one it began. Not with oneself.
  std::unique_ptr<Meeting> meet(int rank);
  // Ranks that dialed and wait for meet().
  std::vector<int> visitors() const;

 private:
  struct Parts;
  explicit Group(std::unique_ptr<Parts>) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace plait::bootstrap
