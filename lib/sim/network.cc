#include "sim/network.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "sim/words.h"

namespace plait::sim {

namespace {

constexpr uint32_t kNoLink = UINT32_MAX;

// A network with holes.
class Around final : public Network {
 public:
  Around(std::unique_ptr<Network> network, const std::vector<uint32_t>& cut)
      : base_(std::move(network)), cut_(base_->links()), fabric_(size_t(base_->nodes()), kNoLink) {
    for (uint32_t link : cut) cut_[link] = true;
    out_.resize(size_t(base_->nodes()));
    for (uint32_t i = 0; i < base_->links(); i++) {
      const Link l = base_->link(i);
      if (l.from < 0 || cut_[i]) continue;
      if (l.from == l.to) {
        fabric_[size_t(l.from)] = i;
      } else {
        out_[size_t(l.from)].push_back({i, l.to});
      }
    }
  }

  int32_t terminals() const override { return base_->terminals(); }
  int32_t nodes() const override { return base_->nodes(); }
  uint32_t links() const override { return base_->links(); }
  Link link(uint32_t number) const override {
    Link l = base_->link(number);
    if (cut_[number]) l.capacity = 0;
    return l;
  }
  std::string name(int32_t node) const override { return base_->name(node); }

  bool forwards(int32_t node) const override { return base_->forwards(node); }

  void route(int32_t from, int32_t to, std::vector<uint32_t>& links) const override {
    const size_t before = links.size();
    base_->route(from, to, links);
    const bool broken = std::any_of(links.begin() + std::ptrdiff_t(before), links.end(),
                                    [&](uint32_t link) { return cut_[link]; });
    if (!broken) return;
    std::vector<uint32_t> way;
    if (!search(from, to, way)) return;
    links.resize(before);
    links.insert(links.end(), way.begin(), way.end());
  }

 private:
  struct Hop {
    uint32_t link;
    int32_t to;
  };

  // Breadth first.
  bool search(int32_t from, int32_t to, std::vector<uint32_t>& way) const {
    std::vector<Hop> came(size_t(nodes()), {kNoLink, -1});
    std::vector<int32_t> queue{from};
    for (size_t i = 0; i < queue.size() && came[size_t(to)].link == kNoLink; i++) {
      const int32_t at = queue[i];
      if (at != from && !base_->forwards(at)) continue;
      for (const Hop& hop : out_[size_t(at)]) {
        if (hop.to == from || came[size_t(hop.to)].link != kNoLink) continue;
        came[size_t(hop.to)] = {hop.link, at};
        queue.push_back(hop.to);
      }
    }
    if (came[size_t(to)].link == kNoLink) return false;
    for (int32_t at = to; at != from; at = came[size_t(at)].to) {
      if (fabric_[size_t(at)] != kNoLink) way.push_back(fabric_[size_t(at)]);
      way.push_back(came[size_t(at)].link);
    }
    std::reverse(way.begin(), way.end());
    return true;
  }

  std::unique_ptr<Network> base_;
  std::vector<bool> cut_;
  std::vector<uint32_t> fabric_;
  std::vector<std::vector<Hop>> out_;
};

int32_t find_node(const Network& network, const std::string& name) {
  for (int32_t i = 0; i < network.nodes(); i++)
    if (network.name(i) == name) return i;
  return -1;
}

}  // namespace

std::string name_of(const Network& network, uint32_t link) {
  const Link l = network.link(link);
  return l.from == l.to ? network.name(l.from) : network.name(l.from) + "->" + network.name(l.to);
}

Result<std::vector<uint32_t>> find_links(const Network& network, const std::string& text) {
  const size_t dash = text.find('-');
  const std::string first = text.substr(0, dash),
                    second = dash == std::string::npos ? first : text.substr(dash + 1);
  const int32_t a = find_node(network, first), b = find_node(network, second);
  if (a < 0 || b < 0) {
    const std::string& missing = a < 0 ? first : second;
    return Status(Code::invalid,
                  fmt::format("there is no '{}' in this room; there are {} to {}", shown(missing),
                              network.name(0), network.name(network.nodes() - 1)));
  }
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < network.links(); i++) {
    const Link l = network.link(i);
    if ((l.from == a && l.to == b) || (l.from == b && l.to == a)) found.push_back(i);
  }
  if (found.empty())
    return Status(Code::invalid,
                  fmt::format("there is no link between {} and {}", shown(first), shown(second)));
  return found;
}

std::unique_ptr<Network> around(std::unique_ptr<Network> network, const std::vector<uint32_t>& cut) {
  return std::make_unique<Around>(std::move(network), cut);
}

}  // namespace plait::sim
