#include "collectives/compose.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "collectives/composer.h"

namespace plait::collectives {

namespace {

constexpr uint64_t kMostChunks = 1 << 24;

bool composes(Collective collective) noexcept {
  switch (collective) {
    case Collective::allreduce:
    case Collective::reduce_scatter:
    case Collective::allgather:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::barrier:
      return true;
    default:
      return false;
  }
}

const Algorithm* find_or(Collective collective, std::string_view name, std::string_view other) {
  const Algorithm* found = find_algorithm(collective, name);
  return found ? found : find_algorithm(collective, other);
}

}  // namespace

Status Composition::find_rows(Level& level, std::string_view name) const {
  const bool halving = name == "rabenseifner";
  level.whole = find_algorithm(collective_, name);
  level.reduce_scatter = find_algorithm(Collective::reduce_scatter, halving ? "recursive_halving" : name);
  level.allgather = find_algorithm(Collective::allgather, halving ? "recursive_doubling" : name);
  level.scatter = find_or(Collective::scatter, name, "linear");
  level.gather = find_or(Collective::gather, name, "linear");
  level.reduce = find_algorithm(Collective::reduce, name);
  level.broadcast = find_algorithm(Collective::broadcast, name);
  // What a level's way needs of the collective's two halves: folding, and handing out what was folded.
  const bool folds = reduces(collective_) || collective_ == Collective::barrier;
  const bool hands_out = collective_ != Collective::reduce_scatter && collective_ != Collective::reduce;
  // A barrier has nothing to shard; where each rank has a part of its own there is no leader for all.
  const bool can_shard = (level.reduce_scatter || !folds) && (level.allgather || !hands_out) &&
                         collective_ != Collective::barrier;
  const bool can_lead = (level.reduce || !folds) && (level.broadcast || !hands_out) && !parted(collective_);
  level.sharded = can_shard;
  if (can_shard || can_lead) return {};
  // The outermost level may do no more than the collective itself.
  const bool outermost = int(levels_.size()) == top_;
  if (outermost && level.whole) return {};
  return {Code::unsupported, fmt::format("no {} level of a hierarchy by \"{}\"", name_of(collective_), name)};
}

std::vector<const Algorithm*> Composition::used(const Level& level) const {
  if (&level == &levels_[size_t(top_)] && level.whole) return {level.whole};
  const bool s = level.sharded;
  switch (collective_) {
    case Collective::reduce_scatter:
      return {level.reduce_scatter};
    case Collective::allgather:
      return {level.allgather};
    case Collective::broadcast:
      return s ? std::vector{level.scatter, level.allgather} : std::vector{level.broadcast};
    case Collective::reduce:
      return s ? std::vector{level.reduce_scatter, level.gather} : std::vector{level.reduce};
    default:
      return s ? std::vector{level.reduce_scatter, level.allgather}
               : std::vector{level.reduce, level.broadcast};
  }
}

Status Composition::check_sizes(int level, std::string_view name) const {
  auto rows = used(levels_[size_t(level)]);
  int before = 0;
  for (int g = 0; g < hierarchy_->groups(level); g++) {
    int size = hierarchy_->size(level, g);
    if (size == before) continue;
    before = size;
    for (const Algorithm* row : rows) {
      if (row->accepts(size)) continue;
      return {Code::unsupported, fmt::format("level {}: {} by \"{}\" has no program for a group of {}", level,
                                             name_of(row->collective), name, size)};
    }
  }
  return {};
}

Status Composition::add_level(int level, std::string_view name) {
  Level rows;
  PLAIT_TRY(find_rows(rows, name));
  levels_.push_back(rows);
  return level <= top_ ? check_sizes(level, name) : Status();
}

// What all levels come to.
Status Composition::sum_up() {
  uint64_t shards = 1, pieces = 1;
  rank_order_ = hierarchy_->in_order();
  for (int l = 0; l <= top_; l++) {
    const Level& level = levels_[size_t(l)];
    const int largest = hierarchy_->largest(l);
    for (const Algorithm* row : used(level)) {
      // What a level works on is never the untouched input of a call alone.
      min_credits_ = std::max({min_credits_, row->min_credits[0], row->min_credits[1]});
      rank_order_ = rank_order_ && row->rank_order;
      lanes_ = std::max(lanes_, row->lanes);
      if (l == top_ || !level.sharded) pieces = std::max<uint64_t>(pieces, row->chunks(largest));
    }
    if (l < top_) shards *= uint64_t(level.shards(largest));
    if (shards * pieces > kMostChunks) {
      return {Code::unsupported, fmt::format("the levels cut the vector into more than {} chunks; let an "
                                             "uneven level be led, by \"binomial\" say",
                                             kMostChunks)};
    }
  }
  chunks_ = uint32_t(shards * pieces);
  if (parted(collective_)) chunks_ = uint32_t(n());
  if (collective_ == Collective::barrier) chunks_ = 1;
  return {};
}

Result<Composition> Composition::make(Collective collective, std::string_view algorithms,
                                      std::shared_ptr<const Hierarchy> hierarchy) {
  if (!composes(collective)) {
    return Status(Code::unsupported, fmt::format("{} is not composed of levels", name_of(collective)));
  }
  std::vector<std::string_view> names;
  for (size_t at = 0; at <= algorithms.size();) {
    size_t end = std::min(algorithms.find('/', at), algorithms.size());
    names.push_back(algorithms.substr(at, end - at));
    at = end + 1;
  }
  if (int(names.size()) != hierarchy->levels()) {
    return Status(Code::invalid, fmt::format("\"{}\" names {} algorithms, the hierarchy has {} levels",
                                             algorithms, names.size(), hierarchy->levels()));
  }
  Composition made(collective, std::move(hierarchy));
  for (int l = 0; l < made.hierarchy_->levels(); l++) {
    if (made.hierarchy_->largest(l) > 1) made.top_ = l;
  }
  made.levels_.reserve(names.size());
  for (int l = 0; l < made.hierarchy_->levels(); l++) PLAIT_TRY(made.add_level(l, names[size_t(l)]));
  PLAIT_TRY(made.sum_up());
  return made;
}

std::vector<Composition::Part> Composition::parts() const {
  std::vector<Part> list;
  Part part{.row = nullptr, .level = 0, .members = 1, .share = 1, .together = 1};
  for (int l = 0; l <= top_; l++) {
    part.level = l;
    part.members = hierarchy_->largest(l);
    for (const Algorithm* row : used(levels_[size_t(l)])) {
      part.row = row;
      list.push_back(part);
    }
    const int shards = levels_[size_t(l)].shards(part.members);
    part.share /= shards;
    part.together *= shards;
  }
  return list;
}

Result<Program> Composition::build(int rank, int root, bool in_place) const {
  if (rank < 0 || rank >= n() || root < 0 || root >= n()) {
    return Status(Code::invalid, fmt::format("no rank {} or no root {} among {} ranks", rank, root, n()));
  }
  Builder b(collective_, n(), rank, root, chunks_);
  if (top_ >= 0) Composer(*this, b, rank, root).run();
  Result<Program> program = b.finish(in_place);
  if (!program.ok()) return program;
  program->lanes = lanes_;
  program->min_credits = n() > 1 ? min_credits_ : 0;
  program->rank_order = rank_order_ || n() == 1;
  return program;
}

}  // namespace plait::collectives
