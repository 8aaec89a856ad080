#include "collectives/choice/outline.h"

#include <bit>

namespace plait::collectives {

int log2_up(int n) noexcept { return int(std::bit_width(unsigned(n) - 1)); }
int log2_down(int n) noexcept { return int(std::bit_width(unsigned(n))) - 1; }

namespace {

struct Row {
  Collective collective;
  std::string_view algorithm;
  Outline (*of)(int n);
};

bool even(int n) { return (n & (n - 1)) == 0; }

// The share of a vector that is not the rank's own.
double others(int n) { return double(n - 1) / n; }

// Messages each of which waits for the one before.
Outline serial(double messages, double moved, double folded, double copied) {
  return {.rounds = messages, .messages = messages, .moved = moved, .folded = folded, .copied = copied};
}
// Messages that wait for nothing of each other.
Outline at_once(double messages, double moved, double folded, double copied) {
  Outline o = serial(messages, moved, folded, copied);
  o.rounds = 1;
  return o;
}
Outline ring(Outline o) {
  o.neighbours = true;
  return o;
}
Outline about(Outline o, bool exact) {
  o.rough = !exact;
  return o;
}
Outline answered(Outline o) {
  o.answered = true;
  return o;
}
// One message to or from each of the others, in all.
Outline one_each(Outline o, int n) {
  o.share = others(n) / o.messages;
  return o;
}
// What the two have of ranks, they have alike.
Outline twice(Outline there, const Outline& back) {
  there.rounds += back.rounds;
  there.messages += back.messages;
  there.moved += back.moved;
  there.folded += back.folded;
  there.hidden += back.hidden;
  there.copied += back.copied;
  there.rough = there.rough || back.rough;
  return there;
}

// Trees of arity k: in each round whoever is reached reaches k-1 more, one after the other.
struct Tree {
  int rounds = 0, messages = 0;  // from the root on; as many as the root sends
  bool full = true;
  Tree(int n, int k) {
    int reached = 1;
    for (; reached * k <= n; reached *= k) rounds++;
    full = reached == n;
    messages = rounds * (k - 1) + (full ? 0 : (n + reached - 1) / reached - 1);
    rounds += !full;
  }
};
Outline tree_broadcast(int n, int k) {
  const Tree t(n, k);
  Outline o = serial(t.messages, t.messages, 0, t.messages);  // who passes on reads it once more
  o.rounds = t.rounds;
  return about(one_each(o, n), t.full);
}
Outline tree_reduce(int n, int k) {
  const Tree t(n, k);
  Outline o = serial(t.messages, t.messages, t.messages, 2 * t.messages);
  o.rounds = t.rounds;
  o.hidden = t.messages - t.rounds;  // but the last of each round
  return about(one_each(o, n), t.full);
}
Outline tree_blocks(int n, int k) {
  const Tree t(n, k);
  Outline o = serial(t.messages, others(n), 0, others(n));
  o.rounds = t.rounds;
  return about(one_each(o, n), t.full);
}
Outline tree_barrier(int n, int k) {
  const Tree t(n, k);
  Outline o = serial(t.messages, 0, 0, 0);
  o.rounds = t.rounds;
  o = about(one_each(o, n), t.full);
  return answered(twice(o, o));
}

// The next power of two takes part; the others hand over to a neighbour before, and hear from it afterwards.
double extra(int n) { return even(n) ? 0 : 1; }

Outline doubling(int n) {
  const double d = log2_down(n), e = extra(n);
  return about(serial(d + 2 * e, d + 2 * e, d + e, e), even(n));
}
Outline rabenseifner(int n) {
  const double d = log2_down(n), e = extra(n), p = double(1 << log2_down(n)), share = (p - 1) / p;
  return about(serial(2 * d + 2 * e, 2 * share + 2 * e, share + e, share + e), even(n));
}
Outline halving(int n) {  // blocks of pairs are twice as large
  const double d = log2_down(n), e = extra(n);
  return about(serial(d + 2 * e, others(n) + e + e / n, others(n) + e, 0), even(n));
}
Outline doubling_blocks(int n) {
  const double d = log2_down(n), e = extra(n);
  return about(serial(d + 2 * e, others(n) + e, 0, others(n)), even(n));
}
Outline butterfly(int n) { return serial(log2_up(n), others(n), others(n), 0); }
Outline butterfly_blocks(int n) { return serial(log2_up(n), others(n), 0, others(n)); }

// In round k every block moves that has bit k in how far it goes: from many places to many.
Outline bruck(int n) {
  double moved = 0;
  for (int bit = 1; bit < n; bit *= 2) {
    for (int c = bit; c < n; c++) moved += (c & bit) != 0;
  }
  return serial(log2_up(n), moved / n, 0, 2 * moved / n);
}

// Somebody's partner is itself in each of the n rounds; from three ranks on nobody gains one by that.
Outline pairwise(int n) {
  const double rounds = n > 2 ? n : 1;
  Outline o = at_once(rounds, rounds / n, 0, others(n));
  o.tight = rounds - 1;
  return o;
}

Outline star_reduce(int n) {
  Outline o = at_once(n - 1, n - 1, n - 1, 2 * (n - 2));
  o.hidden = n - 2;
  return one_each(o, n);
}
Outline star_broadcast(int n) { return one_each(at_once(n - 1, n - 1, 0, 1), n); }

using enum Collective;

// Where they come from: docs/program.md and the headers of the algorithms.
constexpr Row kOutlineRows[] = {
    {allreduce, "ring", [](int n) { return ring(serial(2 * (n - 1), 2 * others(n), others(n), others(n))); }},
    {allreduce, "direct",
     [](int n) {
       return twice(at_once(n - 1, others(n), others(n), 0), at_once(n - 1, others(n), 0, others(n)));
     }},
    {allreduce, "all_to_all", [](int n) { return at_once(n - 1, n - 1, n - 1, 0); }},
    {allreduce, "star", [](int n) { return answered(twice(star_reduce(n), star_broadcast(n))); }},
    {allreduce, "binomial", [](int n) { return answered(twice(tree_reduce(n, 2), tree_broadcast(n, 2))); }},
    {allreduce, "knomial_4", [](int n) { return answered(twice(tree_reduce(n, 4), tree_broadcast(n, 4))); }},
    {allreduce, "recursive_doubling", doubling},
    {allreduce, "rabenseifner", rabenseifner},
    {allreduce, "swing", rabenseifner},
    {allreduce, "bine", rabenseifner},
    {reduce_scatter, "ring", [](int n) { return ring(serial(n - 1, others(n), others(n), 0)); }},
    {reduce_scatter, "direct", [](int n) { return at_once(n - 1, others(n), others(n), 0); }},
    {reduce_scatter, "recursive_halving", halving},
    {reduce_scatter, "swing", butterfly},
    {reduce_scatter, "bine", butterfly},
    {allgather, "ring", [](int n) { return ring(serial(n - 1, others(n), 0, others(n))); }},
    {allgather, "direct", [](int n) { return at_once(n - 1, others(n), 0, others(n)); }},
    {allgather, "recursive_doubling", doubling_blocks},
    {allgather, "swing", butterfly_blocks},
    {allgather, "bine", butterfly_blocks},
    {broadcast, "star", star_broadcast},
    {broadcast, "binomial", [](int n) { return tree_broadcast(n, 2); }},
    {broadcast, "knomial_4", [](int n) { return tree_broadcast(n, 4); }},
    {broadcast, "bine", [](int n) { return tree_broadcast(n, 2); }},
    {reduce, "star", star_reduce},
    {reduce, "direct", [](int n) { return one_each(at_once(n - 1, n - 1, n - 1, 0), n); }},
    {reduce, "binomial", [](int n) { return tree_reduce(n, 2); }},
    {reduce, "knomial_4", [](int n) { return tree_reduce(n, 4); }},
    {reduce, "bine", [](int n) { return tree_reduce(n, 2); }},
    {gather, "linear", [](int n) { return one_each(at_once(n - 1, others(n), 0, others(n)), n); }},
    {gather, "binomial", [](int n) { return tree_blocks(n, 2); }},
    {gather, "knomial_4", [](int n) { return tree_blocks(n, 4); }},
    {gather, "bine", [](int n) { return tree_blocks(n, 2); }},
    {scatter, "linear", [](int n) { return one_each(at_once(n - 1, others(n), 0, 1.0 / n), n); }},
    {scatter, "binomial", [](int n) { return tree_blocks(n, 2); }},
    {scatter, "knomial_4", [](int n) { return tree_blocks(n, 4); }},
    {scatter, "bine", [](int n) { return tree_blocks(n, 2); }},
    {alltoall, "pairwise", pairwise},
    {alltoall, "bruck", bruck},
    {barrier, "dissemination", [](int n) { return serial(log2_up(n), 0, 0, 0); }},
    {barrier, "binomial", [](int n) { return tree_barrier(n, 2); }},
    {barrier, "knomial_4", [](int n) { return tree_barrier(n, 4); }},
};

}  // namespace

std::optional<Outline> outline_of(Collective collective, std::string_view algorithm, int n) noexcept {
  for (const Row& row : kOutlineRows) {
    if (row.collective != collective || row.algorithm != algorithm) continue;
    return n > 1 ? row.of(n) : Outline{};
  }
  return {};
}

}  // namespace plait::collectives
