#include "sim/stage.h"

#include <spdlog/fmt/fmt.h>

#include "sim/engine.h"
#include "sim/ways.h"

namespace plait::sim {

namespace {

constexpr double kMostMessages = 1e6;  // of a call that is simulated some hundred times

std::string name_of_call(const Measured& m) {
  return fmt::format("{} {} of {} bytes", m.way.substr(0, 80), name_of(m.collective), m.bytes);
}

}  // namespace

Result<Places> first_places(const Plan& plan, int32_t ranks) {
  std::vector<uint32_t> seats = free_places(plan);
  if (ranks < 1 || size_t(ranks) > seats.size())
    return Status(Code::invalid, fmt::format("{} ranks were measured, the room has {} free places: describe "
                                             "the room that they ran in",
                                             ranks, seats.size()));
  seats.resize(size_t(ranks));
  return take_places(plan, std::move(seats));
}

Result<Stage> Stage::make(const Plan& plan, const Parameters& parameters, const std::vector<Measured>& rows) {
  Stage stage;
  if (rows.empty()) return Status(Code::invalid, "nothing was measured");
  auto places = first_places(plan, rows.front().ranks);
  if (!places.ok()) return places.status();
  for (const Measured& m : rows) {
    auto refuse = [&](const Status& why) {
      return Status(why.code(), name_of_call(m) + ": " + std::string(why.text()));
    };
    if (m.ranks != rows.front().ranks)
      return refuse({Code::invalid, fmt::format("of {} ranks, others are of {}: calibrate each apart",
                                                m.ranks, rows.front().ranks)});
    Question q{m.collective, m.ranks, m.root};
    q.levels = places->levels, q.order = places->order;
    const auto way = find_way(q, m.way);
    if (!way.ok()) return refuse(way.status());
    const auto sizes = collectives::even_sizes(m.bytes, way->chunks, parameters.segment);
    const auto messages = count_messages(*way, m.ranks, sizes.segments);
    if (!messages.ok()) return refuse(messages.status());
    if (*messages > kMostMessages)
      return refuse({Code::unsupported, fmt::format("{:.2g} messages are too many here", *messages)});
    auto play = std::make_unique<Play>(Play{name_of_call(m), m.bytes, Cut(sizes), {}});
    if (const Status made = make_scripts(*way, m.ranks, play->cut, play->scripts); !made.ok())
      return refuse(made);
    stage.plays_.push_back(std::move(play));
  }
  return stage;
}

Result<double> Stage::run(size_t i, const Network& network, const Parameters& parameters) const {
  const Play& play = *plays_[i];
  const auto outcome = simulate(play.scripts, play.cut, network, for_vector(parameters, play.bytes));
  if (!outcome.ok())
    return Status(outcome.status().code(), play.what + ": " + std::string(outcome.status().text()));
  if (!outcome->stuck.empty()) return Status(Code::invalid, play.what + " never ends in this room");
  return outcome->seconds;
}

}  // namespace plait::sim
