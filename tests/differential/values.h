// The elements that ranks put in, what they stand for, and how far a result may lie from the exact one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "perf/dtype.h"

namespace plait::differential {

// Element `index` of what `rank` puts in, as a number of the dtype: any bits of an integer; of a float plus
// or minus something in [0.5, 1), so that sums and products of a few ranks neither overflow nor vanish in the
// narrowest type.
void store_value(const perf::Dtype& dtype, uint64_t seed, int rank, size_t index, std::byte* to);

// What an element of a float type stands for.
double load_float(const perf::Dtype& dtype, const std::byte* from);

// Half of the distance between 1 and the next number: the error of one rounding, relative.
double unit_roundoff(const perf::Dtype& dtype);

// How far a fold of n numbers may be from the exact result, whatever its order, when every fold of two rounds
// once to the dtype (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2), and the
// average once more. `magnitude` is the sum of the sizes of the numbers, or of a product its size. Numbers
// below the least normal one of a narrow type round by half of the least subnormal one at each fold.
double error_bound(const perf::Dtype& dtype, int n, double magnitude);

}  // namespace plait::differential
