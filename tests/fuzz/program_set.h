// What holds of every program set that a reader lets through.
#pragma once

#include "collectives/exchange/admit.h"
#include "collectives/exchange/json.h"
#include "collectives/exchange/method.h"
#include "collectives/exchange/svg.h"
#include "collectives/exchange/trace.h"
#include "collectives/plan.h"
#include "fuzz.h"

namespace plait::fuzz {

using namespace collectives;
using namespace collectives::exchange;

// An input is some hundred bytes: what it may ask for is bounded likewise, so that none is slow.
constexpr Limits kSmall{.bytes = 1 << 16,
                        .ranks = 16,
                        .chunks = 64,
                        .scratch = 64,
                        .steps = 512,
                        .cells = 4096,
                        .touches = 8192,
                        .thread_blocks = 64};

inline void check_refusal(const Result<ProgramSet>& set) {
  if (set.ok()) return;
  const std::string_view text = set.status().text();
  require(text.starts_with("x.json:"), "a refusal names the file");
  require(is_printable(text) && text.size() < 4000, "a refusal can be shown");
}

inline void check_program(const ProgramSet& set, const Program& p) {
  require(p.chunks == set.chunks() && p.chunks <= kSmall.chunks, "all cut the vector alike");
  require(p.dep_begin.size() == p.steps.size() + 1, "dependencies are derived");
  for (const Step& s : p.steps) {
    require(s.count > 0 && s.chunk < p.chunks && s.count <= p.chunks - s.chunk, "chunks are there");
    require((s.peer >= 0) == (sends(s.op) || receives(s.op)) && s.peer < set.ranks(), "peers are there");
  }
}

inline void check_drawn(const ProgramSet& set, bool in_place) {
  const auto rounds = Rounds::make(set.programs[in_place], set.programs[in_place][0].min_credits);
  require(rounds.ok(), "what is proved has an order");
  if (const auto svg = to_svg(set, in_place, *rounds); svg.ok())
    require(svg->ends_with("</svg>\n"), "a picture ends");
  require(!to_trace(set, in_place, *rounds, rounds->timing(1)).empty(), "there is a trace");
}

// What a communicator does with it: it is proved once more, lowered for every rank, and made ready to run.
inline void check_run(Admitted admitted) {
  admitted.set.name = "fuzzed";  // the one of the file may be taken
  const int32_t ranks = admitted.set.ranks(), root = admitted.set.root;
  const auto method = method_of(std::make_shared<const Admitted>(std::move(admitted)));
  if (!method.ok()) {
    require(method.status().text().starts_with("x.json:"), "a refusal names the file");
    return;
  }
  for (int32_t rank = 0; rank < ranks; rank++) {
    Planner planner(rank, ranks);
    require(planner.add(*method).ok(), "what is proved is added");
    const Method& added = *planner.methods().find(method->collective, "fuzzed");
    for (bool in_place : {false, true}) {
      if (!added.fits(root, in_place, false) || !planner.runs(added, in_place).ok()) continue;
      for (bool joined : {false, true}) {
        for (bool entering : {false, reduces(added.collective)})
          require(planner.schedule(added, root, in_place, joined, entering).ok(), "what runs has a schedule");
      }
    }
  }
}

inline void check_set(const ProgramSet& set) {
  require(is_printable(set.name), "a name can be shown");
  for (const auto& programs : set.programs) {
    for (const Program& p : programs) check_program(set, p);
  }
  const std::string text = to_json(set);
  // Limits are those of the text: what MSCCL needs beside them is told in its own.
  const auto again = from_json(text, "y.json");
  require(again.ok(), "what was written is read");
  require(to_json(*again) == text, "and is the same");
  const auto admitted = admit(set);
  if (!admitted.ok()) {
    require(is_printable(admitted.status().text()), "a refusal can be shown");
    return;
  }
  for (bool in_place : {false, true}) {
    if (admitted->set.has(in_place)) check_drawn(admitted->set, in_place);
  }
  check_run(*admitted);
}

}  // namespace plait::fuzz
