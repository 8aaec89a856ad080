// The rows of the table, as each family of algorithms offers them, and what rows are made of.
#pragma once

#include <algorithm>
#include <span>

#include "collectives/algorithms.h"

namespace plait::collectives {

using Rows = std::span<const Algorithm>;

Rows ring_rows() noexcept;
Rows pipeline_rows() noexcept;
Rows direct_rows() noexcept;
Rows star_rows() noexcept;
Rows linear_rows() noexcept;
Rows tree_rows() noexcept;
Rows double_tree_rows() noexcept;
Rows doubling_rows() noexcept;
Rows halving_rows() noexcept;
Rows swing_rows() noexcept;
Rows bine_rows() noexcept;
Rows pat_rows() noexcept;
Rows alltoall_rows() noexcept;
Rows dissemination_rows() noexcept;

namespace rows {

// For Algorithm::accepts.
inline bool any_number(int n) { return n >= 1; }
inline bool power_of_two(int n) { return n >= 1 && (n & (n - 1)) == 0; }

// For Algorithm::chunks.
inline uint32_t one(int) { return 1; }
inline uint32_t one_each(int n) { return uint32_t(n); }

}  // namespace rows
}  // namespace plait::collectives
