#include "runtime/operators.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/names.h"

namespace plait::runtime {

using collectives::Dtype;
using collectives::ReduceOp;

namespace {

constexpr int32_t kCommutes = kFirstUserOp, kKeepsOrder = kFirstUserOp + 1;  // as ranks compare them

struct Table {
  std::mutex mutex;
  plait_op last = kFirstUserOp - 1;  // numbers are never used twice: what is remembered of one stays true
  std::unordered_map<plait_op, std::unique_ptr<UserOperator>> operators;
};

Table& table() {
  static auto* t = new Table;
  return *t;
}

Status bad(std::string why) { return {Code::invalid, std::move(why)}; }

// A float of `exponent` and `mantissa` bits below its sign.
double decoded(uint32_t bits, int exponent, int mantissa, bool has_infinities) {
  const int e = int(bits >> mantissa & ((1u << exponent) - 1)), bias = (1 << (exponent - 1)) - 1;
  const uint32_t m = bits & ((1u << mantissa) - 1), every = (1u << mantissa) - 1;
  const double sign = (bits >> (exponent + mantissa) & 1) != 0 ? -1 : 1;
  if (e == (1 << exponent) - 1) {
    if (has_infinities && m == 0) return sign * std::numeric_limits<double>::infinity();
    if (has_infinities || m == every) return std::numeric_limits<double>::quiet_NaN();
  }
  if (e == 0) return sign * std::ldexp(m, 1 - bias - mantissa);
  return sign * std::ldexp((1u << mantissa) + m, e - bias - mantissa);
}

// Reads the element that contributions are multiplied by.
void read_factor(const void* from, Dtype dtype, collectives::Operator& to) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, collectives::size_of(dtype));
  to.integer = bits;
  const auto low = uint32_t(bits);
  switch (dtype) {
    case Dtype::float16:
      to.real = decoded(low, 5, 10, true);
      break;
    case Dtype::bfloat16:
      to.real = decoded(low, 8, 7, true);
      break;
    case Dtype::float8_e4m3:
      to.real = decoded(low, 4, 3, false);
      break;
    case Dtype::float8_e5m2:
      to.real = decoded(low, 5, 2, true);
      break;
    case Dtype::float32:
      to.real = double(std::bit_cast<float>(low));
      break;
    case Dtype::float64:
      to.real = std::bit_cast<double>(bits);
      break;
    default:
      break;
  }
}

Status check(const plait_op_desc& desc) {
  if (desc.function == nullptr && desc.scaling == nullptr)
    return bad("plait_op_create: neither function nor scaling is given");
  if (desc.function != nullptr && desc.scaling != nullptr)
    return bad("plait_op_create: function and scaling exclude each other");
  if (desc.scaling != nullptr && (desc.dtype < 0 || desc.dtype >= collectives::kDtypes))
    return bad("plait_op_create: dtype " + std::to_string(desc.dtype) + ", that of scaling, is unknown");
  return {};
}

// Values so narrow that sums leave their range or wear out their precision.
bool is_narrow_float(Dtype dtype) noexcept {
  return dtype == Dtype::float16 || dtype == Dtype::bfloat16 || dtype == Dtype::float8_e4m3 ||
         dtype == Dtype::float8_e5m2;
}

// The power of two that scales sums of so many values to within the range of the values.
double downscale(int32_t ranks) noexcept {
  return std::ldexp(1.0, -int(std::bit_width(uint32_t(ranks - 1))));
}

}  // namespace

Result<plait_op> add_operator(const plait_op_desc& desc) {
  PLAIT_TRY(check(desc));
  auto op = std::make_unique<UserOperator>();
  op->commutes = desc.scaling != nullptr || desc.commutative != 0;
  op->kernel.function = desc.function;
  op->kernel.context = desc.context;
  if (desc.scaling != nullptr) {
    op->kernel.dtype = Dtype(desc.dtype);
    read_factor(desc.scaling, op->kernel.dtype, op->kernel);
  }
  std::lock_guard lock(table().mutex);
  if (table().last == std::numeric_limits<plait_op>::max())
    return Status(Code::memory, "plait_op_create: no number is left");
  table().operators.emplace(++table().last, std::move(op));
  return table().last;
}

Status remove_operator(plait_op op) {
  std::lock_guard lock(table().mutex);
  auto it = table().operators.find(op);
  if (it == table().operators.end()) {
    return bad("plait_op_free: op " + std::to_string(op) +
               " was not made by plait_op_create, or was freed before");
  }
  if (it->second->uses > 0) {
    return {Code::state, "plait_op_free: " + std::to_string(it->second->uses) + " requests or plans use op " +
                             std::to_string(op) + "; free them first"};
  }
  table().operators.erase(it);
  return {};
}

Result<const UserOperator*> use_operator(plait_op op, Dtype dtype) {
  std::lock_guard lock(table().mutex);
  auto it = table().operators.find(op);
  if (it == table().operators.end())
    return bad("op " + std::to_string(op) + " was not made by plait_op_create, or was freed");
  UserOperator& found = *it->second;
  if (found.scales() && found.kernel.dtype != dtype) {
    return bad("op " + std::to_string(op) + " scales by a " +
               std::string(dtype_name(int32_t(found.kernel.dtype))) + ", the call is of " +
               std::string(dtype_name(int32_t(dtype))));
  }
  found.uses++;
  return &found;
}

void let_go(const UserOperator* op) noexcept {
  if (op == nullptr) return;
  std::lock_guard lock(table().mutex);
  const_cast<UserOperator*>(op)->uses--;  // the table's own
}

void forget_operators(bool forked) noexcept {
  if (forked) {
    const plait_op last = table().last;
    (new (&table()) Table)->last = last;
    return;
  }
  std::lock_guard lock(table().mutex);
  std::erase_if(table().operators, [](const auto& entry) { return entry.second->uses == 0; });
}

int32_t compared(const Args& args) noexcept {
  if (args.custom == nullptr) return int32_t(args.op);
  if (args.custom->scales()) return PLAIT_PREMULTIPLIED_SUM;
  return args.custom->commutes ? kCommutes : kKeepsOrder;
}

bool contributions_enter(const Args& args, const collectives::Method& method, int32_t ranks) noexcept {
  if (args.custom != nullptr) return args.custom->scales();
  return args.op == ReduceOp::avg && collectives::reduces(args.collective) && is_narrow_float(args.dtype) &&
         !method.deterministic && ranks > 1;
}

void bind_operator(const Args& args, bool entering, int32_t ranks, collectives::real::Call& call) noexcept {
  if (!collectives::reduces(args.collective)) return;
  const bool averages = args.custom == nullptr && args.op == ReduceOp::avg;
  call.ranks = averages ? uint32_t(ranks) : 0;
  if (args.custom != nullptr) call.op = args.custom->kernel;
  call.op.dtype = args.dtype;
  if (entering) {
    call.fold = collectives::scaled_kernel(args.dtype);
    if (averages) call.op.real = downscale(ranks);
  } else {
    call.fold =
        args.custom != nullptr ? collectives::user_kernel() : collectives::fold_kernel(args.dtype, args.op);
  }
}

}  // namespace plait::runtime
