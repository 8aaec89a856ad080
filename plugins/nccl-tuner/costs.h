// NCCL's table of costs with plait's predictions in it, for one communicator.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "nccl-tuner/abi.h"
#include "nccl-tuner/model.h"

namespace plait::nccl::tuner {

// NCCL's table: a row an algorithm, a column a protocol; either may be more than there are names for.
class Table {
 public:
  Table(float* first, int algorithms, int protocols) noexcept
      : first_(first), algorithms_(algorithms), protocols_(protocols) {}
  int algorithms() const noexcept { return algorithms_; }
  int protocols() const noexcept { return protocols_; }
  float& at(int algorithm, int protocol) const noexcept { return first_[algorithm * protocols_ + protocol]; }

 private:
  float* first_;
  int algorithms_, protocols_;
};

// Nothing where plait has no collective of that kind: NCCL's numbers stay.
std::optional<collectives::Collective> collective_of(int32_t function) noexcept;

// Writes what is predicted, in seconds, over what NCCL offers. Entries that plait knows nothing of keep their
// place beside the best of those it does know: they are scaled as that one was, as two models' microseconds
// do not compare. The ring stays with them where NCCL has put it last (a reduction of 8-bit floats loses
// digits along it). Nothing is written where NCCL offers none that plait knows.
void put_costs(const Times& seconds, const Table& table) noexcept;

// Predictions, made when they are first asked for and kept. Any thread.
class Costs {
 public:
  explicit Costs(const Model& model) : model_(model) {}

  // Between powers of two of bytes predictions are on the line that joins theirs. `operations`: of a group,
  // which NCCL runs as one; a ring takes its steps for each of them.
  Result<Times> times(collectives::Collective collective, uint64_t bytes, int operations);
  const Model& model() const noexcept { return model_; }

 private:
  static constexpr int kClasses = 42;  // no bytes, 1, 2, 4, .. 2^40; more are in proportion
  static constexpr int kFunctions = 5;
  Result<const Times*> at(collectives::Collective collective, int size_class);

  const Model model_;
  std::mutex mutex_;
  std::array<std::array<std::optional<Times>, kClasses>, kFunctions> known_;
};

}  // namespace plait::nccl::tuner
