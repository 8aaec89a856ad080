// For people: what rails and counters are in the middle of.
#include <spdlog/fmt/fmt.h>

#include "transport/rails/domain.h"

namespace plait::transport::rails {

std::string RailsDomain::describe() const {
  std::string text;
  for (size_t i = 0; i < endpoints_.size(); ++i)
    text += fmt::format("endpoint {}: {}", i, endpoints_[i]->describe());
  return text;
}

std::string RailsEndpoint::describe() const {
  static constexpr const char* kPhases[] = {"joining", "live", "dying", "down"};
  std::string text =
      fmt::format("{} transfers, {} to be cut, {} parts and {} gets to be sent again, {} lines, {} Dones\n",
                  ops_, queued_, lost_, lost_gets_, lines_.size(), owed_);
  for (size_t i = 0; i < rails_.size(); ++i) {
    const Rail& rail = rails_[i];
    text += fmt::format("  rail {}: {} {}, {} parts with {} bytes out, {} Dones owed, {} probes out; {}\n", i,
                        kPhases[size_t(rail.state.phase())], rail.state.generation(), rail.link.parts_out,
                        rail.link.bytes_out, rail.link.waiting, rail.link.probes, rail.error);
  }
  for (size_t c = 0; c < out_.size(); ++c) {
    const Out& out = out_[c];
    text += fmt::format("  counter {}: {} sent, {} credited, {} not landed, {} gets; {} came, {} told\n", c,
                        out.sent, out.credited, out.unlanded, out.gets, in_[c].next, in_[c].told);
    for (uint64_t n = out.credited; n != out.sent; ++n) {
      const Part& p = parts_[c * theirs_.window + n % theirs_.window];
      text += fmt::format("    part {}: rail {}{}{}{}{}{}, frozen {}, {} tries\n", n, p.rail,
                          p.out ? " out" : "", p.waiting ? " waiting" : "", p.landed ? " landed" : "",
                          p.taken ? " taken" : "", p.lost ? " lost" : "", p.frozen, p.tries);
    }
  }
  return text;
}

}  // namespace plait::transport::rails
