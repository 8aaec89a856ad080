#include "runtime/rail_spec.h"

#include <algorithm>

namespace plait::runtime {
namespace {

constexpr std::string_view kModules[] = {"icl", "ofi", "ucx", "verbs"};

std::string fabrics() {
  std::string all(kTcp);
  for (std::string_view name : module_names()) all += ", " + std::string(name);
  return all;
}

// What is behind the question mark of `one`, which is cut there.
Result<RailOptions> take_options(std::string_view& one) {
  const size_t mark = one.find('?');
  if (mark == one.npos) return RailOptions{};
  auto options = parse_rail_options(one.substr(mark + 1));
  if (!options.ok())
    return Status(Code::invalid, "\"" + std::string(one) + "\": " + std::string(options.status().text()));
  one = one.substr(0, mark);
  if (one.substr(0, one.find(':')) == kTcp) return options;
  return Status(Code::invalid,
                "the network \"" + std::string(one) + "\" takes no options behind a question mark: tcp does");
}

}  // namespace

std::span<const std::string_view> module_names() noexcept { return kModules; }

std::string to_string(const RailSpec& rail) {
  const std::string options = to_string(rail.options);
  return rail.fabric + (rail.detail.empty() ? "" : ":" + rail.detail) +
         (options.empty() ? "" : "?" + options);
}

Result<std::vector<RailSpec>> parse_network(std::string_view text) {
  std::vector<RailSpec> rails;
  while (true) {
    const size_t comma = text.find(',');
    std::string_view one = text.substr(0, comma);
    auto options = take_options(one);
    if (!options.ok()) return options.status();
    const size_t colon = one.find(':');
    RailSpec rail{std::string(one.substr(0, colon)),
                  colon == one.npos ? std::string() : std::string(one.substr(colon + 1)), *options};
    if (rail.fabric.empty() && rails.empty() && text.empty()) rail.fabric = kTcp;
    if (rail.fabric != kTcp && std::ranges::find(module_names(), rail.fabric) == module_names().end()) {
      return Status(Code::invalid, "the network \"" + std::string(one) + "\" is none: there are " +
                                       fabrics() + ", each with a colon and what of it, if you like");
    }
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
    const bool device = rail.fabric == kTcp || rail.fabric == "verbs" || rail.fabric == "icl";
    all += (all.empty() ? "" : ",") + (device ? rail.fabric : to_string(rail)) +
           (rail.options.tls ? "?tls=1" : "");
  }
  return all;
}

}  // namespace plait::runtime
