#include "collectives/machine/symbolic.h"

#include <spdlog/fmt/fmt.h>

#include <optional>

#include "collectives/machine/check.h"
#include "collectives/machine/execution.h"
#include "collectives/machine/value.h"

namespace plait::collectives {

namespace {

// Ranks first..first+count-1 are those that an output chunk is to hold the contributions of.
Range contributors(const Goal& goal, uint32_t n, uint32_t rank, uint32_t chunk, uint32_t chunks) {
  switch (goal.collective) {
    case Collective::broadcast:
    case Collective::scatter:
      return {uint32_t(goal.root), 1};
    case Collective::allgather:
    case Collective::gather:
      return {uint32_t((uint64_t{chunk + 1} * n - 1) / chunks), 1};  // part r of n holds it
    case Collective::alltoall:
      return {slot_of(goal.collective, Buffer::output, n, rank, chunk), 1};
    default:
      return {0, n};
  }
}

// "rank 1" or "ranks 1, 2, 3, ..."
std::string name_ranks(const std::vector<uint32_t>& ranks) {
  constexpr size_t kShown = 8;
  auto shown = std::span(ranks).first(std::min(kShown, ranks.size()));
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(shown, ", "),
                     ranks.size() > kShown ? ", ..." : "");
}

class Prover {
 public:
  Prover(const Goal& goal, std::span<const Program> programs)
      : goal_(goal), programs_(programs), n_(uint32_t(programs.size())) {}

  Status run(Proof& proof) {
    PLAIT_TRY(check_steps(goal_.collective, goal_.root, programs_));
    for (const Program& p : programs_) PLAIT_TRY(check_races(p));
    auto graph = Graph::make(programs_);
    if (!graph.ok()) return graph.status();
    graph_.emplace(std::move(*graph));
    PLAIT_TRY(find_order(proof));
    return goal_.collective == Collective::barrier ? prove_barrier(proof) : prove_values(proof);
  }

 private:
  uint32_t chunks() const { return programs_[0].chunks; }
  Range output(uint32_t rank) const {
    return output_of(goal_.collective, int(n_), int(rank), goal_.root, chunks());
  }
  Range expected(uint32_t rank, uint32_t chunk) const {
    return contributors(goal_, n_, rank, chunk, chunks());
  }
  // Of the values of chunk `chunk`: what each rank of `from` puts in.
  // Folded as one chain.
  static Fingerprint wanted(Range from, uint32_t chunk) {
    Fingerprint want = Fingerprint::atom(from.first, chunk);
    for (uint32_t q = from.first + 1; q < from.end(); q++) {
      want = Fingerprint::join(want, Fingerprint::atom(q, chunk), q + 1 < from.end() ? kChain : 0);
    }
    return want;
  }

  Status find_order(Proof& proof) {
    for (proof.min_credits = 0;; proof.min_credits++) {
      auto order = Order::make(*graph_, proof.min_credits);
      if (order.ok()) order_.emplace(std::move(*order));
      if (order.ok() || proof.min_credits == 1) return order.status();
    }
  }

  Status prove_values(Proof& proof) {
    Execution<Fingerprint> execution(goal_.collective, goal_.root, programs_, goal_.exact);
    PLAIT_TRY(execution.run(*graph_, *order_, [](const Fingerprint&) { return std::string(); }));
    proof.rank_order = proof.deterministic = true;
    for (uint32_t chunk = 0; chunk < chunks(); chunk++) PLAIT_TRY(check_chunk(execution, chunk, proof));
    for (const Program& p : programs_) {
      if (!p.rank_order || proof.rank_order) continue;
      return {Code::invalid,
              fmt::format("rank {} says that its program keeps the order of ranks: it does not", p.rank)};
    }
    return {};
  }

  // One chunk, in the outputs of all ranks.
  Status check_chunk(const Execution<Fingerprint>& execution, uint32_t chunk, Proof& proof) const {
    const bool alike = goal_.collective != Collective::alltoall;  // all ranks are to hold the same
    Fingerprint want = wanted(expected(0, chunk), chunk);
    std::optional<uint32_t> first;
    for (uint32_t rank = 0; rank < n_; rank++) {
      Range mine = output(rank);
      if (chunk < mine.first || chunk >= mine.end()) continue;
      if (!alike) want = wanted(expected(rank, chunk), chunk);
      const Fingerprint& have = execution.output(rank, chunk);
      if (have.empty() || have.contributions != want.contributions) return explain(rank, chunk);
      if (have.scalings != (reduces(goal_.collective) && n_ > 1 ? 1u : 0u))
        return explain_scaling(rank, chunk);
      proof.rank_order = proof.rank_order && have.sequence == want.sequence;
      proof.deterministic = proof.deterministic && have.tree == want.tree;
      if (alike && first && execution.output(*first, chunk).tree != have.tree)
        return explain_tree(*first, rank, chunk);
      if (!first) first = rank;
    }
    return {};
  }

