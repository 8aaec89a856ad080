#include "sim/script.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "collectives/cells.h"
#include "collectives/chain.h"

namespace plait::sim {

using collectives::Op;
using collectives::Program;
using collectives::Range;
using collectives::Step;

namespace {

uint64_t mixed(uint64_t hash, uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

uint64_t hash_of(const Script& s) noexcept {
  uint64_t hash = s.buffered;
  for (const Node& n : s.nodes) {
    hash = mixed(hash, uint64_t{n.stream} << 32 | n.full);
    hash = mixed(hash, uint64_t{n.waits} << 32 | n.folds << 3 | uint32_t{n.partial} << 2 |
                           uint32_t{n.plain} << 1 | n.copies);
  }
  for (uint32_t f : s.followers) hash = mixed(hash, f);
  return hash;
}

Status check(const Program& p, int32_t ranks) {
  if (p.dep_begin.size() != p.steps.size() + 1)
    return {Code::invalid, fmt::format("rank {}: dependencies were not derived", p.rank)};
  for (const Step& s : p.steps) {
    if ((sends(s.op) || receives(s.op)) && (s.peer < 0 || s.peer >= ranks || s.peer == p.rank))
      return {Code::invalid, describe(s) + ": no such peer"};
  }
  return {};
}

// Streams by kind, peer and lane; the number of each node's.
std::vector<uint32_t> find_streams(const Program& p, std::span<const uint32_t> first, Cast& cast) {
  struct Key {
    bool sends;
    int32_t peer;
    uint16_t lane;
    uint32_t node;
    auto operator<=>(const Key&) const = default;
  };
  std::vector<Key> keys;
  for (uint32_t i = 0; i < first.size(); i++) {
    const Step& s = p.steps[first[i]];
    if (sends(s.op) || receives(s.op)) keys.push_back({sends(s.op), s.peer, s.lane, i});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<uint32_t> stream_of(first.size(), kNone);
  for (const Key& k : keys) {
    auto& all = cast.streams;
    if (all.empty() || all.back().sends != k.sends || all.back().peer != k.peer ||
        all.back().lane != k.lane) {
      if (!k.sends) cast.sends_at++;
      all.push_back({k.peer, k.lane, k.sends, 0});
    }
    all.back().messages++;
    stream_of[k.node] = uint32_t(all.size() - 1);
  }
  cast.streams.shrink_to_fit();
  return stream_of;
}

}  // namespace

Cut::Cut(const collectives::Sizes& sizes) noexcept
    : segments(sizes.segments), chunk(sizes.chunk), rest(0), segment_bytes(sizes.segment), whole(UINT32_MAX) {
  if (chunk == 0) return;
  whole = uint32_t(std::min<uint64_t>(sizes.all / chunk, UINT32_MAX));
  rest = sizes.all % chunk;
}

void Cut::count(Range range, uint32_t& full, bool& partial) const noexcept {
  const uint32_t end = std::min(range.end(), whole);
  if (end > range.first) full += end - range.first;
  partial = partial || (rest > 0 && range.first <= whole && whole < range.end());
}

double Cut::part(uint64_t all, uint32_t segment) const noexcept {
  if (segments == 1) return double(all);
  const uint64_t begin = std::min(segment * segment_bytes, all);
  return double(std::min(segment_bytes, all - begin));
}

Status Scripts::add(const Program& p, int32_t ranks, const Cut& cut) {
  PLAIT_TRY(check(p, ranks));
  std::vector<uint32_t> ends(p.steps.size());
  std::iota(ends.begin(), ends.end(), 0u);
  if (std::any_of(p.steps.begin(), p.steps.end(),
                  [](const Step& s) { return s.flags & collectives::kChain; })) {
    auto found = chain_ends(p);
    if (!found.ok()) return found.status();
    ends = std::move(*found);
  }
  Cast cast;
  Script script = read(p, ends, cut, cast);
  for (const Node& node : script.nodes) {
    if (node.waits >= UINT16_MAX)
      return {Code::unsupported, fmt::format("rank {}: a step waits for {} others", p.rank, node.waits)};
  }
  by_rank_.push_back(keep(std::move(script)));
  casts_.push_back(std::move(cast));
  return {};
}

// As Graph and Work of the cost machine read all programs at once.
Script Scripts::read(const Program& p, std::span<const uint32_t> ends, const Cut& cut, Cast& cast) {
  std::vector<uint32_t> first, node_of(p.steps.size());
  for (uint32_t i = 0; i < p.steps.size();) {
    const uint32_t end = collectives::message_end(p, i);
    std::fill(node_of.begin() + i, node_of.begin() + end, uint32_t(first.size()));
    first.push_back(i);
    i = end;
  }
  const auto count = uint32_t(first.size());
  const auto stream_of = find_streams(p, first, cast);
  Script s;
  s.buffered = p.min_credits > 0;
  s.nodes.resize(count);
  std::vector<uint32_t> last(cast.streams.size(), kNone), previous(count, kNone);
  for (uint32_t i = 0; i < count; i++) {
    Node& node = s.nodes[i];
    const Step& step = p.steps[first[i]];
    node.stream = stream_of[i];
    node.copies = step.op == Op::copy;
    node.plain = step.op == Op::recv && !(step.flags & collectives::kChain);
    node.folds = folds(step.op);
    s.sends += sends(step.op);
    for (uint32_t k = first[i], end = collectives::message_end(p, k); k < end; k++)
      cut.count({p.steps[k].chunk, p.steps[k].count}, node.full, node.partial);
    if (node.stream == kNone) continue;
    lanes_ = std::max(lanes_, step.lane + 1u);
    previous[i] = std::exchange(last[node.stream], i);
    if (previous[i] != kNone) s.nodes[previous[i]].next = i, node.waits++;
  }
  for (uint32_t i = 0; i < ends.size(); i++) {
    const uint32_t from = node_of[i], to = node_of[ends[i]];
    if (ends[i] != i) s.nodes[to].folds += std::exchange(s.nodes[from].folds, 0u);
  }
  // Followers, by node and then in the order of the list.
  auto each = [&](auto f) {
    for (uint32_t i = 0; i < count; i++) {
      for (uint32_t d = p.dep_begin[first[i]]; d < p.dep_begin[first[i] + 1]; d++) {
        const uint32_t other = node_of[p.deps[d]];
        if (other != previous[i]) f(other, i);
      }
    }
  };
  s.follow_begin.assign(count + 1, 0);
  each([&](uint32_t node, uint32_t follower) { s.follow_begin[node + 1]++, s.nodes[follower].waits++; });
  std::partial_sum(s.follow_begin.begin(), s.follow_begin.end(), s.follow_begin.begin());
  s.followers.resize(s.follow_begin.back());
  std::vector<uint32_t> at(s.follow_begin.begin(), s.follow_begin.end() - 1);
  each([&](uint32_t node, uint32_t follower) { s.followers[at[node]++] = follower; });
  return s;
}

const Script* Scripts::keep(Script script) {
  auto& alike = kept_[hash_of(script)];
  for (const auto& other : alike)
    if (*other == script) return other.get();
  count_++;
  alike.push_back(std::make_unique<const Script>(std::move(script)));
  return alike.back().get();
}

}  // namespace plait::sim
