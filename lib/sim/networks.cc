#include "sim/networks.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace plait::sim {

namespace {

class Ideal final : public Network {
 public:
  explicit Ideal(int32_t n) : n_(n) {}
  int32_t terminals() const override { return n_; }
  int32_t nodes() const override { return n_; }
  uint32_t links() const override { return 0; }
  Link link(uint32_t) const override { return {}; }
  void route(int32_t, int32_t, std::vector<uint32_t>&) const override {}
  std::string name(int32_t node) const override { return std::to_string(node); }

 private:
  int32_t n_;
};

class Grid final : public Network {
 public:
  Grid(std::vector<int32_t> sizes, bool wraps, Cable cable)
      : sizes_(std::move(sizes)), wraps_(wraps), cable_(cable) {
    for (int32_t size : sizes_) n_ *= size;
  }
  int32_t terminals() const override { return n_; }
  int32_t nodes() const override { return n_; }
  uint32_t links() const override { return uint32_t(n_) * ways(); }
  std::string name(int32_t node) const override { return std::to_string(node); }

  Link link(uint32_t number) const override {
    const auto node = int32_t(number / ways());
    const uint32_t way = number % ways();
    int32_t stride = 1;
    for (uint32_t d = 0; d < way / 2; d++) stride *= sizes_[d];
    const int32_t size = sizes_[way / 2], at = node / stride % size, to = at + (way % 2 == 0 ? 1 : -1);
    const bool edge = to < 0 || to == size;
    if (size == 1 || (edge && !wraps_)) return {};
    return {node, node + ((to + size) % size - at) * stride, cable_.capacity, cable_.latency};
  }

  void route(int32_t from, int32_t to, std::vector<uint32_t>& links) const override {
    int32_t stride = 1, node = from;
    for (uint32_t d = 0; d < sizes_.size(); stride *= sizes_[d++]) {
      const int32_t size = sizes_[d], target = to / stride % size;
      int32_t at = from / stride % size, hops = target - at;
      if (wraps_) {
        if (hops < 0) hops += size;
        if (2 * hops > size) hops -= size;
      }
      const int32_t step = hops > 0 ? 1 : -1;
      for (; hops != 0; hops -= step) {
        links.push_back(uint32_t(node) * ways() + 2 * d + (step < 0));
        const int32_t next = (at + step + size) % size;
        node += (next - at) * stride;
        at = next;
      }
    }
  }

 private:
  uint32_t ways() const { return 2 * uint32_t(sizes_.size()); }
  std::vector<int32_t> sizes_;
  bool wraps_;
  Cable cable_;
  int32_t n_ = 1;
};

class HybridCube final : public Network {
 public:
  explicit HybridCube(Cable cable) : cable_(cable) {}
  int32_t terminals() const override { return 8; }
  int32_t nodes() const override { return 8; }
  uint32_t links() const override { return 32; }
  std::string name(int32_t node) const override { return std::to_string(node); }
  // Links 0..2 of a node lead to the others of its square, link 3 across.
  Link link(uint32_t number) const override {
    const auto node = int32_t(number / 4), way = int32_t(number % 4), square = node / 4 * 4;
    const int32_t to = way == 3 ? (node + 4) % 8 : square + (node + 1 + way) % 4;
    return {node, to, cable_.capacity, cable_.latency};
  }
  void route(int32_t from, int32_t to, std::vector<uint32_t>& links) const override {
    if (from % 4 != to % 4) links.push_back(uint32_t(from * 4 + (to % 4 - from % 4 + 3) % 4));
    if (from / 4 != to / 4) links.push_back(uint32_t((from / 4 * 4 + to % 4) * 4 + 3));
  }

