// Rings of regular shapes, by construction.
#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "topology/rings.h"

namespace plait::topology {
namespace {

// A torus whose links have one colour a ring. At first the colour of a link is its dimension, and the links
// of a colour are many cycles. A square has two links of one colour and two of another, across; exchanging
// their colours keeps every chip at two links of each colour and joins or parts cycles. It goes on until each
// colour is one cycle.
class Colouring {
 public:
  explicit Colouring(const Lattice& lattice)
      : lattice_(lattice), n_(uint32_t(lattice.size())), colours_(lattice.factors().size()) {
    next_.assign(colours_, std::vector<std::array<uint32_t, 2>>(n_));
    for (size_t k = 0; k < colours_; k++) {
      for (uint32_t c = 0; c < n_; c++) next_[k][c] = {step(c, k, 1), step(c, k, -1)};
    }
  }

  std::vector<Cycle> run() {
    label();
    const uint64_t tries = 4000ull * n_ * colours_ + 200000;
    for (uint64_t i = 0; i < tries && effort_ > 0 && cycles() > colours_; i++) {
      // First along the diagonal, which does most of it, then anywhere.
      const uint32_t at = i < n_ ? uint32_t(i) : random(n_);
      const size_t a = random(colours_), b = (a + 1 + random(colours_ - 1)) % colours_;
      exchange(at, a, b, i);
    }
    if (cycles() > colours_) return {};
    std::vector<Cycle> all;
    for (size_t k = 0; k < colours_; k++) all.push_back(walk(k, 0));
    return all;
  }

 private:
  uint32_t random(size_t below) { return uint32_t(random_() % below); }
  uint32_t step(uint32_t c, size_t k, int by) const {
    const uint32_t size = lattice_.factors()[k].size, at = lattice_.coordinate(c, k);
    const uint32_t to = (at + size + uint32_t(by)) % size;
    return uint32_t(c + (int64_t(to) - at) * int64_t(lattice_.stride(k)));
  }
  bool has(size_t k, uint32_t a, uint32_t b) const { return next_[k][a][0] == b || next_[k][a][1] == b; }
  void replace(size_t k, uint32_t at, uint32_t old, uint32_t now) {
    next_[k][at][next_[k][at][0] == old ? 0 : 1] = now;
  }
  Cycle walk(size_t k, uint32_t from) const {
    Cycle cycle;
    uint32_t last = next_[k][from][1], at = from;
    do {
      cycle.push_back(at);
      const uint32_t to = next_[k][at][0] == last ? next_[k][at][1] : next_[k][at][0];
      last = at;
      at = to;
    } while (at != from);
    return cycle;
  }
  void label() {
    count_.assign(colours_, 0);
    label_.assign(colours_, std::vector<uint32_t>(n_, kNone));
    for (size_t k = 0; k < colours_; k++) relabel(k);
  }
  void relabel(size_t k) {
    std::fill(label_[k].begin(), label_[k].end(), kNone);
    count_[k] = 0;
    for (uint32_t c = 0; c < n_; c++) {
      if (label_[k][c] != kNone) continue;
      for (const uint32_t m : walk(k, c)) label_[k][m] = count_[k];
      count_[k]++;
    }
  }
  size_t cycles() const { return std::accumulate(count_.begin(), count_.end(), size_t{0}); }

