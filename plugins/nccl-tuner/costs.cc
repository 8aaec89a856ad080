#include "costs.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace plait::nccl::tuner {
namespace {

using collectives::Collective;

constexpr double kMicro = 1e-6;
// NCCL makes a ring of 8-bit floats 1024 times as dear; no ring of its own model is so much worse than a
// tree.
constexpr float kPutLast = 256;

uint64_t bytes_of(int size_class) { return size_class == 0 ? 0 : uint64_t{1} << (size_class - 1); }

float least(const Table& table, TunerAlgorithm algorithm) noexcept {
  float best = std::numeric_limits<float>::infinity();
  if (int(algorithm) >= table.algorithms()) return best;
  for (int p = 0; p < table.protocols(); p++) {
    const float t = table.at(int(algorithm), p);
    if (t >= 0) best = std::min(best, t);
  }
  return best;
}

bool ring_put_last(const Table& table) noexcept {
  float others = std::numeric_limits<float>::infinity();
  for (int a = 0; a < table.algorithms(); a++)
    if (TunerAlgorithm(a) != TunerAlgorithm::ring) others = std::min(others, least(table, TunerAlgorithm(a)));
  return least(table, TunerAlgorithm::ring) > kPutLast * others;
}

// Of an entry that is offered: plait's microseconds; negative: it has none.
double predicted(const Times& seconds, int algorithm, int protocol, bool ring_last) noexcept {
  for (size_t w = 0; w < kWays; w++) {
    if (int(kRows[w]) != algorithm || protocol >= tuner_protocols) continue;
    if (Way(w) == Way::ring && ring_last) continue;
    return seconds[w][size_t(protocol)] / kMicro;
  }
  return -1;
}

template <class F>
void each_offered(const Table& table, F f) noexcept {
  for (int a = 0; a < table.algorithms(); a++)
    for (int p = 0; p < table.protocols(); p++)
      if (table.at(a, p) >= 0) f(a, p, table.at(a, p));
}

}  // namespace

std::optional<Collective> collective_of(int32_t function) noexcept {
  switch (Function(function)) {
    case Function::broadcast:
      return Collective::broadcast;
    case Function::reduce:
      return Collective::reduce;
    case Function::allgather:
      return Collective::allgather;
    case Function::reduce_scatter:
      return Collective::reduce_scatter;
    case Function::allreduce:
      return Collective::allreduce;
  }
  return {};
}

void put_costs(const Times& seconds, const Table& table) noexcept {
  const bool ring_last = ring_put_last(table);
  double theirs = std::numeric_limits<double>::infinity(), ours = theirs;
  each_offered(table, [&](int a, int p, float t) {
    const double mine = predicted(seconds, a, p, ring_last);
    if (mine < 0) return;
    theirs = std::min(theirs, double(t));
    ours = std::min(ours, mine);
  });
  if (ours == std::numeric_limits<double>::infinity()) return;
  const double scale = theirs > 0 ? ours / theirs : 1;
  each_offered(table, [&](int a, int p, float& t) {
    const double mine = predicted(seconds, a, p, ring_last);
    t = float(mine >= 0 ? mine : t * scale);
  });
}

Result<const Times*> Costs::at(Collective collective, int size_class) {
  auto& kept = known_[size_t(collective)][size_t(size_class)];
  if (!kept) {
    const auto made = model_.times(collective, bytes_of(size_class));
    if (!made.ok()) return made.status();
    kept = *made;
  }
  return &*kept;
}

Result<Times> Costs::times(Collective collective, uint64_t bytes, int operations) {
  static_assert(size_t(Collective::reduce) < kFunctions && size_t(Collective::allreduce) < kFunctions);
  if (size_t(collective) >= kFunctions)
    return Status(Code::invalid, "NCCL has no choice of algorithms for it");
  const int upper =
      std::min(int(std::bit_width(bytes == 0 ? 0 : bytes - 1)) + (bytes == 0 ? 0 : 1), kClasses - 1);
  const int lower = std::max(upper - 1, 0);
  const std::lock_guard lock(mutex_);
  const auto none = at(collective, 0), below = at(collective, lower), above = at(collective, upper);
  for (const auto* one : {&none, &below, &above})
    if (!one->ok()) return one->status();
  const double width = double(bytes_of(upper) - bytes_of(lower));
  const double x = width > 0 ? (double(bytes) - double(bytes_of(lower))) / width : 0;
  Times times;
  for (size_t w = 0; w < kWays; w++) {
    const double again = Way(w) == Way::ring ? std::max(operations, 1) - 1 : 0;
    for (size_t p = 0; p < tuner_protocols; p++) {
      const double from = (**below)[w][p], to = (**above)[w][p];
      times[w][p] = from < 0 ? -1 : from + (to - from) * x + again * (**none)[w][p];
    }
  }
  return times;
}

}  // namespace plait::nccl::tuner
