// Groups of some ranks of a group that exists, without meeting anew at a place that all know: each rank opens
// a listener and hands its card to the others over the group; then the ranks of the subgroup dial each other
// as the cards say. Its secret comes from the group's and all these cards, so nobody else can join, and none
// of it is ever sent. docs/bootstrap.md, docs/security.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace plait::bootstrap {

struct Own;

// This rank's listener for one subgroup. Closed when it goes.
class Invitation {
 public:
  Invitation(std::unique_ptr<Own> own, Bytes card) noexcept;
  Invitation(Invitation&&) noexcept;
  ~Invitation();
  // What the other ranks need: where this one listens, and a fresh nonce. To be handed to them over the
  // group, whose messages nobody else can change.
  const Bytes& card() const noexcept { return card_; }

 private:
  friend class Group;
  std::unique_ptr<Own> own_;
  Bytes card_;
};

struct Subgroup {
  std::string name;          // what to call it: appended to the job's name
  uint64_t number = 0;       // of one group, never the same twice
  int32_t rank = 0;          // this rank's in the subgroup
  std::vector<Bytes> cards;  // of all its ranks, in their order there
};

// What else to look after while a subgroup's ranks wait for each other. look() is called when `fd` is
// readable, and some twenty times a second; what it returns, when not ok, ends the wait and is told to the
// others.
struct Watch {
  int fd = -1;
  std::function<Status()> look;
};

}  // namespace plait::bootstrap
