// Owns what libibverbs and librdmacm make.
#pragma once

#include <memory>

namespace plait::rdma {

template <auto Destroy>
struct Destroyer {
  void operator()(auto* object) const noexcept { Destroy(object); }
};
template <class T, auto Destroy>
using Owned = std::unique_ptr<T, Destroyer<Destroy>>;

}  // namespace plait::rdma
