// One case on one rank: its buffers, and the call made by plait and by MPI.
#pragma once

#include <mpi.h>
#include <plait/plait.h>

#include <string>
#include <vector>

#include "differential/cases.h"

namespace plait::differential {

// Counts and places of a rank's two buffers, in elements, part by part; a collective that has no parts has
// one.
struct Shape {
  std::vector<int> in_counts, in_places;
  std::vector<int> out_counts, out_places;
  size_t in_elements = 0, out_elements = 0;  // of the buffers, gaps included
  size_t in_at = 0;                          // in place: where in the output buffer this rank's input lies
  bool has_in = true, has_out = true;        // on this rank
};

Shape shape_of(const Case& c, int rank, int n);

// The input of a rank, and an output of which each byte is 0xA5 where the call writes nothing.
struct Buffers {
  std::vector<std::byte> in, out;  // in place: `in` is empty, and the input lies in `out`
};
Buffers fill(const Case& c, const Shape& shape, int rank);

// By plait, on copies in plait's memory when `registered`. PLAIT_ERR_UNSUPPORTED: this algorithm does not do
// this call.
plait_status run_plait(const Case& c, const Shape& shape, plait_comm* comm, int rank, bool registered,
                       Buffers& buffers);

// By MPI, in MPI_COMM_WORLD. Types that MPI does not have travel as bytes; where they are reduced, `reduced`
// gets the reduction of the numbers that they stand for, as doubles, one an element of the output, and the
// buffers stay.
void run_mpi(const Case& c, const Shape& shape, int rank, Buffers& buffers, std::vector<double>& reduced);

// Whether MPI reduces in the dtype itself.
bool mpi_reduces(const perf::Dtype& dtype);

}  // namespace plait::differential
