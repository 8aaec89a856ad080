#include "runtime/low_rank.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/communicator.h"

namespace plait::runtime {

using collectives::Collective;
using collectives::Dtype;
using collectives::ReduceOp;
namespace lowrank = collectives::lowrank;

namespace {

// Seconds that a byte of the tensor takes, for all passes over it.
constexpr double kByteSeconds = 0.8e-9;

lowrank::Shape matrix_of(const Args& a) {
  lowrank::Shape shape{size_t(a.rows), size_t(a.columns), a.codec->rank};
  shape.rank = std::min({shape.rank, shape.rows, shape.columns});
  return shape;
}

bool is_finite(const LowRank& l) {
  return std::all_of(l.error, l.error + l.shape.elements(), [](float e) { return std::isfinite(e); });
}

// The sum of one factor, in place.
Args sum_of(const Args& call, float* factor, size_t elements) {
  Args a;
  a.collective = Collective::allreduce;
  a.in = a.out = factor;
  a.count = elements;
  a.dtype = Dtype::float32;
  a.op = ReduceOp::sum;
  a.algorithm = call.algorithm;
  a.codec = call.codec;
  return a;
}

}  // namespace

// Where factors have fewer elements than the matrix, and that is predicted to pay: alike on all ranks.
bool Communicator::is_low_rank(const Args& args) {
  if (args.codec == nullptr || args.codec->rank == 0 || config_.size == 1 || args.rows == 0) return false;
  const lowrank::Shape shape = matrix_of(args);
  if (shape.p_elements() + shape.q_elements() >= shape.elements()) return false;
  if (args.codec->always) return true;
  collectives::Shape whole = shape_of(args, nullptr, true), left = whole, right = whole;
  left.bytes = shape.p_elements() * sizeof(float);
  right.bytes = shape.q_elements() * sizeof(float);
  const double passes = double(whole.bytes) * kByteSeconds;
  return planner_->predicted(left) + planner_->predicted(right) + passes < planner_->predicted(whole);
}

Status Communicator::make_low_rank(plait_request& request) {
  const Args& args = request.args;
  auto tensor = tensors_.find(args.tensor_key, *args.codec, matrix_of(args));
  if (!tensor.ok()) return tensor.status();
  LowRank& l = *(*tensor)->low_rank;
  if (!l.prepared || l.of_left.args.algorithm.data() != args.algorithm.data()) {
    while (head_ != nullptr) wait(tail_);  // who may use them
    l.prepared = false;
    PLAIT_TRY(fill(sum_of(args, l.left, l.shape.p_elements()), l.of_left));
    PLAIT_TRY(fill(sum_of(args, l.right, l.shape.q_elements()), l.of_right));
    l.prepared = true;
  }
  if (request.persistent) PLAIT_TRY(fill(args, request.own));
  request.tensor = *tensor;
  request.low_rank = &l;
  request.prepared = &l.of_left;
  return {};
}

// The tensor, with what was left out of it, times the right factor of the call before.
void Communicator::begin_low_rank(plait_request& request) noexcept {
  LowRank& l = *request.low_rank;
  if (request.tensor->turn++ == 0) lowrank::start(l.shape, request.args.tensor_key, l.right);
  lowrank::project(l.shape, static_cast<const float*>(request.args.in), l.error, l.right, l.left);
  request.prepared = &l.of_left;
  request.factor = l.left;
  coded_calls_++;
  low_rank_.values += l.shape.elements() * sizeof(float);
  low_rank_.wires += (l.shape.p_elements() + l.shape.q_elements()) * sizeof(float);
}

// What comes after one of the two sums. False: nothing, the call is done.
bool Communicator::next_of_low_rank(plait_request& request) noexcept {
  LowRank& l = *request.low_rank;
  const auto* m = static_cast<const float*>(request.args.in);
  if (request.factor == l.left) {
    lowrank::orthonormalise(l.shape, l.left);
    lowrank::project_back(l.shape, m, l.error, l.left, l.own_right);
    lowrank::keep_error(l.shape, m, l.error, l.left, l.own_right);
    std::memcpy(l.right, l.own_right, l.shape.q_elements() * sizeof(float));
    request.prepared = &l.of_right;
    request.factor = l.right;
    request.number++;
    return true;
  }
  const float scale = request.args.op == ReduceOp::avg ? 1.f / float(config_.size) : 1.f;
  lowrank::reconstruct(l.shape, l.left, l.right, scale, static_cast<float*>(request.args.out));
  request.factor = nullptr;
  // Columns that are zero, or no numbers, would stay so: all ranks begin them anew, and forget a gradient
  // that was none.
  if (lowrank::revive(l.shape, request.args.tensor_key + request.tensor->turn, l.right) > 0 && !is_finite(l))
    std::memset(l.error, 0, l.shape.elements() * sizeof(float));
  return false;
}

}  // namespace plait::runtime
