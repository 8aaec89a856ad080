#include "collectives/exchange/set.h"

#include <spdlog/fmt/fmt.h>

#include <cstdio>

namespace plait::collectives::exchange {

ProgramSet build_set(const Algorithm& algorithm, int n, int root) {
  ProgramSet set{.name = std::string(algorithm.name),
                 .collective = algorithm.collective,
                 .root = root,
                 .programs = {},
                 .origin = {}};
  for (bool in_place : {false, true}) {
    set.programs[in_place].reserve(size_t(n));
    for (int r = 0; r < n; r++) set.programs[in_place].push_back(algorithm.build(n, r, root, in_place));
  }
  return set;
}

bool find_collective(std::string_view name, Collective& collective) noexcept {
  for (uint32_t i = 0; i < kCollectives; i++) {
    if (name_of(Collective(i)) != name) continue;
    collective = Collective(i);
    return true;
  }
  return false;
}

std::string Budget::header(uint64_t ranks, uint64_t chunks) const {
  if (ranks < 1 || ranks > limits_.ranks)
    return fmt::format("{} ranks: a program set has 1 to {}", ranks, limits_.ranks);
  if (chunks < 1 || chunks > limits_.chunks)
    return fmt::format("{} chunks: a program set has 1 to {}", chunks, limits_.chunks);
  return {};
}

std::string Budget::rank(uint64_t chunks, uint64_t scratch) {
  if (scratch > limits_.scratch)
    return fmt::format("{} slots of scratch: a rank has at most {}", scratch, limits_.scratch);
  cells_ += 2 * chunks + scratch;
  if (cells_ <= limits_.cells) return {};
  return fmt::format("the ranks have more than {} places in all", limits_.cells);
}

std::string Budget::step(const Step& step) {
  if (++steps_ > limits_.steps) return fmt::format("more than {} steps in all", limits_.steps);
  uint64_t places = 0;
  for (Place place : {step.dst, step.src, step.src2}) places += place.in() != Buffer::none ? 1 : 0;
  touches_ += places * step.count;
  if (touches_ <= limits_.touches) return {};
  return fmt::format("the steps touch more than {} places in all", limits_.touches);
}

Status located(const ProgramSet& set, bool in_place, const Status& status) {
  const std::string& file = set.origin.file;
  if (status.ok() || file.empty()) return status;
  // The proof's sentences begin with the step that they are about.
  unsigned rank = 0, step = 0;
  const std::string text(status.text());
  const auto& lines = set.origin.lines[in_place];
  if (std::sscanf(text.c_str(), "rank %u step %u (", &rank, &step) == 2 && rank < lines.size() &&
      step < lines[rank].size()) {
    return {status.code(), fmt::format("{}:{}: {}", file, lines[rank][step], text)};
  }
  return {status.code(), fmt::format("{}: {}", file, text)};
}

std::string check_chunks(Collective collective, uint32_t ranks, uint32_t chunks) {
  if (collective == Collective::barrier && chunks != 1)
    return fmt::format("a barrier has one chunk, of no bytes, not {}", chunks);
  if (collective == Collective::alltoall && chunks != ranks)
    return fmt::format("an alltoall of {} ranks has as many chunks here, one for each rank, not {}", ranks,
                       chunks);
  if (parted(collective) && chunks % ranks != 0)
    return fmt::format("{} chunks cannot be shared out evenly among the {} ranks of {}", chunks, ranks,
                       name_of(collective));
  return {};
}

}  // namespace plait::collectives::exchange
