#include <nlohmann/json.hpp>

#include "sim/report.h"

namespace plait::sim {

std::string to_json(const Report& r) {
  using Json = nlohmann::ordered_json;
  const Outcome& o = r.outcome;
  Json path, ranks = Json::array(), links = Json::array(), stuck = Json::array();
  for (size_t i = 0; i < Path::parts; i++) path[words_of(Path::Part(i)).name] = o.path.seconds[i];
  for (const RankUse& use : o.ranks) {
    ranks.push_back({{"finish", use.finish},
                     {"computing", use.computing},
                     {"sending", use.sending},
                     {"waiting", use.waiting},
                     {"waits_for", use.waits_for},
                     {"waited", use.waited}});
  }
  for (const Busiest& b : links_by_use(r)) {
    links.push_back({{"name", name_of(*r.network, b.link)},
                     {"share", b.share},
                     {"busy", b.busy},
                     {"bytes", o.links[b.link].bytes},
                     {"most", o.links[b.link].most}});
  }
  for (const Stuck& s : o.stuck) {
    Json entry{{"rank", s.rank}, {"dead", s.dead}, {"waits_for", s.peer}};
    if (s.link != kNone) entry["link"] = name_of(*r.network, s.link);
    stuck.push_back(entry);
  }
  const Json json{{"plait_sim", 1},
                  {"room", r.room},
                  {"collective", name_of(r.question.collective)},
                  {"way", r.way},
                  {"ranks", r.question.ranks},
                  {"bytes", r.bytes},
                  {"segments", r.segments},
                  {"what_if", r.what_if},
                  {"parameters", Json::parse(to_json(r.parameters))},
                  {"finished", o.stuck.empty()},
                  {"seconds", o.seconds},
                  {"algbw", algorithm_bandwidth(r)},
                  {"busbw", bus_bandwidth(r)},
                  {"messages", o.messages},
                  {"verdict", verdict(r)},
                  {"path", path},
                  {"links", links},
                  {"per_rank", ranks},
                  {"stuck", stuck}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plait::sim
