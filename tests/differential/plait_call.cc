#include <cstring>

#include "differential/call.h"

namespace plait::differential {

using collectives::Collective;

namespace {

// A copy of a vector in plait's memory or in plain memory; given back to the vector in the end.
class Copy {
 public:
  Copy(std::vector<std::byte>& from, bool registered)
      : from_(from), registered_(registered && !from.empty()) {
    if (registered_ && plait_mem_alloc(from.size(), &shared_) == PLAIT_OK)
      std::memcpy(shared_, from.data(), from.size());
  }
  ~Copy() {
    if (shared_ == nullptr) return;
    std::memcpy(from_.data(), shared_, from_.size());
    plait_mem_free(shared_);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  std::byte* data() const { return shared_ != nullptr ? static_cast<std::byte*>(shared_) : from_.data(); }

 private:
  std::vector<std::byte>& from_;
  bool registered_;
  void* shared_ = nullptr;
};

std::vector<size_t> sizes(const std::vector<int>& list, size_t parts) {
  return {list.begin(), list.begin() + ptrdiff_t(parts)};
}

plait_status uneven(const Case& c, const Shape& s, plait_comm* comm, int rank, const void* in, void* out,
                    const plait_call_config* config) {
  const plait_dtype dtype = c.dtype->id;
  const auto in_counts = sizes(s.in_counts, s.in_counts.size()),
             in_places = sizes(s.in_places, s.in_counts.size());
  const auto out_counts = sizes(s.out_counts, s.out_counts.size()),
             out_places = sizes(s.out_places, s.out_counts.size());
  (void)rank;
  switch (c.collective) {
    case Collective::reduce_scatter:
      return plait_reduce_scatterv(comm, in, out, in_counts.data(), dtype, c.op->id, config, nullptr);
    case Collective::allgather:
      return plait_allgatherv(comm, in, out, out_counts.data(), out_places.data(), dtype, config, nullptr);
    case Collective::gather:
      return plait_gatherv(comm, in, in_counts[0], out, out_counts.data(), out_places.data(), dtype, c.root,
                           config, nullptr);
    case Collective::scatter:
      return plait_scatterv(comm, in, in_counts.data(), in_places.data(), out, out_counts[0], dtype, c.root,
                            config, nullptr);
    default:
      return plait_alltoallv(comm, in, in_counts.data(), in_places.data(), out, out_counts.data(),
                             out_places.data(), dtype, config, nullptr);
  }
}

plait_status even(const Case& c, plait_comm* comm, const void* in, void* out,
                  const plait_call_config* config) {
  const plait_dtype dtype = c.dtype->id;
  switch (c.collective) {
    case Collective::allreduce:
      return plait_allreduce(comm, in, out, c.count, dtype, c.op->id, config, nullptr);
    case Collective::reduce_scatter:
      return plait_reduce_scatter(comm, in, out, c.count, dtype, c.op->id, config, nullptr);
    case Collective::allgather:
      return plait_allgather(comm, in, out, c.count, dtype, config, nullptr);
    case Collective::broadcast:
      return plait_broadcast(comm, in, out, c.count, dtype, c.root, config, nullptr);
    case Collective::reduce:
      return plait_reduce(comm, in, out, c.count, dtype, c.op->id, c.root, config, nullptr);
    case Collective::gather:
      return plait_gather(comm, in, out, c.count, dtype, c.root, config, nullptr);
    case Collective::scatter:
      return plait_scatter(comm, in, out, c.count, dtype, c.root, config, nullptr);
    case Collective::alltoall:
      return plait_alltoall(comm, in, out, c.count, dtype, config, nullptr);
    case Collective::barrier:
      break;
  }
  return PLAIT_ERR_INTERNAL;
}

}  // namespace

plait_status run_plait(const Case& c, const Shape& s, plait_comm* comm, int rank, bool registered,
                       Buffers& b) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.algorithm = c.algorithm.empty() ? nullptr : c.algorithm.c_str();
  const size_t element = c.dtype->size;
  const Copy in(b.in, registered), out(b.out, registered);
  std::byte *from = in.data(), *to = out.data();
  if (c.in_place && s.has_in && s.has_out) {
    const bool part_of_in = c.collective == Collective::reduce_scatter || c.collective == Collective::scatter;
    if (part_of_in) {
      to = from + size_t(s.in_places[size_t(rank)]) * element;
    } else {
      from = to + s.in_at * element;
    }
  }
  return c.uneven ? uneven(c, s, comm, rank, from, to, &config) : even(c, comm, from, to, &config);
}

}  // namespace plait::differential
