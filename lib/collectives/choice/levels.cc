#include "collectives/choice/levels.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "collectives/choice/layers.h"
#include "collectives/choice/mapped.h"

namespace plait::collectives {

namespace {

// Algorithms for the innermost groups, for those between, and for all; each of these with each.
struct Names {
  Collective collective;
  std::array<std::string_view, 4> inner;
  std::array<std::string_view, 3> middle;
  std::array<std::string_view, 5> outer;
};

// Small vectors are led: what a message costs is all that counts, and one rank of a host pays it. Large ones
// are sharded: every rank of a host is at work, and each byte leaves it once.
constexpr Names kNames[] = {
    {Collective::allreduce,
     {"direct", "ring", "star", "binomial"},
     {"direct", "ring", "star"},
     {"ring", "direct", "recursive_doubling", "rabenseifner", "all_to_all"}},
    {Collective::reduce_scatter, {"direct", "ring"}, {}, {"direct", "ring", "recursive_halving"}},
    {Collective::allgather, {"direct", "ring"}, {"direct", "ring"}, {"direct", "ring", "recursive_doubling"}},
    {Collective::broadcast,
     {"star", "binomial", "direct"},
     {"star", "direct"},
     {"star", "binomial", "pipeline", "ring"}},
    {Collective::reduce, {"star", "binomial", "direct"}, {"star", "direct"}, {"star", "binomial", "direct"}},
    {Collective::barrier, {"star", "binomial"}, {"star"}, {"dissemination", "star", "binomial"}},
};

// Dimension by dimension: what has a half for each way.
constexpr std::string_view kAlong[] = {"ring", "direct"};
bool goes_along(Collective c) {
  return c == Collective::allreduce || c == Collective::reduce_scatter || c == Collective::allgather;
}

// What a pod that holds all ranks does on the ring of its links.
struct Renamed {
  Collective collective;
  std::string_view name, as;
};
constexpr Renamed kOnRing[] = {
    {Collective::allreduce, "ring", "chip_ring"},
    {Collective::allreduce, "multi_ring", "chip_multi_ring"},
    {Collective::reduce_scatter, "ring", "chip_ring"},
    {Collective::allgather, "ring", "chip_ring"},
    {Collective::broadcast, "pipeline", "chip_pipeline"},
    {Collective::reduce, "pipeline", "chip_pipeline"},
};

class Adder {
 public:
  Adder(Methods& methods, const Seating& seating)
      : methods_(methods),
        layers_(layers_of(seating)),
        natural_(seat_in(layers_, seating, PodOrder::natural)),
        ring_(seat_in(layers_, seating, PodOrder::ring)),
        grid_(seat_in(layers_, seating, PodOrder::grid)) {}

  void run(const Seating& seating) {
    if (seating.pods.size() == 1) {
      for (auto& mapped :
           {rings_method(seating.pods[0], seating.ranks), trees_method(seating.pods[0], seating.ranks)})
        if (mapped) (void)methods_.add(*mapped);
    }
    const size_t levels = layers_.list.size();
    for (const Names& names : kNames) {
      if (levels > 1) each_level(names, "", 0);
      // Run among hosts, whatever is inside of them: more than two levels are not (method_of).
      if (levels > 2 && names.collective == Collective::reduce_scatter) hosts_alone(names, seating);
      if (grid_.hierarchy != nullptr && goes_along(names.collective)) along(names);
    }
    if (levels == 1 && layers_.pods) on_ring();
  }

 private:
  void add(Collective collective, const std::string& levels, const Seated& seated, std::string_view as) {
    auto made = Composition::make(collective, levels, seated.hierarchy);
    if (!made.ok()) return;  // not for groups of these sizes
    auto method = method_of(std::make_shared<const Composition>(std::move(*made)), as, seated.links);
    if (method.ok()) (void)methods_.add(std::move(*method));  // its name is new, and it is of these ranks
  }
  void add(Collective collective, const std::string& levels, const Seated& seated) {
    if (seated.hierarchy != nullptr) add(collective, levels, seated, levels);
  }

  template <class List, class F>
  static void each(const List& names, const std::string& before, F&& f) {
    for (std::string_view name : names) {
      if (!name.empty()) f(before.empty() ? std::string(name) : before + "/" + std::string(name));
    }
  }

  // A ring inside of a pod goes as links do; to the others all places are alike.
  void each_level(const Names& names, const std::string& before, size_t level) {
    auto next = [&](const std::string& name) { each_level(names, name, level + 1); };
    auto last = [&](const std::string& name) {
      const bool ring = layers_.pods && name.starts_with("ring/");
      add(names.collective, name, ring ? ring_ : natural_);
    };
    if (level + 1 == layers_.list.size()) return each(names.outer, before, last);
    if (level == 0) return each(names.inner, before, next);
    each(names.middle, before, next);
  }

  void hosts_alone(const Names& names, const Seating& seating) {
    Seating hosts{.ranks = seating.ranks, .host_of = seating.host_of};
    const Seated seated = seat_in(layers_of(hosts), hosts, PodOrder::natural);
    each(names.inner, "", [&](const std::string& inner) {
      each(names.outer, inner, [&](const std::string& both) { add(names.collective, both, seated); });
    });
  }

  void along(const Names& names) {
    for (std::string_view name : kAlong) {
      std::string levels(name);
      const size_t dimensions = grid_.links.size() - layers_.list.size() + 1;
      for (size_t d = 1; d < dimensions; d++) levels += "/" + std::string(name);
      outwards(names, levels, 1);
    }
  }
  void outwards(const Names& names, const std::string& before, size_t level) {
    if (level == layers_.list.size()) return add(names.collective, before, grid_);
    auto next = [&](const std::string& name) { outwards(names, name, level + 1); };
    if (level + 1 == layers_.list.size()) return each(names.outer, before, next);
    each(names.middle, before, next);
  }

  // Where the ring is that of the numbers, rows of the table go around it.
  void on_ring() {
    if (ring_.hierarchy == nullptr || ring_.hierarchy->in_order()) return;
    for (const Renamed& one : kOnRing) add(one.collective, std::string(one.name), ring_, one.as);
  }

  Methods& methods_;
  const Layers layers_;
  const Seated natural_, ring_, grid_;
};

}  // namespace

void add_levels(Methods& methods, const Seating& seating) {
  if (seating.ranks > 1 && (!seating.host_of.empty() || !seating.pods.empty()))
    Adder(methods, seating).run(seating);
}

std::string levels_note(const Seating& seating) {
  if (seating.pods.empty()) return {};
  std::string text;
  for (const Pod& pod : seating.pods) {
    text += "pod of ranks";
    for (size_t i = 0; i < pod.ranks.size() && i < 16; i++) text += " " + std::to_string(pod.ranks[i]);
    if (pod.ranks.size() > 16) text += " ...";
    text += ": " + pod.about + "\n";
  }
  const std::string note = layers_of(seating).note;
  return note.empty() ? text : text + note + "\n";
}

}  // namespace plait::collectives
