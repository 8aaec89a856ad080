// What ranks ask of plait_comm_split at random, what must come of it, and whether a child works.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/ranks.h"

namespace plait::test {

struct Asked {
  int32_t color, key;
};

// What each of `n` ranks asks for; alike wherever it is drawn from an equal state of `random`.
inline std::vector<Asked> draw(std::mt19937_64& random, int n) {
  std::vector<Asked> all;
  const int colors = 1 + int(random() % uint64_t(n));
  for (int r = 0; r < n; r++) {
    const bool none = random() % 8 == 0;
    const int32_t color = none ? PLAIT_NO_COLOR : int32_t(random() % uint64_t(colors)) * 1'000'003;
    all.push_back({color, int32_t(random() % 5) - 2});  // keys tie
  }
  return all;
}

// The ranks of the child of `rank`, in its order; none: it gets none.
inline std::vector<int> members(const std::vector<Asked>& all, int rank) {
  std::vector<int> ranks;
  if (all[size_t(rank)].color < 0) return ranks;
  for (int r = 0; r < int(all.size()); r++) {
    if (all[size_t(r)].color == all[size_t(rank)].color) ranks.push_back(r);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](int a, int b) { return all[size_t(a)].key < all[size_t(b)].key; });
  return ranks;
}

// Each of `ranks`, this one named `me` among them, gives that name: are they there, in this order, and is the
// sum of `count` elements right?
inline std::string check_child(plait_comm* child, const std::vector<int>& ranks, int me, size_t count) {
  int32_t rank = -1, size = -1;
  plait_comm_rank(child, &rank);
  plait_comm_size(child, &size);
  if (size != int32_t(ranks.size()) || rank < 0 || rank >= size || ranks[size_t(rank)] != me)
    return "is rank " + std::to_string(rank) + " of " + std::to_string(size);
  std::vector<int32_t> all(ranks.size(), -1);
  const int32_t mine = me;
  if (plait_allgather(child, &mine, all.data(), 1, PLAIT_INT32, nullptr, nullptr) != PLAIT_OK)
    return std::string("allgather: ") + plait_last_error(child);
  if (!std::equal(all.begin(), all.end(), ranks.begin())) return "ranks are in another order";
  std::vector<int32_t> x(count);
  for (size_t i = 0; i < count; i++) x[i] = int32_t(i % 100) * (me + 1);
  if (plait_allreduce(child, x.data(), x.data(), count, PLAIT_INT32, PLAIT_SUM, nullptr, nullptr) != PLAIT_OK)
    return std::string("allreduce: ") + plait_last_error(child);
  int32_t weight = 0;
  for (int r : ranks) weight += r + 1;
  for (size_t i = 0; i < count; i++) {
    if (x[i] != int32_t(i % 100) * weight) return "element " + std::to_string(i) + " is wrong";
  }
  return {};
}

}  // namespace plait::test
