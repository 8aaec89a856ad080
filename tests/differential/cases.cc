#include "differential/cases.h"

#include <algorithm>
#include <random>

#include "collectives/algorithms.h"

namespace plait::differential {

using collectives::Collective;

namespace {

bool may_be_uneven(Collective c) { return collectives::parted(c); }

// Those for each of which code of its own may run: operators of data that is only moved do not matter, nor do
// its types.
std::vector<const perf::Dtype*> dtypes_for(Collective c) {
  std::vector<const perf::Dtype*> list;
  for (const perf::Dtype& d : perf::all_dtypes()) {
    const bool enough = collectives::reduces(c) || d.id == PLAIT_INT8 || d.id == PLAIT_FLOAT16 ||
                        d.id == PLAIT_INT32 || d.id == PLAIT_FLOAT64;
    if (enough) list.push_back(&d);
  }
  return list;
}

std::vector<size_t> counts_for(int n) {
  std::vector<size_t> counts = {0, 1, size_t(n - 1), size_t(n), size_t(n + 1), 65537};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace

std::string describe(const Case& c) {
  std::string text(collectives::name_of(c.collective));
  if (c.uneven) text += "v";
  text += " by " + (c.algorithm.empty() ? std::string("plait's choice") : c.algorithm);
  text += ", count " + std::to_string(c.count) + ", " + c.dtype->name;
  if (collectives::reduces(c.collective)) text += std::string(", ") + c.op->name;
  if (collectives::rooted(c.collective)) text += ", root " + std::to_string(c.root);
  return text + (c.in_place ? ", in place, seed " : ", seed ") + std::to_string(c.seed);
}

std::vector<Case> all_cases(int n, uint64_t seed) {
  std::vector<Case> all;
  auto add = [&](Collective collective, const std::string& algorithm, bool uneven) {
    const auto ops = perf::all_ops();
    for (size_t count : counts_for(n)) {
      for (const perf::Dtype* dtype : dtypes_for(collective)) {
        for (size_t o = 0; o < (collectives::reduces(collective) ? ops.size() : 1); o++) {
          for (bool in_place : {false, true}) {
            const int root = int(all.size() / 2 % size_t(n));
            all.push_back(
                {collective, uneven, algorithm, count, dtype, &ops[o], root, in_place, seed + all.size()});
          }
        }
      }
    }
  };
  for (uint32_t k = 0; k < collectives::kCollectives; k++) {
    const auto collective = Collective(k);
    if (collective == Collective::barrier) continue;  // has no data to compare
    for (bool uneven : {false, true}) {
      if (uneven && !may_be_uneven(collective)) continue;
      add(collective, "", uneven);
      for (const auto& a : collectives::algorithms()) {
        if (a.collective == collective && a.accepts(n)) add(collective, std::string(a.name), uneven);
      }
    }
  }
  return all;
}

std::vector<Case> drawn(std::vector<Case> all, size_t most, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::shuffle(all.begin(), all.end(), random);
  if (all.size() > most) all.resize(most);
  return all;
}

std::vector<int> counts_of(const Case& c, int n, uint64_t salt) {
  std::vector<int> counts(size_t(n), int(c.count));
  if (!c.uneven) return counts;
  std::mt19937_64 random(c.seed * 1000003 + salt);
  for (int& count : counts) count = random() % 4 == 0 ? 0 : int(random() % (2 * c.count + 1));
  return counts;
}

std::vector<int> places_of(const Case& c, const std::vector<int>& counts, bool gaps) {
  std::mt19937_64 random(c.seed * 7919 + 1);
  std::vector<int> places;
  int at = 0;
  for (int count : counts) {
    if (c.uneven && gaps) at += int(random() % 5);
    places.push_back(at);
    at += count;
  }
  places.push_back(at);
  return places;
}

}  // namespace plait::differential
