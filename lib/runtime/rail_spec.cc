#include "runtime/rail_spec.h"

#include <algorithm>
#include <optional>

#include "topology/graph.h"

namespace plait::runtime {
namespace {

constexpr std::string_view kModules[] = {"icl", "ofi", "ucx", "verbs"};

std::string fabrics() {
  std::string all(kTcp);
  for (std::string_view name : module_names()) all += ", " + std::string(name);
  return all;
}

// What is behind the question mark of `one`, which is cut there.
Status take_options(std::string_view& one, RailSpec& rail) {
  const size_t mark = one.find('?');
  if (mark == one.npos) return {};
  const std::string_view whole = one, text = one.substr(mark + 1),
                         fabric = one.substr(0, one.find_first_of(":?"));
  one = one.substr(0, mark);
  const auto wrong = [&](const Status& why) {
    return Status(Code::invalid, "\"" + std::string(whole) + "\": " + std::string(why.text()));
  };
  std::optional<std::string> rest(text);
  if (fabric != kIcl) {
    auto others = take_rail_rate(text, &rail.pace);
    if (!others.ok()) return wrong(others.status());
    rest = std::move(*others);
    if (!rest) return {};
  }
  if (fabric == kTcp) {
    auto options = parse_rail_options(*rest);
    if (!options.ok())
      return wrong(Status(Code::invalid, std::string(options.status().text()) +
                                             "; of any network: rate= bytes a second; burst= bytes"));
    rail.options = *options;
    return {};
  }
  rail.how = *rest;
  if (fabric == kVerbs) return {};
  return Status(Code::invalid, "the network \"" + std::string(one) +
                                   "\" takes no options behind a question mark" +
                                   (fabric == kIcl ? "" : " but rate= and burst=") + ": tcp and verbs do");
}

Status check_near(const RailSpec& rail) {
  const bool takes = rail.fabric == kTcp || rail.fabric == kVerbs;
  if (!takes || !rail.detail.starts_with(kNearDevice)) return {};
  if (topology::parse_pci(std::string_view(rail.detail).substr(kNearDevice.size()))) return {};
  return {Code::invalid,
          "the network \"" + to_string(rail) +
              "\": behind near= stands the PCI address of the device that this rank works with, as in "
              "near=0000:3b:00.0"};
}

}  // namespace

std::span<const std::string_view> module_names() noexcept { return kModules; }

std::string to_string(const RailSpec& rail) {
  std::string options = rail.fabric == kTcp ? to_string(rail.options) : rail.how;
  if (rail.pace.rate != 0) options += (options.empty() ? "" : "+") + to_string(rail.pace);
  return rail.fabric + (rail.detail.empty() ? "" : ":" + rail.detail) +
         (options.empty() ? "" : "?" + options);
}

Result<std::vector<RailSpec>> parse_network(std::string_view text) {
  std::vector<RailSpec> rails;
  while (true) {
    const size_t comma = text.find(',');
    std::string_view one = text.substr(0, comma);
    RailSpec rail;
    PLAIT_TRY(take_options(one, rail));
    const size_t colon = one.find(':');
    rail.fabric = one.substr(0, colon);
    if (colon != one.npos) rail.detail = one.substr(colon + 1);
    if (rail.fabric.empty() && rails.empty() && text.empty()) rail.fabric = kTcp;
    if (rail.fabric != kTcp && std::ranges::find(module_names(), rail.fabric) == module_names().end()) {
      return Status(Code::invalid, "the network \"" + std::string(one) + "\" is none: there are " +
                                       fabrics() + ", each with a colon and what of it, if you like");
    }
    PLAIT_TRY(check_near(rail));
    rails.push_back(std::move(rail));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  if (rails.size() > kMostRails) {
    return Status(Code::invalid, std::to_string(rails.size()) + " networks are more than the " +
                                     std::to_string(kMostRails) + " that can be used");
  }
  return rails;
}

std::string to_string(const std::vector<RailSpec>& rails) {
  std::string all;
  for (const RailSpec& rail : rails) all += (all.empty() ? "" : ",") + to_string(rail);
  return all;
}

std::string kind_of(const std::vector<RailSpec>& rails) {
  std::string all;
  for (const RailSpec& rail : rails) {
    const bool device = rail.fabric == kTcp || rail.fabric == kVerbs || rail.fabric == "icl";
    RailSpec whole = rail;
    whole.pace = {};
    all += (all.empty() ? "" : ",") + (device ? rail.fabric : to_string(whole)) +
           (rail.options.tls ? "?tls=1" : "");
  }
  return all;
}

Result<Alternatives> parse_alternatives(std::string_view text) {
  Alternatives all;
  while (true) {
    const size_t bar = text.find('|');
    if (bar == 0 || (text.empty() && !all.empty()))
      return Status(Code::invalid, "a | has a network on either side, as in icl:emu:/dev/shm/pod|tcp");
    auto rails = parse_network(text.substr(0, bar));
    if (!rails.ok()) return rails.status();
    all.push_back(std::move(*rails));
    if (bar == text.npos) break;
    text.remove_prefix(bar + 1);
  }
  if (all.size() <= kMostAlternatives) return all;
  return Status(Code::invalid, std::to_string(all.size()) + " networks with | between are more than the " +
                                   std::to_string(kMostAlternatives) + " that can be tried");
}

std::string to_string(const Alternatives& alternatives) {
  std::string all;
  for (const auto& rails : alternatives) all += (all.empty() ? "" : "|") + to_string(rails);
  return all;
}

std::string kind_of(const Alternatives& alternatives) {
  std::string all;
  for (const auto& rails : alternatives) all += (all.empty() ? "" : "|") + kind_of(rails);
  return all;
}

size_t before_shared_memory(const Alternatives& alternatives) noexcept {
  auto of_chips = [](const RailSpec& rail) { return rail.fabric == kIcl; };
  const auto other = std::ranges::find_if_not(
      alternatives, [&](const auto& rails) { return std::ranges::all_of(rails, of_chips); });
  return size_t(other - alternatives.begin());
}

std::string between_hosts(std::string_view text) {
  auto all = parse_alternatives(text);
  if (!all.ok()) return std::string(text);
  const size_t before = before_shared_memory(*all);
  if (before < all->size()) all->erase(all->begin(), all->begin() + std::ptrdiff_t(before));
  return to_string(*all);
}

}  // namespace plait::runtime
