#include "runtime/survey.h"

#include <algorithm>
#include <cstdio>
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

// Interfaces, those that are chosen first.
void list_tcp(const std::string& wanted, const RailSpec* rail, std::vector<Line>& lines) {
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
    line.used = line.used && in_use;
    if (!in_use && line.rail.missing.empty()) line.rail.missing = "PLAIT_NETWORK names another network";
    lines.push_back(std::move(line));
  }
  for (const bootstrap::Interface& i : *all) {
    if (!first_sight(i.name)) continue;
    lines.push_back(
        {{"tcp:" + i.name, "", i.up ? "PLAIT_IFACE, or its default, leaves it out" : "it is down"}, false});
  }
}

void list_module(std::string_view fabric, const std::vector<RailSpec>& rails, std::vector<Line>& lines) {
  auto module = load_module(fabric);
  if (!module.ok()) {
    lines.push_back({{std::string(fabric), "", std::string(module.status().text())}, false});
    return;
  }
  const KeptSignals signals;
  std::vector<RailListing> listed = (*module)->list();
  if (listed.empty()) listed.push_back({std::string(fabric), "", "there is no device for it here"});
  for (RailListing& rail : listed) {
    const bool used = std::ranges::any_of(rails, [&](const RailSpec& r) {
      return r.fabric == fabric && rail.missing.empty() &&
             (r.detail.empty() || rail.name == r.fabric + ":" + r.detail);
    });
    if (!used && rail.missing.empty()) rail.missing = "PLAIT_NETWORK=" + rail.name + " would use it";
    lines.push_back({std::move(rail), used});
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
  auto tcp = std::ranges::find(rails, "tcp", &RailSpec::fabric);
  const bool own = tcp != rails.end() && !tcp->detail.empty();
  list_tcp(own ? tcp->detail : config.interfaces, tcp == rails.end() ? nullptr : &*tcp, lines);
  for (std::string_view fabric : module_names()) list_module(fabric, rails, lines);
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