 private:
  Cable cable_;
};

class LeafSpine final : public Network {
 public:
  explicit LeafSpine(const Clos& c) : c_(c) {
    hosts_ = c.leaves * c.hosts;
    n_ = hosts_ * c.chips;
    const double ports = double(c.hosts) * c.nics;
    spines_ = c.leaves > 1 ? std::max(1, int32_t(std::ceil(ports / c.oversubscribed - 1e-9))) : 0;
    uplink_ = {spines_ > 0 ? ports * c.nic.capacity / c.oversubscribed / spines_ : 0, c.nic.latency};
    nics_at_ = 2 * uint32_t(n_);
    leaves_at_ = nics_at_ + 2 * uint32_t(hosts_ * c.nics);
    fabrics_at_ = leaves_at_ + 2 * uint32_t(c.leaves * spines_);
  }
  int32_t terminals() const override { return n_; }
  // Chips, hosts, leaves, spines.
  int32_t nodes() const override { return n_ + hosts_ + c_.leaves + spines_; }
  uint32_t links() const override { return fabrics_at_ + (c_.leaf_capacity > 0 ? uint32_t(c_.leaves) : 0); }

  std::string name(int32_t node) const override {
    if (node < n_) return std::to_string(node);
    if ((node -= n_) < hosts_) return fmt::format("host {}", node);
    if ((node -= hosts_) < c_.leaves) return fmt::format("leaf {}", node);
    return fmt::format("spine {}", node - c_.leaves);
  }

  Link link(uint32_t number) const override {
    if (number >= fabrics_at_) {
      const int32_t leaf = leaf_node(int32_t(number - fabrics_at_));
      return {leaf, leaf, c_.leaf_capacity, 0};
    }
    const bool down = number % 2 == 1;
    Link l;
    const Cable* cable = &uplink_;
    if (number < nics_at_) {
      const auto chip = int32_t(number / 2);
      l = {chip, n_ + chip / c_.chips};
      cable = &c_.inside;
    } else if (number < leaves_at_) {
      const int32_t host = int32_t(number - nics_at_) / 2 / c_.nics;
      l = {n_ + host, leaf_node(host / c_.hosts)};
      cable = &c_.nic;
    } else {
      const int32_t up = int32_t(number - leaves_at_) / 2;
      l = {leaf_node(up / spines_), leaf_node(c_.leaves) + up % spines_};
    }
    if (down) std::swap(l.from, l.to);
    l.capacity = cable->capacity, l.latency = cable->latency;
    return l;
  }

  void route(int32_t from, int32_t to, std::vector<uint32_t>& links) const override {
    const int32_t host = from / c_.chips, there = to / c_.chips;
    links.push_back(2 * uint32_t(from));
    if (host != there) {
      const int32_t leaf = host / c_.hosts, other = there / c_.hosts, last = nic_of(to);
      links.push_back(nics_at_ + 2 * uint32_t(nic_of(from)));
      fabric(leaf, links);
      if (leaf != other) {
        const int32_t spine = last % spines_;
        links.push_back(leaves_at_ + 2 * uint32_t(leaf * spines_ + spine));
        links.push_back(leaves_at_ + 2 * uint32_t(other * spines_ + spine) + 1);
        fabric(other, links);
      }
      links.push_back(nics_at_ + 2 * uint32_t(last) + 1);
    }
    links.push_back(2 * uint32_t(to) + 1);
  }

 private:
  int32_t leaf_node(int32_t leaf) const { return n_ + hosts_ + leaf; }
  int32_t nic_of(int32_t chip) const {
    return chip / c_.chips * c_.nics + int32_t(int64_t{chip % c_.chips} * c_.nics / c_.chips);
  }
  void fabric(int32_t leaf, std::vector<uint32_t>& links) const {
    if (c_.leaf_capacity > 0) links.push_back(fabrics_at_ + uint32_t(leaf));
  }

  Clos c_;
  int32_t hosts_, n_, spines_;
  Cable uplink_;
  uint32_t nics_at_, leaves_at_, fabrics_at_;
};

}  // namespace

std::unique_ptr<Network> ideal_network(int32_t n) { return std::make_unique<Ideal>(n); }
std::unique_ptr<Network> lattice(std::vector<int32_t> sizes, bool wraps, Cable cable) {
  return std::make_unique<Grid>(std::move(sizes), wraps, cable);
}
std::unique_ptr<Network> hybrid_cube_mesh(Cable cable) { return std::make_unique<HybridCube>(cable); }
std::unique_ptr<Network> clos(const Clos& clos) { return std::make_unique<LeafSpine>(clos); }

}  // namespace plait::sim
