// Methods: the ways to do a collective among the ranks of one communicator. A row of the table of algorithms
// is one, and so is what was composed for its hosts, or imported for its ranks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collectives/algorithms.h"
#include "collectives/choice/outline.h"
#include "collectives/compose.h"
#include "collectives/machine/room.h"

namespace plait::collectives {

// Any root will do.
constexpr int32_t kAnyRoot = -1;

// A part of what a method costs, where that is a sum.
struct LevelOutline {
  Outline outline;
  LinkClass links = LinkClass::inside;  // that its messages go over
  double share = 1;                     // of the vector
  int together = 1;                     // ranks of a host that do it at the same time
};

struct Method {
  // What calls, tuning files and people name it by; no other method of the collective has the same. It ends
  // with a NUL and lives as long as the process (lasting()).
  std::string_view name, summary;
  Collective collective = Collective::barrier;
  int32_t ranks = 1;
  // Into how many chunks it cuts the vector.
  uint32_t chunks = 1;
  // Lanes that steps of any rank may use, 0 up to lanes - 1: all ranks share out their streams alike.
  uint32_t lanes = 1;
  // As of Algorithm.
  uint8_t min_credits[2] = {1, 1};
  bool rank_order = false;
  bool deterministic = false;
  bool all_meet = false;
  bool one_wire = false;

  // Whether it has programs out of place and in place. Neither: it does not go with so many ranks.
  bool has[2] = {true, true};
  // Each rank may be in place or not, whatever the others are: their programs understand each other. Without
  // it all ranks must have agreed on it, which they do not where one is apart (rooted()) or blocks are
  // uneven.
  bool mixes = true;
  // The other ranks can tell which program a rank runs, though they do not know whether it is in place: they
  // look there for where they may store (real::lower).
  bool foretold = true;
  // The only root that it has programs for, or kAnyRoot.
  int32_t root = kAnyRoot;

  // What it costs on paper, as a whole or level by level; neither: it is simulated (choice/).
  std::optional<Outline> outline = {};
  std::vector<LevelOutline> levels = {};
  // Of the table; null: it was added.
  const Algorithm* row = nullptr;
  // The program of one rank, with lanes, min_credits and rank_order set. Called when schedules are made, for
  // ranks, roots and places that it fits. Any thread.
  std::function<Program(int32_t rank, int32_t root, bool in_place)> build = {};

  // Of all methods of a communicator, from 0 on, rows first: alike on all its ranks. Set by Methods.
  uint32_t number = 0;

  // Whether it is fit for such a call. `in_place` is looked at where all ranks agree on it.
  bool fits(int32_t of_root, bool in_place, bool uneven) const noexcept {
    if (rooted(collective) && root != kAnyRoot && root != of_root) return false;
    return rooted(collective) || uneven ? has[0] && has[1] && mixes : has[in_place];
  }
  // Why not, where it does not: "has no program in place".
  std::string misfit(int32_t of_root, bool in_place, bool uneven) const;
};

// `text` for as long as the process lives, with a NUL behind it; the same address for the same text.
std::string_view lasting(std::string_view text);

// The row, for so many ranks.
Method method_of(const Algorithm& row, int32_t ranks);
// The composition under the name of its levels, say "ring/direct"; links[l]: what joins units at its level l.
// Code::unsupported: a reduce_scatter of more than two levels, of which some were found that deadlock where
// each chunk travels by itself (chunkwise.h).
Result<Method> method_of(std::shared_ptr<const Composition> composition, std::string_view name,
                         std::span<const LinkClass> links);
// The same where the innermost groups are hosts.
Result<Method> method_of(std::shared_ptr<const Composition> composition, std::string_view name);

// All that a communicator has. Addresses stay; reading needs no lock once all were added, and a signal
// handler may.
class Methods {
 public:
  // Those of the table.
  explicit Methods(int32_t ranks);
  Methods(const Methods&) = delete;
  Methods& operator=(const Methods&) = delete;

  // Code::invalid: the name is empty or taken, or it is for another number of ranks.
  Status add(Method method);

  int32_t ranks() const noexcept { return ranks_; }
  uint32_t size() const noexcept { return uint32_t(all_.size()); }
  const Method& operator[](uint32_t number) const noexcept { return all_[number]; }
  std::span<const Method* const> of(Collective collective) const noexcept { return by_[size_t(collective)]; }
  // nullptr when there is none of that name for that collective.
  const Method* find(Collective collective, std::string_view name) const noexcept;
  // Whether some method is for this root only.
  bool has_own(int32_t root) const noexcept;

 private:
  void append(Method method);

  const int32_t ranks_;
  std::deque<Method> all_;
  std::array<std::vector<const Method*>, kCollectives> by_;
};

}  // namespace plait::collectives
