// One fold by the kernel of a type and operator, as a function of vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/reduce/reduce.h"

namespace plait::collectives {

template <class T>
std::vector<T> run(Dtype dtype, ReduceOp op, const std::vector<std::vector<T>>& in, uint32_t ranks = 0) {
  std::vector<T> out(in[0].size());
  std::vector<const std::byte*> inputs;
  for (auto& v : in) inputs.push_back(reinterpret_cast<const std::byte*>(v.data()));
  auto* output = reinterpret_cast<std::byte*>(out.data());
  fold_kernel(dtype, op)({inputs.data(), static_cast<uint32_t>(in.size()), &output, 1, out.size(), ranks});
  return out;
}

}  // namespace plait::collectives
