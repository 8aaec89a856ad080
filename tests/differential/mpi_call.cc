#include <algorithm>

#include "differential/call.h"
#include "differential/values.h"

namespace plait::differential {

using collectives::Collective;

namespace {

MPI_Datatype type_of(const perf::Dtype& dtype) {
  switch (dtype.id) {
    case PLAIT_INT8:
      return MPI_INT8_T;
    case PLAIT_UINT8:
      return MPI_UINT8_T;
    case PLAIT_INT32:
      return MPI_INT32_T;
    case PLAIT_UINT32:
      return MPI_UINT32_T;
    case PLAIT_INT64:
      return MPI_INT64_T;
    case PLAIT_UINT64:
      return MPI_UINT64_T;
    case PLAIT_FLOAT32:
      return MPI_FLOAT;
    case PLAIT_FLOAT64:
      return MPI_DOUBLE;
    default:
      return dtype.size == 1 ? MPI_UINT8_T : MPI_UINT16_T;
  }
}

MPI_Op op_of(const perf::Op& op) {
  switch (op.id) {
    case PLAIT_PROD:
      return MPI_PROD;
    case PLAIT_MAX:
      return MPI_MAX;
    case PLAIT_MIN:
      return MPI_MIN;
    default:
      return MPI_SUM;  // of an average, too: divided afterwards
  }
}

void reduce(const Case& c, const Shape& s, const void* in, void* out, MPI_Datatype type) {
  switch (c.collective) {
    case Collective::reduce_scatter:
      MPI_Reduce_scatter(in, out, s.in_counts.data(), type, op_of(*c.op), MPI_COMM_WORLD);
      break;
    case Collective::reduce:
      MPI_Reduce(in, out, s.in_counts[0], type, op_of(*c.op), c.root, MPI_COMM_WORLD);
      break;
    default:
      MPI_Allreduce(in, out, s.in_counts[0], type, op_of(*c.op), MPI_COMM_WORLD);
  }
}

void move(const Case& c, const Shape& s, const void* in, void* out, MPI_Datatype type) {
  switch (c.collective) {
    case Collective::allgather:
      MPI_Allgatherv(in, s.in_counts[0], type, out, s.out_counts.data(), s.out_places.data(), type,
                     MPI_COMM_WORLD);
      break;
    case Collective::gather:
      MPI_Gatherv(in, s.in_counts[0], type, out, s.out_counts.data(), s.out_places.data(), type, c.root,
                  MPI_COMM_WORLD);
      break;
    case Collective::scatter:
      MPI_Scatterv(in, s.in_counts.data(), s.in_places.data(), type, out, s.out_counts[0], type, c.root,
                   MPI_COMM_WORLD);
      break;
    case Collective::alltoall:
      MPI_Alltoallv(in, s.in_counts.data(), s.in_places.data(), type, out, s.out_counts.data(),
                    s.out_places.data(), type, MPI_COMM_WORLD);
      break;
    default:
      break;
  }
}

template <class T>
void divide(std::byte* data, size_t count, int n) {
  T* values = reinterpret_cast<T*>(data);
  for (size_t i = 0; i < count; i++) values[i] = T(values[i] / T(n));
}

void divide(const perf::Dtype& dtype, std::byte* data, size_t count, int n) {
  switch (dtype.id) {
    case PLAIT_INT8:
      return divide<int8_t>(data, count, n);
    case PLAIT_UINT8:
      return divide<uint8_t>(data, count, n);
    case PLAIT_INT32:
      return divide<int32_t>(data, count, n);
    case PLAIT_UINT32:
      return divide<uint32_t>(data, count, n);
    case PLAIT_INT64:
      return divide<int64_t>(data, count, n);
    case PLAIT_UINT64:
      return divide<uint64_t>(data, count, n);
    case PLAIT_FLOAT32:
      return divide<float>(data, count, n);
    default:
      return divide<double>(data, count, n);
  }
}

int ranks() {
  int n = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}

// MPI works on copies with input and output apart: what it is compared with is the meaning, not MPI's own in
// place.
struct Apart {
  std::vector<std::byte> in, out;
};

Apart apart(const Case& c, const Shape& s, int rank) {
  Case plain = c;
  plain.in_place = false;
  Buffers b = fill(plain, s, rank);
  return {std::move(b.in), std::move(b.out)};
}

// Puts the output of a call that was not in place where one in place has it.
void put_back(const Case& c, const Shape& s, int rank, Apart apart, Buffers& b) {
  const bool in_place = c.in_place && s.has_in && s.has_out;
  if (!in_place) {
    b.out = std::move(apart.out);
  } else if (c.collective == Collective::reduce_scatter || c.collective == Collective::scatter) {
    const auto at = ptrdiff_t(size_t(s.in_places[size_t(rank)]) * c.dtype->size);
    std::copy(apart.out.begin(), apart.out.end(), b.in.begin() + at);
  } else {
    // Only the parts: between them lies what lay there before.
    for (size_t p = 0; p < s.out_counts.size(); p++) {
      const auto at = ptrdiff_t(size_t(s.out_places[p]) * c.dtype->size);
      const auto bytes = ptrdiff_t(size_t(s.out_counts[p]) * c.dtype->size);
      std::copy_n(apart.out.begin() + at, bytes, b.out.begin() + at);
    }
  }
}

}  // namespace

bool mpi_reduces(const perf::Dtype& dtype) {
  return !dtype.is_float || dtype.id == PLAIT_FLOAT32 || dtype.id == PLAIT_FLOAT64;
}

void run_mpi(const Case& c, const Shape& s, int rank, Buffers& b, std::vector<double>& reduced) {
  Apart own = apart(c, s, rank);
  reduced.clear();
  if (collectives::reduces(c.collective) && !mpi_reduces(*c.dtype)) {
    std::vector<double> in(s.in_elements);
    for (size_t i = 0; i < in.size(); i++) in[i] = load_float(*c.dtype, own.in.data() + i * c.dtype->size);
    reduced.resize(s.out_elements);
    reduce(c, s, in.data(), reduced.data(), MPI_DOUBLE);
    if (c.op->id == PLAIT_AVG) {
      for (double& value : reduced) value /= ranks();
    }
    return;
  }
  const MPI_Datatype type = type_of(*c.dtype);
  if (c.collective == Collective::broadcast) {
    if (rank == c.root) own.out = own.in;
    MPI_Bcast(own.out.data(), s.out_counts[0], type, c.root, MPI_COMM_WORLD);
  } else if (collectives::reduces(c.collective)) {
    reduce(c, s, own.in.data(), own.out.data(), type);
    if (c.op->id == PLAIT_AVG && s.has_out) divide(*c.dtype, own.out.data(), s.out_elements, ranks());
  } else {
    move(c, s, own.in.data(), own.out.data(), type);
  }
  put_back(c, s, rank, std::move(own), b);
}

}  // namespace plait::differential
