// What the symbolic machine computes with in place of numbers. Each type says what a value is made of:
//   Fingerprint    in five words, for proofs: each rank's contribution how often, in which sequence, how
//   associated Contributions  by explicit counts, for barriers and to name what a refused program does wrong
//   Expression     as text, to show two associations that differ
// All have atom(rank, chunk), join(left, right, flags of the step), coded(rank, step), empty() and
// `scalings`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/program.h"

namespace plait::collectives {

// A well mixed hash of three words (the finalizer of splitmix64).
constexpr uint64_t mix(uint64_t a, uint64_t b, uint64_t c) noexcept {
  uint64_t x =
      a * 0x9E3779B97F4A7C15u ^ (b + 0x7F4A7C15) * 0xBF58476D1CE4E5B9u ^ (c + 11) * 0x94D049BB133111EBu;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Equal values have equal fingerprints; others differ but for a chance of about 2^-64 a pair.
struct Fingerprint {
  uint64_t contributions = 0;  // a sum over atoms: the multiset, whatever the order
  uint64_t sequence = 0;       // a polynomial in `kBase` over atoms: their order, whatever the association
  uint64_t power = 0;          // kBase to the number of atoms; 0: nothing lies here
  uint64_t tree = 0;      // the association, up to exchanging the operands of a fold, which changes no bits
  uint32_t scalings = 0;  // how often avg has scaled it

  static constexpr uint64_t kBase = 0x100000001B3u;

  static Fingerprint atom(uint32_t rank, uint32_t chunk) noexcept {
    return {mix(rank, chunk, 1), mix(rank, chunk, 2), kBase, mix(rank, chunk, 3), 0};
  }
  static Fingerprint join(const Fingerprint& l, const Fingerprint& r, uint8_t flags) noexcept {
    // A sum that is not rounded is another one than a sum that is.
    uint64_t kind = flags & kChain ? 4 : 5;
    return {l.contributions + r.contributions, l.sequence * r.power + r.sequence, l.power * r.power,
            mix(std::min(l.tree, r.tree), std::max(l.tree, r.tree), kind),
            l.scalings + r.scalings + (flags & kLast ? 1u : 0u)};
  }
  // What is left of it by a codec that loses something, at a step that encodes: none other loses the same.
  Fingerprint coded(uint32_t rank, uint32_t step) const noexcept {
    Fingerprint lossy = *this;
    lossy.tree = mix(tree, uint64_t(rank) << 32 | step, 6);
    return lossy;
  }
  bool empty() const noexcept { return power == 0; }
};

struct Contributions {
  struct Entry {
    uint32_t rank, times;
  };
  std::vector<Entry> entries;  // by rank
  uint32_t scalings = 0;

  static Contributions atom(uint32_t rank, uint32_t /*chunk*/) { return {{{rank, 1}}, 0}; }
  static Contributions join(const Contributions& l, const Contributions& r, uint8_t flags) {
    Contributions sum;
    sum.scalings = l.scalings + r.scalings + (flags & kLast ? 1u : 0u);
    sum.entries.reserve(l.entries.size() + r.entries.size());
    auto a = l.entries.begin(), b = r.entries.begin();
    while (a != l.entries.end() || b != r.entries.end()) {
      if (b == r.entries.end() || (a != l.entries.end() && a->rank < b->rank)) {
        sum.entries.push_back(*a++);
      } else if (a == l.entries.end() || b->rank < a->rank) {
        sum.entries.push_back(*b++);
      } else {
        // Barriers double the counts each round; more than twice is never told apart.
        sum.entries.push_back({a->rank, std::min(2u, a->times + b->times)});
        a++, b++;
      }
    }
    return sum;
  }
  Contributions coded(uint32_t, uint32_t) const { return *this; }
  bool empty() const noexcept { return entries.empty(); }
};

struct Expression {
  std::string text;
  uint32_t scalings = 0;

  static Expression atom(uint32_t rank, uint32_t /*chunk*/) { return {std::to_string(rank), 0}; }
  static Expression join(const Expression& l, const Expression& r, uint8_t flags) {
    // A chain is written without parentheses around its partial sums.
    return {(flags & kChain ? "" : "(") + l.text + "+" + r.text + (flags & kChain ? "" : ")"), 0};
  }
  Expression coded(uint32_t rank, uint32_t step) const {
    return {text + " encoded by rank " + std::to_string(rank) + " step " + std::to_string(step), scalings};
  }
  bool empty() const noexcept { return text.empty(); }
};

}  // namespace plait::collectives