  // Says by explicit counts what is wrong in an output, at the first step that makes something wrong if there
  // is one.
  Status explain(uint32_t rank, uint32_t chunk) const {
    Execution<Contributions> execution(goal_.collective, goal_.root, programs_, goal_.exact);
    PLAIT_TRY(execution.run(*graph_, *order_, [](const Contributions& sum) -> std::string {
      for (auto [q, times] : sum.entries) {
        if (times > 1) return fmt::format("holds rank {}'s contribution twice", q);
      }
      return {};
    }));
    PLAIT_TRY(compare(execution.output(rank, chunk), rank, chunk));
    return {Code::internal,
            fmt::format("rank {}: fingerprints of chunk {} contradict its contributions", rank, chunk)};
  }

  // That an output holds what it should. Barriers may hold it twice.
  Status compare(const Contributions& have, uint32_t rank, uint32_t chunk) const {
    if (have.empty()) return wrong(rank, chunk, "holds nothing");
    Range want = expected(rank, chunk);
    std::vector<uint32_t> missing, extra;
    auto entry = have.entries.begin();
    for (uint32_t q = 0; q < n_; q++) {
      bool held = entry != have.entries.end() && entry->rank == q, wanted = q >= want.first && q < want.end();
      if (held) entry++;
      if (wanted && !held) missing.push_back(q);
      if (held && !wanted) extra.push_back(q);
    }
    if (!missing.empty()) return wrong(rank, chunk, "lacks the contribution of " + name_ranks(missing));
    if (!extra.empty()) return wrong(rank, chunk, "holds a contribution of " + name_ranks(extra));
    return {};
  }

  Status explain_scaling(uint32_t rank, uint32_t chunk) const {
    if (!reduces(goal_.collective) || n_ == 1)
      return wrong(rank, chunk, "has a last fold, where avg scales: it needs none");
    return wrong(rank, chunk, "is never scaled by avg: no fold of it is flagged as the last");
  }

  Status explain_tree(uint32_t one, uint32_t other, uint32_t chunk) const {
    std::string how;
    if (n_ <= 16) {  // longer ones help nobody
      Execution<Expression> execution(goal_.collective, goal_.root, programs_, goal_.exact);
      PLAIT_TRY(execution.run(*graph_, *order_, [](const Expression&) { return std::string(); }));
      how = fmt::format(": {}, there {}", execution.output(other, chunk).text,
                        execution.output(one, chunk).text);
    }
    return wrong(other, chunk,
                 fmt::format("is associated otherwise than on rank {}, so bits may differ{}", one, how));
  }

  // Names the step that completed a chunk.
  Status wrong(uint32_t rank, uint32_t chunk, std::string what) const {
    const Program& p = programs_[rank];
    for (auto i = uint32_t(p.steps.size()); i-- > 0;) {
      const Step& s = p.steps[i];
      if (s.dst.in() != Buffer::output || chunk < s.chunk || chunk >= s.chunk + s.count) continue;
      return {Code::invalid, fmt::format("{}: chunk {} {}", describe(p, i), chunk, what)};
    }
    return {Code::invalid, fmt::format("rank {}: chunk {} {}; no step writes it", rank, chunk, what)};
  }

  Status prove_barrier(Proof& proof) const {
    Execution<Contributions> execution(goal_.collective, goal_.root, programs_, goal_.exact);
    PLAIT_TRY(execution.run(*graph_, *order_, [](const Contributions&) { return std::string(); }));
    for (uint32_t rank = 0; rank < n_; rank++) {
      for (uint32_t chunk = 0; chunk < chunks(); chunk++) {
        PLAIT_TRY(compare(execution.output(rank, chunk), rank, chunk));
      }
    }
    proof.rank_order = proof.deterministic = true;  // there is no operator
    return {};
  }

  const Goal& goal_;
  std::span<const Program> programs_;
  uint32_t n_;
  std::optional<Graph> graph_;
  std::optional<Order> order_;
};

}  // namespace

Proof prove(const Goal& goal, std::span<const Program> programs) {
  Proof proof;
  for (const Program& p : programs) proof.steps += p.steps.size();
  proof.status = Prover(goal, programs).run(proof);
  return proof;
}

}  // namespace plait::collectives
