// How a rank comes to the ranks that it shares no memory with: it opens the networks that PLAIT_NETWORK
// names, and all conclude alike which of them joins which two.
#include <algorithm>
#include <numeric>

#include "base/log.h"
#include "runtime/communicator.h"
#include "runtime/network.h"
#include "runtime/pods.h"

namespace plait::runtime {
namespace {

// Null: the group has no secret.
std::shared_ptr<const transport::tcp::TlsKey> tls_key(const bootstrap::Group& group) {
  const auto derived = group.derived_key("plait bootstrap 1: key of TLS on TCP");
  if (!derived) return nullptr;
  transport::tcp::TlsKey key;
  static_assert(sizeof key.bytes == sizeof derived->bytes);
  key.bytes = derived->bytes;
  return std::make_shared<const transport::tcp::TlsKey>(key);
}

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

}  // namespace

// Where there are several, those that cannot be had are left out, with a warning.
Result<NetworkCard> Communicator::open_networks(const Alternatives& networks, const HostRanks& here) {
  Place place{config_.interfaces, {}, config_.port_min, config_.port_max,
              config_.link_mbps,  {}, config_.rank,     here};
  for (const Address& met : group_->contact(config_.rank).addresses) place.known.push_back(met.with_port(0));
  if (std::ranges::any_of(networks, wants_tls)) place.tls = tls_key(*group_);
  NetworkCard card{kind_of(networks), {}};
  Status last;
  for (size_t i = 0; i < networks.size(); i++) {
    OpenNetwork& mine = card.networks.emplace_back();
    RailWatch watch{[this](const transport::rails::RailEvent& event) { note_rail(event); }, nullptr};
    auto domain = runtime::open_network(networks[i], place, &watch);
    if (!domain.ok()) {
      last = domain.status();
      if (networks.size() > 1) log::warn("{}: the next one of \"{}\" is tried", last.text(), config_.network);
      continue;
    }
    if (watch.counts != nullptr && rail_record_ == nullptr)
      rail_record_ = &recorder_.have_rails(std::move(watch.counts));
    const auto chips = chips_of(networks[i], **domain);
    if (!chips.ok()) return chips.status();
    bare_[i] = domain->get();
    fabric_.take_network(way_of(i), std::move(domain).value());
    const transport::Domain& taken = *fabric_.domain(way_of(i));  // wrapped, in tests
    const ByteView identity = taken.identity();
    mine = {true, taken.capabilities().cost.bandwidth_Bps, chips->has_value() ? int32_t((*chips)->chip) : -1,
            Bytes(identity.begin(), identity.end())};
  }
  const bool any = std::ranges::any_of(card.networks, &OpenNetwork::open);
  return any ? Result<NetworkCard>(std::move(card)) : Result<NetworkCard>(std::move(last));
}

Status Communicator::read_network_cards(const std::vector<Bytes>& all,
                                        std::vector<NetworkCard>& cards) const {
  const NetworkCard& mine = cards[size_t(config_.rank)];
  for (int32_t r = 0; r < config_.size; r++) {
    const Bytes& message = all[size_t(r)];
    if (r == config_.rank) continue;
    if (message.empty())
      return {Code::peer, name_of(r) + " could not open a network: its own error says why"};
    NetworkCard& its = cards[size_t(r)];
    if (!decode(message, its))
      return {Code::version, name_of(r) + " sent a broken description of its network"};
    if (its.kind == mine.kind && its.networks.size() == mine.networks.size()) continue;
    return {Code::mismatch, "the network of " + name_of(r) + " is " + quoted(its.kind) + ", of this rank " +
                                quoted(mine.kind) +
                                ": set PLAIT_NETWORK (plait_comm_config.network) alike on all ranks"};
  }
  return {};
}

// With one network that comes behind shared memory there is nothing to tell: it joins all hosts.
Result<std::vector<ReachCard>> Communicator::tell_reach(const std::vector<NetworkCard>& cards,
                                                        size_t before_shm, const transport::Bounds& bounds) {
  const NetworkCard& mine = cards[size_t(config_.rank)];
  std::vector<ReachCard> reach(size_t(config_.size), ReachCard{{{.lowest = 0, .links = {}}}});
  if (mine.networks.size() == 1 && before_shm == 0) return reach;
  const auto networks = parse_alternatives(config_.network);
  if (!networks.ok()) return networks.status();
  ReachCard card;
  for (size_t i = 0; i < mine.networks.size(); i++) {
    ReachCard::One& one = card.networks.emplace_back();
    if (!mine.networks[i].open) continue;
    for (one.lowest = 0; one.lowest < config_.rank; one.lowest++) {
      const OpenNetwork& its = cards[size_t(one.lowest)].networks[i];
      if (its.open && fabric_.domain(way_of(i))->reaches(its.identity)) break;
    }
    if (one.lowest != config_.rank || mine.networks[i].chip < 0) continue;
    auto map = chips_of((*networks)[i], *bare_[i]);
    if (!map.ok()) log::warn("{}: rings follow the numbers of chips", map.status().text());
    if (map.ok() && map->has_value() && (*map)->links.size() <= kMostChipLinks)
      one.links = std::move((*map)->links);
  }
  auto all = group_->allgather(encode(card), bounds);
  if (!all.ok()) return all.status();
  for (int32_t r = 0; r < config_.size; r++) {
    if (!decode((*all)[size_t(r)], reach[size_t(r)]))
      return Status(Code::version, name_of(r) + " sent a broken description of whom it reaches");
  }
  return reach;
}

// Every rank comes here when one does: when two ranks are on two hosts, or a network is tried before shared
// memory.
Status Communicator::join_networks(const transport::Bounds& bounds, Agreed& agreed) {
  const auto networks = parse_alternatives(config_.network);
  if (!networks.ok()) return networks.status();
  auto opened = open_networks(*networks, agreed.here);
  auto all = group_->allgather(opened.ok() ? encode(*opened) : Bytes(), bounds);
  PLAIT_TRY(opened.status());
  if (!all.ok()) return all.status();
  std::vector<NetworkCard> cards(size_t(config_.size));
  cards[size_t(config_.rank)] = std::move(*opened);
  PLAIT_TRY(read_network_cards(*all, cards));
  const size_t before_shm = before_shared_memory(*networks);
  auto told = tell_reach(cards, before_shm, bounds);
  if (!told.ok()) return told.status();
  const auto reach = conclude(before_shm, agreed.seating.host_of, cards, std::move(*told));
  if (!reach.ok()) return reach.status();
  for (int32_t r = 0; r < config_.size; r++) {
    if (r == config_.rank) continue;
    const auto way = reach->way(config_.rank, r);
    if (!way)
      return {Code::unsupported, "no network of \"" + config_.network + "\" joins this rank with " +
                                     name_of(r) + ": name one more behind a |, as in " + config_.network +
                                     "|tcp"};
    ways_[size_t(r)] = *way;
    if (*way != Way::shm) PLAIT_TRY(reaches(r, *way, cards[size_t(r)]));
  }
  seat_networks(*reach, cards, agreed.seating);
  for (const collectives::Pod& pod : agreed.seating.pods) {
    if (std::ranges::find(pod.ranks, config_.rank) != pod.ranks.end())
      levels_.linked = int32_t(pod.ranks.size());
  }
  if (!agreed.seating.pods.empty()) levels_.pods = 1 + *std::ranges::max_element(agreed.seating.pod_of);
  return {};
}

Status Communicator::reaches(int32_t r, Way way, const NetworkCard& card) const {
  const size_t i = size_t(way) - size_t(Way::network);
  const transport::Domain& domain = *fabric_.domain(way);
  if (domain.reaches(card.networks[i].identity)) return {};
  return {Code::unsupported, name_of(r) + " has no address that " + std::string(domain.name()) +
                                 " of this rank can reach: are both IPv4, or both IPv6? PLAIT_IFACE chooses"};
}

}  // namespace plait::runtime
