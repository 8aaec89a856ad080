#include "transport/rails/abilities.h"

#include <algorithm>

#include "transport/rails/layout.h"

namespace plait::transport::rails {

namespace {

constexpr int kLeastAdd = 63;  // credits, and a few adds

// The most counters that leave each a window worth having.
size_t most_counters(size_t of_rail) noexcept {
  size_t most = 0;
  while (most < kCounters && Layout::of(most + 1, of_rail).window >= kLeastWindow) ++most;
  return most;
}

}  // namespace

size_t rail_counters(const std::vector<std::unique_ptr<Domain>>& rails) noexcept {
  size_t least = SIZE_MAX;
  for (const auto& rail : rails) least = std::min<size_t>(least, rail->capabilities().counters);
  return least;
}

Status check_rail(const Domain& rail) {
  const Capabilities& c = rail.capabilities();
  const std::string name = "rails: " + std::string(rail.name()) + " cannot be a rail: ";
  if (most_counters(c.counters) < 1) {
    return Status(Code::unsupported, name + "its endpoints have " + std::to_string(c.counters) +
                                         " counters, and one for each part under way is needed, " +
                                         std::to_string(Layout{2, kLeastWindow}.total()) +
                                         " for two counters");
  }
  if (c.max_add < kLeastAdd)
    return Status(Code::unsupported, name + "its signals add at most " + std::to_string(c.max_add) +
                                         ", not " + std::to_string(kLeastAdd));
  if (c.depth < 8)
    return Status(Code::unsupported,
                  name + "it takes " + std::to_string(c.depth) + " transfers at a time, not 8");
  if (c.signals != 0 && c.signals < 2 * kWindow)
    return Status(Code::unsupported, name + "a peer that does not poll has room for " +
                                         std::to_string(c.signals) + " signals, not " +
                                         std::to_string(2 * kWindow));
  if (c.max_transfer < 4096)
    return Status(Code::unsupported,
                  name + "its transfers have at most " + std::to_string(c.max_transfer) + " bytes");
  return {};
}

Capabilities capabilities_of(const std::vector<std::unique_ptr<Domain>>& rails) {
  Capabilities all = rails[0]->capabilities();
  all.inline_bytes = std::min(all.inline_bytes, kInlineMost);
  all.max_add = most_add(all.max_add);
  all.depth = uint16_t(std::min<size_t>(all.depth, kDepthMost));
  all.key_bytes = all.ticket_bytes = sizeof(BundleHead);
  all.cost.bandwidth_Bps = 0;
  all.word_last = false;
  // Windows open again in the target's poll().
  all.target_must_poll = true;
  all.max_transfer = size_t{1} << 30;
  all.signals = kLeastWindow;
  bool bandwidth_known = true;
  for (const auto& rail : rails) {
    const Capabilities& c = rail->capabilities();
    all.get &= c.get;
    all.needs_flush |= c.needs_flush;
    all.local_needs_region |= c.local_needs_region;
    all.holds_pages |= c.holds_pages;
    all.detects_death &= c.detects_death;
    all.inline_bytes = std::min(all.inline_bytes, c.inline_bytes);
    all.max_add = std::min<uint16_t>(all.max_add, most_add(c.max_add));
    all.depth = std::min(all.depth, c.depth);
    all.key_bytes += kBlockHead + c.key_bytes;
    all.ticket_bytes += 2 * kBlockHead + c.ticket_bytes + c.key_bytes;
    all.cost.latency_s = std::max(all.cost.latency_s, c.cost.latency_s);
    all.cost.overhead_s = std::max(all.cost.overhead_s, c.cost.overhead_s);
    all.cost.bandwidth_Bps += c.cost.bandwidth_Bps;
    bandwidth_known &= c.cost.bandwidth_Bps > 0;
    all.device_memory &= c.device_memory;
  }
  if (!bandwidth_known) all.cost.bandwidth_Bps = 0;
  all.counters = uint16_t(most_counters(rail_counters(rails)));
  return all;
}

}  // namespace plait::transport::rails
