#include "tools/program/source.h"

#include <unistd.h>

#include "collectives/chunkwise.h"
#include "collectives/coded.h"

namespace plait::program {

using namespace collectives;
using exchange::ProgramSet;

namespace {

// Algorithms have neither dots nor slashes in their names.
bool is_file(const std::string& word) {
  return word.find_first_of("./") != std::string::npos || ::access(word.c_str(), F_OK) == 0;
}

// "ring, direct": those of a collective, or of all.
std::string names(const Collective* of) {
  std::string text;
  for (const Algorithm& a : algorithms()) {
    if (of != nullptr && a.collective != *of) continue;
    const std::string name(a.name);
    if ((", " + text + ",").find(", " + name + ",") == std::string::npos)
      text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

Status check(const Algorithm& algorithm, const Options& o) {
  const std::string name = std::string(algorithm.name) + " " + std::string(name_of(algorithm.collective));
  if (!algorithm.accepts(o.ranks))
    return {Code::unsupported, name + " has no programs for " + std::to_string(o.ranks) + " ranks"};
  if (o.root < o.ranks) return {};
  return {Code::invalid,
          "--root " + std::to_string(o.root) + ": there are ranks 0 to " + std::to_string(o.ranks - 1)};
}

// The same, with wires for messages. Whoever takes it apart chunk by chunk, as the machine does, may need
// more credits.
Status encode(const Algorithm& algorithm, ProgramSet& set) {
  if (algorithm.collective == Collective::alltoall || algorithm.collective == Collective::barrier)
    return {Code::unsupported, std::string(name_of(algorithm.collective)) + ": no codec goes with it"};
  for (auto& variant : set.programs) {
    for (Program& p : variant) {
      const Coded how{.outputs = output_of(algorithm.collective, set.ranks(), p.rank, set.root, p.chunks)};
      auto wired = coded(chunkwise(p), how);
      if (!wired.ok()) return wired.status();
      wired->min_credits = p.min_credits;
      p = std::move(*wired);
    }
  }
  return {};
}

Result<std::vector<ProgramSet>> named(const Options& o) {
  Collective collective{};
  const bool one = o.words.size() > 1;
  if (one && !exchange::find_collective(o.words[1], collective))
    return Status(Code::invalid, "there is no collective '" + o.words[1] + "'");
  std::vector<ProgramSet> sets;
  for (const Algorithm& a : algorithms()) {
    if (a.name != o.words[0] || (one && a.collective != collective)) continue;
    PLAIT_TRY(check(a, o));
    sets.push_back(exchange::build_set(a, o.ranks, o.root));
    if (o.encoded) PLAIT_TRY(encode(a, sets.back()));
  }
  if (!sets.empty()) return sets;
  return Status(Code::invalid, "there is no algorithm '" + o.words[0] + "'" +
                                   (one ? " for " + o.words[1] : "") + ", and no such file; there are " +
                                   names(one ? &collective : nullptr));
}

}  // namespace

Result<std::vector<ProgramSet>> find_sets(const Options& o) {
  if (!is_file(o.words[0])) {
    if (o.command != "convert") return named(o);
    return Status(Code::invalid,
                  "there is no file " + o.words[0] + " to convert; for an algorithm, there is export");
  }
  if (o.encoded)
    return Status(Code::invalid,
                  "--encoded is for an algorithm of the table, and " + o.words[0] + " is a file");
  if (o.words.size() > 1)
    return Status(Code::invalid, o.words[0] + " is a file: it says itself what collective it is");
  auto set = exchange::load(o.words[0]);
  if (!set.ok()) return set.status();
  std::vector<ProgramSet> sets;
  sets.push_back(std::move(*set));
  return sets;
}

Result<ProgramSet> find_set(const Options& o) {
  auto sets = find_sets(o);
  if (!sets.ok()) return sets.status();
  if (sets->size() == 1) return std::move(sets->front());
  std::string text;
  for (const ProgramSet& set : *sets)
    text += (text.empty() ? "" : ", ") + std::string(name_of(set.collective));
  return Status(Code::invalid, o.words[0] + " can do several collectives: name one of " + text);
}

}  // namespace plait::program
