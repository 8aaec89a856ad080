#include "runtime/reach.h"

#include <algorithm>
#include <cmath>

namespace plait::runtime {
namespace {

struct CardHead {
  uint32_t kind_bytes = 0, networks = 0;
};
static_assert(sizeof(CardHead) == 8);

// Behind it: the identity.
struct NetworkHead {
  double bandwidth_Bps = 0;
  int32_t chip = -1;
  uint32_t open = 0, identity_bytes = 0, unused = 0;
};
static_assert(sizeof(NetworkHead) == 24);

// Behind it: links.
struct ReachHead {
  int32_t lowest = -1;
  uint32_t links = 0;
};
static_assert(sizeof(ReachHead) == 8);

bool take_network(ByteView& message, OpenNetwork& to) {
  NetworkHead head;
  if (!take(message, head) || head.identity_bytes > message.size()) return false;
  if (!(head.bandwidth_Bps >= 0) || std::isinf(head.bandwidth_Bps)) return false;
  if (head.chip < -1 || head.chip >= int32_t(kMostChip) || head.open > 1) return false;
  const ByteView identity = message.first(head.identity_bytes);
  to = {head.open == 1, head.bandwidth_Bps, head.chip, Bytes(identity.begin(), identity.end())};
  message = message.subspan(head.identity_bytes);
  return true;
}

bool take_links(ByteView& message, uint32_t count, std::vector<transport::ChipLink>& links) {
  if (count > kMostChipLinks || count > message.size() / sizeof(transport::ChipLink)) return false;
  for (uint32_t i = 0; i < count; i++) {
    transport::ChipLink link;
    if (!take(message, link)) return false;
    if (link.a >= link.b || link.b >= kMostChip || link.count == 0) return false;
    links.push_back(link);
  }
  return true;
}

}  // namespace

Bytes encode(const NetworkCard& card) {
  Bytes message;
  append(message, CardHead{uint32_t(card.kind.size()), uint32_t(card.networks.size())});
  for (char c : card.kind) message.push_back(std::byte(c));
  for (const OpenNetwork& one : card.networks) {
    append(message,
           NetworkHead{one.bandwidth_Bps, one.chip, uint32_t(one.open), uint32_t(one.identity.size()), 0});
    message.insert(message.end(), one.identity.begin(), one.identity.end());
  }
  return message;
}

bool decode(ByteView message, NetworkCard& card) {
  CardHead head;
  if (!take(message, head) || head.kind_bytes > message.size() || head.networks < 1 ||
      head.networks > kMostAlternatives)
    return false;
  card = {std::string(reinterpret_cast<const char*>(message.data()), head.kind_bytes), {}};
  message = message.subspan(head.kind_bytes);
  for (uint32_t i = 0; i < head.networks; i++) {
    if (!take_network(message, card.networks.emplace_back())) return false;
  }
  return message.empty();
}

Bytes encode(const ReachCard& card) {
  Bytes message;
  for (const ReachCard::One& one : card.networks) {
    append(message, ReachHead{one.lowest, uint32_t(one.links.size())});
    for (const transport::ChipLink& link : one.links) append(message, link);
  }
  return message;
}

bool decode(ByteView message, ReachCard& card) {
  card.networks.clear();
  while (!message.empty()) {
    ReachHead head;
    if (card.networks.size() == kMostAlternatives || !take(message, head) || head.lowest < -1) return false;
    ReachCard::One& one = card.networks.emplace_back();
    one.lowest = head.lowest;
    if (!take_links(message, head.links, one.links)) return false;
  }
  return true;
}

std::optional<Way> Reach::way(int32_t a, int32_t b) const noexcept {
  for (size_t i = 0; i <= lowest.size(); i++) {
    if (i == before_shm && host_of[size_t(a)] == host_of[size_t(b)]) return Way::shm;
    if (i == lowest.size()) break;
    const int32_t of_a = lowest[i][size_t(a)], of_b = lowest[i][size_t(b)];
    const bool last = i + 1 == lowest.size() && i >= before_shm;
    if (of_a >= 0 && of_b >= 0 && (last || of_a == of_b)) return way_of(i);
  }
  return {};
}

namespace {

// Whether what rank r says of its networks can be.
bool plausible(int32_t r, const std::vector<NetworkCard>& cards, const std::vector<ReachCard>& reach) {
  const auto& said = reach[size_t(r)].networks;
  if (said.size() != cards[0].networks.size() || cards[size_t(r)].networks.size() != said.size())
    return false;
  for (size_t i = 0; i < said.size(); i++) {
    const int32_t lowest = said[i].lowest;
    if ((lowest >= 0) != cards[size_t(r)].networks[i].open || lowest > r) return false;
    if (lowest >= 0 && reach[size_t(lowest)].networks.size() != said.size()) return false;
    if (lowest >= 0 && reach[size_t(lowest)].networks[i].lowest < 0) return false;
  }
  return true;
}

// Whom a rank reaches reaches others in turn, where reaching is not mutual for all; then one group is made of
// them, and who finds that it does not reach another says so. Numbers descend, so it ends.
void join_chains(std::vector<ReachCard>& reach) {
  for (ReachCard& card : reach) {
    for (size_t i = 0; i < card.networks.size(); i++) {
      int32_t& lowest = card.networks[i].lowest;
      if (lowest >= 0) lowest = reach[size_t(lowest)].networks[i].lowest;
    }
  }
}

std::vector<ChipGroup> groups_of(size_t network, const std::vector<NetworkCard>& cards,
                                 std::vector<ReachCard>& reach) {
  std::vector<ChipGroup> groups;
  for (size_t first = 0; first < cards.size(); first++) {
    if (reach[first].networks[network].lowest != int32_t(first)) continue;
    ChipGroup group;
    for (size_t r = first; r < cards.size(); r++) {
      if (reach[r].networks[network].lowest != int32_t(first)) continue;
      group.ranks.push_back(int32_t(r));
      group.chips.push_back(cards[r].networks[network].chip);
    }
    if (group.ranks.size() < 2 || std::ranges::find(group.chips, -1) != group.chips.end()) continue;
    group.links = std::move(reach[first].networks[network].links);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

Result<Reach> conclude(size_t before_shm, std::vector<int32_t> host_of, const std::vector<NetworkCard>& cards,
                       std::vector<ReachCard> reach) {
  for (size_t r = 0; r < cards.size(); r++) {
    if (!plausible(int32_t(r), cards, reach))
      return Status(Code::version, "rank " + std::to_string(r) + " says of its networks what cannot be");
  }
  join_chains(reach);
  Reach all{before_shm, std::move(host_of), {}, {}};
  for (size_t i = 0; i < cards[0].networks.size(); i++) {
    std::vector<int32_t>& lowest = all.lowest.emplace_back();
    for (const ReachCard& card : reach) lowest.push_back(card.networks[i].lowest);
    all.groups.push_back(groups_of(i, cards, reach));
  }
  return all;
}

}  // namespace plait::runtime
