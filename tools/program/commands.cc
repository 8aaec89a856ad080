#include "tools/program/commands.h"

#include <cstdio>

#include "collectives/exchange/json.h"
#include "collectives/exchange/svg.h"
#include "collectives/exchange/trace.h"
#include "tools/program/source.h"

namespace plait::program {

using namespace collectives;
using exchange::Admitted;
using exchange::ProgramSet;
using exchange::Rounds;

namespace {

std::string title(const ProgramSet& set) {
  return set.name + " " + std::string(name_of(set.collective)) + ", " + std::to_string(set.ranks()) +
         (set.ranks() == 1 ? " rank" : " ranks");
}

Status list(const Options& o) {
  Collective only{};
  if (!o.words.empty() && !exchange::find_collective(o.words[0], only))
    return {Code::invalid, "there is no collective '" + o.words[0] + "'"};
  for (const Algorithm& a : algorithms()) {
    if (!o.words.empty() && a.collective != only) continue;
    std::printf("%-15s %-20s %.*s\n", std::string(name_of(a.collective)).c_str(), std::string(a.name).c_str(),
                int(a.summary.size()), a.summary.data());
  }
  return {};
}

// The variant that is asked for, or the one that there is.
Result<bool> variant(const ProgramSet& set, const Options& o) {
  if (set.has(o.in_place)) return o.in_place;
  if (!o.in_place) return true;
  return Status(Code::invalid, title(set) + " has no programs for calls in place");
}

void print(const Program& p) {
  std::printf("rank %d: %u chunks, %u slots of scratch, %zu steps\n", p.rank, p.chunks, p.scratch,
              p.steps.size());
  for (uint32_t i = 0; i < p.steps.size(); i++) {
    std::string waits;
    for (uint32_t d = p.dep_begin[i]; d < p.dep_begin[i + 1]; d++)
      waits += (waits.empty() ? "  waits for " : ", ") + std::to_string(p.deps[d]);
    const std::string words = describe(p.steps[i]);
    std::printf(waits.empty() ? "%4u  %s%s\n" : "%4u  %-72s%s\n", i, words.c_str(), waits.c_str());
  }
}

Status show(const Options& o) {
  auto set = find_set(o);
  if (!set.ok()) return set.status();
  const auto in_place = variant(*set, o);
  if (!in_place.ok()) return in_place.status();
  if (o.rank && *o.rank >= set->ranks())
    return {Code::invalid, "--rank " + std::to_string(*o.rank) + ": there are ranks 0 to " +
                               std::to_string(set->ranks() - 1)};
  std::printf("%s, %s\n", title(*set).c_str(), *in_place ? "in place" : "out of place");
  for (const Program& p : set->programs[*in_place]) {
    if (!o.rank || *o.rank == p.rank) print(p);
  }
  return {};
}

Status prove_all(const Options& o) {
  auto sets = find_sets(o);
  if (!sets.ok()) return sets.status();
  for (ProgramSet& set : *sets) {
    const std::string name = title(set);
    auto admitted = exchange::admit(std::move(set));
    if (!admitted.ok())
      return {admitted.status().code(), name + ": not proved: " + std::string(admitted.status().text())};
    for (bool in_place : {false, true}) {
      if (!admitted->set.has(in_place)) continue;
      size_t steps = 0;
      for (const Program& p : admitted->set.programs[in_place]) steps += p.steps.size();
      std::printf(
          "%s, %s: proved; %zu steps, %s, %s\n", name.c_str(), in_place ? "in place" : "out of place", steps,
          admitted->min_credits(in_place) == 0 ? "fits unbuffered delivery"
                                               : "each stream buffers one message",
          admitted->rank_order(in_place) ? "keeps the order of ranks" : "does not keep the order of ranks");
    }
  }
  return {};
}

// A proved set, and the rounds of one of its variants.
Status with_rounds(const Options& o,
                   Result<std::string> (*make)(const ProgramSet& set, bool in_place, const Rounds& rounds)) {
  auto set = find_set(o);
  if (!set.ok()) return set.status();
  const auto in_place = variant(*set, o);
  if (!in_place.ok()) return in_place.status();
  auto admitted = exchange::admit(std::move(*set));
  if (!admitted.ok()) return admitted.status();
  auto rounds = Rounds::make(admitted->set.programs[*in_place], admitted->min_credits(*in_place));
  if (!rounds.ok()) return rounds.status();
  auto text = make(admitted->set, *in_place, *rounds);
  return text.ok() ? exchange::write_file(o.output, *text) : text.status();
}

Status draw(const Options& o) { return with_rounds(o, exchange::to_svg); }

Status trace(const Options& o) {
  // A microsecond a round: what a viewer shows as 1, 2, 3...
  return with_rounds(o,
                     [](const ProgramSet& set, bool in_place, const Rounds& rounds) -> Result<std::string> {
                       return exchange::to_trace(set, in_place, rounds, rounds.timing(1));
                     });
}

Status export_json(const Options& o) {
  auto set = find_set(o);
  if (!set.ok()) return set.status();
  auto admitted = exchange::admit(std::move(*set));
  if (!admitted.ok()) return admitted.status();
  if (!o.name.empty()) admitted->set.name = o.name;
  return exchange::write_file(o.output, exchange::to_json(admitted->set));
}

}  // namespace

Status carry_out(const Options& o) {
  if (o.command == "list") return list(o);
  if (o.command == "show") return show(o);
  if (o.command == "prove") return prove_all(o);
  if (o.command == "draw") return draw(o);
  if (o.command == "trace") return trace(o);
  return export_json(o);  // and convert, whose source is a file
}

}  // namespace plait::program
