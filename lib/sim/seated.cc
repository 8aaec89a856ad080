// Places in another order, and whether they can reach each other.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <vector>

#include "sim/room_network.h"

namespace plait::sim {

namespace {

class Seated final : public Network {
 public:
  Seated(std::unique_ptr<Network> network, std::span<const uint32_t> seats)
      : base_(std::move(network)),
        count_(int32_t(seats.size())),
        number_(size_t(base_->terminals()), -1),
        seat_(seats.begin(), seats.end()) {
    for (size_t i = 0; i < seat_.size(); i++) number_[seat_[i]] = int32_t(i);
    for (size_t chip = 0; chip < number_.size(); chip++) {
      if (number_[chip] >= 0) continue;
      number_[chip] = int32_t(seat_.size());
      seat_.push_back(uint32_t(chip));
    }
  }
  int32_t terminals() const override { return count_; }
  int32_t nodes() const override { return base_->nodes(); }
  uint32_t links() const override { return base_->links(); }
  bool forwards(int32_t node) const override { return base_->forwards(place(node)); }
  Link link(uint32_t number) const override {
    Link l = base_->link(number);
    for (int32_t* end : {&l.from, &l.to})
      if (*end >= 0 && size_t(*end) < number_.size()) *end = number_[size_t(*end)];
    return l;
  }
  void route(int32_t from, int32_t to, std::vector<uint32_t>& links) const override {
    base_->route(place(from), place(to), links);
  }
  std::string name(int32_t node) const override { return base_->name(place(node)); }

 private:
  int32_t place(int32_t node) const {
    return size_t(node) < seat_.size() ? int32_t(seat_[size_t(node)]) : node;
  }

  std::unique_ptr<Network> base_;
  int32_t count_;
  std::vector<int32_t> number_;
  std::vector<uint32_t> seat_;
};

}  // namespace

std::unique_ptr<Network> seated(std::unique_ptr<Network> network, std::span<const uint32_t> seats) {
  return std::make_unique<Seated>(std::move(network), seats);
}

Status check_joined(const topology::Room& room, std::span<const uint32_t> chips) {
  if (room.nics_per_host > 0 && (room.hosts > 1 || !room.tiers.empty())) return {};
  const uint64_t host = std::max(1u, room.chips_per_host), unit = topology::Lattice(room.factors).size();
  // Chips of one host, or of one shape.
  const uint64_t together = std::max(host, unit);
  for (const uint32_t chip : chips) {
    if (chip / together != chips[0] / together)
      return {Code::invalid,
              fmt::format("nothing joins {} and {}: their hosts have no NICs; say '{} hosts x ... x 1 nics', "
                          "or 'pod ring {}'",
                          chips[0], chip, room.hosts, room.hosts)};
  }
  return {};
}

}  // namespace plait::sim
