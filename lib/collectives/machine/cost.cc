#include "collectives/machine/cost.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "collectives/machine/simulation.h"

namespace plait::collectives {

namespace {

Status refuse(double messages) {
  return {Code::unsupported,
          fmt::format("the call is {:.2g} messages; more than {:.0e} are not simulated: choose an "
                      "algorithm of fewer rounds, or fewer segments",
                      messages, double(kMostMessages))};
}

double messages_of(const Program& p, uint32_t segments) {
  return double(std::count_if(p.steps.begin(), p.steps.end(), [](const Step& s) { return sends(s.op); })) *
         segments;
}

Status check(std::span<const Program> programs, const Sizes& sizes, const Room& room) {
  PLAIT_TRY(check_room(room));
  if (programs.size() != size_t(room.ranks) || sizes.segments == 0)
    return {Code::invalid, fmt::format("{} programs in a room of {} ranks", programs.size(), room.ranks)};
  double messages = 0;
  for (size_t r = 0; r < programs.size(); r++) {
    const Program& p = programs[r];
    messages += messages_of(p, sizes.segments);
    if (p.rank != int32_t(r)) return {Code::invalid, fmt::format("program {} is that of rank {}", r, p.rank)};
    for (const Step& s : p.steps) {
      if ((sends(s.op) || receives(s.op)) && (s.peer < 0 || s.peer >= room.ranks))
        return {Code::invalid, describe(s) + ": no such peer"};
    }
    if (p.dep_begin.size() != p.steps.size() + 1)
      return {Code::invalid, fmt::format("rank {}: dependencies were not derived", r)};
  }
  return messages > double(kMostMessages) ? refuse(messages) : Status();
}

}  // namespace

Sizes even_sizes(uint64_t all, uint32_t chunks, uint64_t segment) noexcept {
  Sizes sizes{.all = all, .chunk = (all + chunks - 1) / chunks};
  sizes.segments = uint32_t(std::max<uint64_t>(1, sizes.chunk / segment + (sizes.chunk % segment != 0)));
  sizes.segment = (sizes.chunk + sizes.segments - 1) / sizes.segments;
  return sizes;
}

Result<Cost> cost(std::span<const Program> programs, const Sizes& sizes, const Room& room, bool timeline) {
  PLAIT_TRY(check(programs, sizes, room));
  auto graph = Graph::make(programs);
  if (!graph.ok()) return graph.status();
  Cost result;
  Simulation simulation(programs, *graph, sizes, room);
  PLAIT_TRY(simulation.run(result, timeline));
  if (timeline) simulation.spread(result);
  return result;
}

Result<Cost> cost(const ProgramBuilder& program_of, const Sizes& sizes, const Room& room, bool timeline) {
  PLAIT_TRY(check_room(room));
  std::vector<Program> programs;
  double messages = 0;
  for (int32_t r = 0; r < room.ranks; r++) {
    programs.push_back(program_of(r));
    messages += messages_of(programs.back(), sizes.segments);
    // A few tell about all, long before their lists fill the memory.
    const double about = r < 8 ? messages / (r + 1) * room.ranks : messages;
    if (about > 8.0 * double(kMostMessages) || messages > double(kMostMessages)) return refuse(about);
  }
  return cost(programs, sizes, room, timeline);
}

}  // namespace plait::collectives
