#include "runtime/names.h"

#include <iterator>

namespace plait::runtime {

std::string_view dtype_name(int32_t dtype) noexcept {
  static constexpr std::string_view kNames[] = {"int8",    "uint8",    "int32",       "uint32",
                                                "int64",   "uint64",   "float16",     "float32",
                                                "float64", "bfloat16", "float8_e4m3", "float8_e5m2"};
  return dtype >= 0 && dtype < int32_t(std::size(kNames)) ? kNames[dtype] : "dtype ?";
}

std::string_view op_name(int32_t op) noexcept {
  static constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "avg", "premultiplied_sum"};
  if (op >= 0 && op < int32_t(std::size(kNames))) return kNames[op];
  // Those of users have numbers of their own on each rank; ranks compare these.
  return op == 1024 ? "user-defined" : op == 1025 ? "user-defined in rank order" : "op ?";
}

std::string_view call_name(collectives::Collective collective, bool uneven) noexcept {
  using collectives::Collective;
  switch (uneven ? collective : Collective::barrier) {
    case Collective::reduce_scatter:
      return "reduce_scatterv";
    case Collective::allgather:
      return "allgatherv";
    case Collective::gather:
      return "gatherv";
    case Collective::scatter:
      return "scatterv";
    case Collective::alltoall:
      return "alltoallv";
    default:
      return collectives::name_of(collective);
  }
}

}  // namespace plait::runtime
