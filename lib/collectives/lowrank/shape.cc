#include <algorithm>
#include <string>

#include "collectives/lowrank/lowrank.h"

namespace plait::collectives::lowrank {
namespace {

// The product of `dims`, or one more than `most` where it is larger or a dimension is negative.
size_t product(std::span<const int64_t> dims, size_t most) noexcept {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  size_t total = 1;
  for (const int64_t d : dims) {
    if (d < 0 || static_cast<size_t>(d) > most / total) return most + 1;
    total *= static_cast<size_t>(d);
  }
  return total;
}

std::string listed(std::span<const int64_t> dims) {
  std::string text;
  for (const int64_t d : dims) text += (text.empty() ? "" : " x ") + std::to_string(d);
  return text;
}

}  // namespace

Result<Shape> shape_of(std::span<const int64_t> dims, size_t elements, size_t rank) {
  if (rank == 0)
    return Status(Code::invalid, "low-rank compression needs a rank of 1 or more; 1 to 4 are usual");
  if (!dims.empty() && product(dims, elements) != elements)
    return Status(Code::invalid, "the dimensions " + listed(dims) + " do not multiply to the tensor's " +
                                     std::to_string(elements) + " elements");
  if (dims.size() < 2 || elements == 0)
    return Status(Code::unsupported,
                  "low-rank compression needs a matrix; reduce tensors of one dimension as they are");
  Shape shape;
  shape.rows = static_cast<size_t>(dims[0]);
  shape.columns = elements / shape.rows;
  shape.rank = std::min({rank, shape.rows, shape.columns, kMaxRank});
  // Divided, not multiplied: rows + columns is at most elements + 1, but `rank` times that may overflow.
  if (shape.rows + shape.columns > (elements - 1) / shape.rank)
    return Status(Code::unsupported, "a matrix of " + std::to_string(shape.rows) + " x " +
                                         std::to_string(shape.columns) + " is no larger than what rank " +
                                         std::to_string(shape.rank) + " sends; reduce it as it is");
  return shape;
}

}  // namespace plait::collectives::lowrank