  void exchange(uint32_t p, size_t a, size_t b, uint64_t turn) {
    const uint32_t q = step(p, a, 1), r = step(p, b, 1), s = step(q, b, 1);
    // p-q
    // |  |
    // r-s
    size_t x = colours_, y = colours_;
    for (size_t k = 0; k < colours_; k++) {
      if (has(k, p, q) && has(k, r, s)) x = k;
      if (has(k, p, r) && has(k, q, s)) y = k;
    }
    if (x == y || x == colours_ || y == colours_) return;
    // Joins two cycles of one colour at least; of the other it may part one, later on. Seldom it may do
    // neither, lest the search stands still.
    const bool joins_x = label_[x][p] != label_[x][r], joins_y = label_[y][p] != label_[y][q];
    if (!joins_x && !joins_y && (turn < n_ || random(16) != 0)) return;
    if (!(joins_x && joins_y) && turn < n_) return;
    const size_t before = cycles();
    effort_ -= std::min<uint64_t>(effort_, 2 * n_);
    swap(x, y, p, q, r, s);
    relabel(x);
    relabel(y);
    if (cycles() < before || (cycles() == before && random(2) == 0) ||
        (cycles() == before + 1 && random(60) == 0))
      return;
    effort_ -= std::min<uint64_t>(effort_, 2 * n_);
    swap(y, x, p, q, r, s);
    relabel(x);
    relabel(y);
  }
  // The links p-q and r-s go from colour x to y, p-r and q-s from y to x.
  void swap(size_t x, size_t y, uint32_t p, uint32_t q, uint32_t r, uint32_t s) {
    replace(x, p, q, r), replace(x, r, s, p), replace(x, q, p, s), replace(x, s, r, q);
    replace(y, p, r, q), replace(y, q, s, p), replace(y, r, p, s), replace(y, s, q, r);
  }

  const Lattice& lattice_;
  const uint32_t n_;
  const size_t colours_;
  std::vector<std::vector<std::array<uint32_t, 2>>> next_;  // of a colour, of a chip
  std::vector<std::vector<uint32_t>> label_;
  std::vector<uint32_t> count_;
  uint64_t effort_ = 400'000'000;
  std::mt19937 random_{4711};
};

// A path through all of a product of lines from `first` on, back and forth.
void snake(const Lattice& lattice, size_t skip, std::vector<uint64_t>& path) {
  path.assign(1, 0);
  for (size_t f = lattice.factors().size(); f-- > 0;) {
    if (f == skip) continue;
    const size_t had = path.size();
    for (uint32_t i = 1; i < lattice.factors()[f].size; i++) {
      for (size_t j = 0; j < had; j++)
        path.push_back(i * lattice.stride(f) + (i % 2 == 1 ? path[had - 1 - j] : path[j]));
    }
  }
}

}  // namespace

std::vector<Cycle> torus_rings(const Lattice& lattice) {
  for (const Factor& f : lattice.factors()) {
    if (f.kind != FactorKind::cycle) return {};
  }
  if (lattice.factors().empty()) return {};
  return Colouring(lattice).run();
}

std::vector<Cycle> full_rings(uint32_t n) {
  // Walecki's: all but one or two chips on a circle, zigzags across it, turned.
  std::vector<Cycle> all;
  if (n < 3) return all;
  const uint32_t even = n % 2 == 1 ? n - 1 : n - 2, half = even / 2;
  for (uint32_t turn = 0; turn < half; turn++) {
    Cycle cycle;
    for (uint32_t i = 0; i < even; i++) {
      const uint32_t across = i % 2 == 0 ? i / 2 : even - (i + 1) / 2;
      cycle.push_back((across + turn) % even);
    }
    cycle.push_back(even);
    // With one chip more, it goes between the two of a link that no other turn would use.
    if (n % 2 == 0) cycle.insert(cycle.begin() + half, even + 1);
    all.push_back(std::move(cycle));
  }
  return all;
}

Cycle mesh_ring(const Lattice& lattice) {
  const auto& factors = lattice.factors();
  size_t even = factors.size();
  for (size_t f = 0; f < factors.size(); f++) {
    if (factors[f].size % 2 == 0) even = f;
  }
  if (even == factors.size() || lattice.size() / factors[even].size < 2) return {};
  std::vector<uint64_t> path;
  snake(lattice, even, path);
  // A mesh of path.size() columns and an even number of rows: down the first column, back through the others.
  const uint64_t row = lattice.stride(even);
  const uint32_t rows = factors[even].size;
  Cycle cycle;
  for (uint32_t i = 0; i < rows; i++) cycle.push_back(uint32_t(i * row + path[0]));
  for (uint32_t i = rows; i-- > 0;) {
    for (size_t j = 1; j < path.size(); j++)
      cycle.push_back(uint32_t(i * row + path[i % 2 == 1 ? j : path.size() - j]));
  }
  return cycle;
}

}  // namespace plait::topology
