#include "collectives/method.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <mutex>
#include <set>

namespace plait::collectives {

std::string Method::misfit(int32_t of_root, bool in_place, bool uneven) const {
  if (!has[0] && !has[1]) return fmt::format("has no program for {} ranks", ranks);
  if (rooted(collective) && root != kAnyRoot && root != of_root)
    return fmt::format("is for root {} only, not {}", root, of_root);
  if (uneven) return "is not for blocks of different lengths";
  if (rooted(collective)) return "has no programs that do whether the root is in place or not";
  return in_place ? "has no program in place" : "has no program out of place";
}

std::string_view lasting(std::string_view text) {
  static std::mutex mutex;
  static auto* texts = new std::set<std::string, std::less<>>;  // never destroyed, as it says
  std::lock_guard lock(mutex);
  auto found = texts->find(text);
  return found != texts->end() ? *found : *texts->emplace(text).first;
}

Method method_of(const Algorithm& row, int32_t ranks) {
  Method m{.name = row.name,
           .summary = row.summary,
           .collective = row.collective,
           .ranks = ranks,
           .lanes = row.lanes,
           .rank_order = row.rank_order,
           .deterministic = row.deterministic,
           .all_meet = row.all_meet,
           .one_wire = row.one_wire,
           .row = &row};
  m.has[0] = m.has[1] = row.accepts(ranks);
  if (!m.has[0]) return m;
  m.chunks = row.chunks(ranks);
  for (bool in_place : {false, true}) m.min_credits[in_place] = row.min_credits[in_place];
  m.outline = outline_of(row.collective, row.name, ranks);
  m.build = [&row, ranks](int32_t rank, int32_t root, bool in_place) {
    return row.build(ranks, rank, root, in_place);
  };
  return m;
}

Result<Method> method_of(std::shared_ptr<const Composition> composition, std::string_view name) {
  std::vector<LinkClass> links(size_t(composition->levels()), LinkClass::between);
  links.front() = LinkClass::inside;
  return method_of(std::move(composition), name, links);
}

Result<Method> method_of(std::shared_ptr<const Composition> composition, std::string_view name,
                         std::span<const LinkClass> links) {
  const Composition& c = *composition;
  if (c.collective() == Collective::reduce_scatter && c.levels() > 2) {
    return Status(Code::unsupported, fmt::format("reduce_scatter \"{}\": no more than two levels run", name));
  }
  Method m{.name = lasting(name),
           .summary = "an algorithm for each level of the machine",
           .collective = c.collective(),
           .ranks = c.n(),
           .chunks = c.chunks(),
           .lanes = c.lanes(),
           .rank_order = c.rank_order(),
           .one_wire = true};
  for (const Composition::Part& part : c.parts()) m.one_wire = m.one_wire && part.row->one_wire;
  for (const Composition::Part& part : c.parts()) {
    const auto outline = outline_of(part.row->collective, part.row->name, part.members);
    if (!outline) {
      m.levels.clear();
      break;
    }
    m.levels.push_back({*outline, links[size_t(part.level)], part.share, part.together});
  }
  m.min_credits[0] = m.min_credits[1] = c.min_credits();
  m.build = [composition = std::move(composition), credits = m.min_credits[0]](int32_t rank, int32_t root,
                                                                               bool in_place) {
    auto program = composition->build(rank, root, in_place);
    if (!program.ok()) return Program();
    program->min_credits = credits;
    return std::move(*program);
  };
  return m;
}

Methods::Methods(int32_t ranks) : ranks_(ranks) {
  for (const Algorithm& row : algorithms()) append(method_of(row, ranks));
}

void Methods::append(Method method) {
  method.number = size();
  const Method& added = all_.emplace_back(std::move(method));
  by_[size_t(added.collective)].push_back(&added);
}

Status Methods::add(Method method) {
  auto refuse = [&](std::string why) {
    return Status(Code::invalid, fmt::format("{} \"{}\": {}", name_of(method.collective), method.name, why));
  };
  if (method.name.empty()) return refuse("an algorithm must have a name");
  if (find(method.collective, method.name) != nullptr) return refuse("there is an algorithm of that name");
  if (method.ranks != ranks_)
    return refuse(fmt::format("it is for {} ranks, the communicator has {}", method.ranks, ranks_));
  append(std::move(method));
  return {};
}

const Method* Methods::find(Collective collective, std::string_view name) const noexcept {
  for (const Method* method : of(collective)) {
    if (method->name == name) return method;
  }
  return nullptr;
}

bool Methods::has_own(int32_t root) const noexcept {
  return std::any_of(all_.begin() + std::ptrdiff_t(algorithms().size()), all_.end(),
                     [&](const Method& m) { return m.root == root; });
}

}  // namespace plait::collectives
