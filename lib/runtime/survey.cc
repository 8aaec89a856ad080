#include "runtime/survey.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "bootstrap/interfaces.h"
#include "runtime/modules.h"
#include "runtime/network.h"
#include "runtime/signals.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"

namespace plait::runtime {
namespace {

using transport::RailListing;

constexpr int32_t kMostLocalRanks = 4096;

struct Line {
  RailListing rail;
  bool used = false;
};

Line of_domain(const Result<std::unique_ptr<transport::Domain>>& domain, std::string name) {
  if (!domain.ok()) return {{std::move(name), "", std::string(domain.status().text())}, false};
  return {{std::move(name), describe((*domain)->capabilities()), ""}, true};
}

Line shm_line(const Config& config) {
  return of_domain(transport::shm::make_domain({.host_id = config.host_id}), "shm");
}

// Where a rank of `config` is: those before it on its host are taken to be where it is.
Place place_of(const Config& config, const Alternatives& networks) {
  Place place;
  place.interfaces = config.interfaces;
  Seat seat = my_seat();
  const auto device = near_device(networks);
  if (device.ok()) seat.device = *device;
  const size_t mine = size_t(std::clamp(config.local_rank, 0, kMostLocalRanks));
  place.here = ranks_of_host(std::vector<Seat>(mine + 1, seat), std::vector<int32_t>(mine + 1, 0), mine);
  return place;
}

// What rails that ask for the nearest take; nothing where none does, or the first would be taken.
std::optional<NearNics> nearest(std::string_view fabric, const std::vector<RailSpec>& rails,
                                const Place& place) {
  size_t asking = 0;
  bool said = false;
  for (const RailSpec& rail : rails) {
    if (rail.fabric != fabric || !asks_near(rail)) continue;
    asking++;
    said = said || !rail.detail.empty();
  }
  if (asking == 0) return std::nullopt;
  auto near = near_nics(fabric, asking, place);
  if (!near.ok() || near->names.empty() || (!said && !near->answer.placed)) return std::nullopt;
  return std::move(*near);
}

void judge(const NearNics& near, std::string_view name, Line& line) {
  const size_t i = size_t(std::ranges::find(near.names, name) - near.names.begin());
  if (i == near.names.size()) return;
  const bool taken = std::ranges::find(near.answer.taken, i) != near.answer.taken.end();
  line.used = taken;
  if (taken) line.rail.can += "; near: " + near.answer.why[i];
  if (!taken) line.rail.missing = "near leaves it: " + near.answer.why[i];
}

// Interfaces, those that are chosen first.
void list_tcp(const std::string& wanted, const RailSpec* rail, const std::optional<NearNics>& near,
              std::vector<Line>& lines) {
  const bool in_use = rail != nullptr;
  auto all = bootstrap::list_interfaces();
  if (!all.ok()) return lines.push_back({{"tcp", "", std::string(all.status().text())}, false});
  auto chosen = bootstrap::choose(*all, wanted);
  std::vector<std::string> seen;
  auto first_sight = [&](const std::string& name) {
    if (std::ranges::find(seen, name) != seen.end()) return false;
    seen.push_back(name);
    return true;
  };
  for (const bootstrap::Interface& i : chosen.ok() ? *chosen : std::vector<bootstrap::Interface>()) {
    if (!first_sight(i.name)) continue;
    // A key that proves nothing: no peer will be met.
    auto options = options_of(in_use ? *rail : RailSpec(), std::make_shared<transport::tcp::TlsKey>());
    options.addresses = {i.address};
    options.bandwidth_Bps = 125e3 * bootstrap::speed_mbps(i.name);
    Line line = of_domain(transport::tcp::make_domain(options), "tcp:" + i.name);
    if (!line.rail.can.empty()) line.rail.can += "; " + describe(options);
    if (in_use && rail->pace.rate != 0) line.rail.can += "; " + to_string(rail->pace);
    line.used = line.used && in_use;
    if (line.used && near && asks_near(*rail)) judge(*near, i.name, line);
    if (!in_use && line.rail.missing.empty()) line.rail.missing = "PLAIT_NETWORK names another network";
    lines.push_back(std::move(line));
  }
  for (const bootstrap::Interface& i : *all) {
    if (!first_sight(i.name)) continue;
    lines.push_back(
        {{"tcp:" + i.name, "", i.up ? "PLAIT_IFACE, or its default, leaves it out" : "it is down"}, false});
  }
}

void list_module(std::string_view fabric, const std::vector<RailSpec>& rails, const Place& place,
                 std::vector<Line>& lines) {
  auto module = load_module(fabric);
  if (!module.ok()) {
    lines.push_back({{std::string(fabric), "", std::string(module.status().text())}, false});
    return;
  }
  const KeptSignals signals;
  std::vector<RailListing> listed = (*module)->list();
  if (listed.empty()) listed.push_back({std::string(fabric), "", "there is no device for it here"});
  const auto near = nearest(fabric, rails, place);
  for (RailListing& rail : listed) {
    const bool fine = rail.missing.empty();
    const bool named = std::ranges::any_of(rails, [&](const RailSpec& r) {
      return r.fabric == fabric && fine &&
             ((r.detail.empty() && !near) || rail.name == r.fabric + ":" + r.detail);
    });
    Line line{std::move(rail), named};
    if (!named && fine && near)
      judge(*near, std::string_view(line.rail.name).substr(fabric.size() + 1), line);
    if (!line.used && line.rail.missing.empty())
      line.rail.missing = "PLAIT_NETWORK=" + line.rail.name + " would use it";
    lines.push_back(std::move(line));
  }
}

}  // namespace

std::string survey(const Config& config) {
  std::vector<Line> lines = {shm_line(config)};
  auto parsed = parse_alternatives(config.network);
  std::vector<RailSpec> rails;
  for (const auto& one : parsed.ok() ? *parsed : Alternatives())
    rails.insert(rails.end(), one.begin(), one.end());
  if (!parsed.ok()) lines.push_back({{config.network, "", std::string(parsed.status().text())}, false});
  const Place place = place_of(config, parsed.ok() ? *parsed : Alternatives());
  auto tcp = std::ranges::find(rails, "tcp", &RailSpec::fabric);
  const bool own = tcp != rails.end() && !tcp->detail.empty() && !asks_near(*tcp);
  list_tcp(own ? tcp->detail : config.interfaces, tcp == rails.end() ? nullptr : &*tcp,
           nearest(kTcp, rails, place), lines);
  for (std::string_view fabric : module_names()) list_module(fabric, rails, place, lines);
  std::string text;
  for (const Line& line : lines) {
    char head[80];
    std::snprintf(head, sizeof head, "%-24s %-5s", line.rail.name.c_str(), line.used ? "yes" : "no");
    text += head;
    text += line.used ? line.rail.can
                      : line.rail.missing + (line.rail.can.empty() ? "" : " (" + line.rail.can + ")");
    text += '\n';
  }
  return text;
}

}  // namespace plait::runtime
