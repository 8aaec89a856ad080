// plait.h: what is wrong with the arguments of a collective.
#include <cstring>
#include <limits>

#include "runtime/api.h"
#include "runtime/arguments.h"
#include "runtime/codecs.h"
#include "runtime/operators.h"

namespace plait::runtime {

using collectives::Collective;

Status bad(const char* function, const std::string& why) {
  return {Code::invalid, std::string(function) + ": " + why};
}

Status check_dtype(const char* function, plait_dtype dtype) {
  if (int(dtype) >= 0 && int(dtype) < collectives::kDtypes) return {};
  return bad(function, "dtype " + std::to_string(int(dtype)) + " is unknown");
}

namespace {

Status check_op(const char* function, plait_op op) {
  if ((op >= 0 && op < collectives::kReduceOps) || op >= kFirstUserOp) return {};
  if (op == PLAIT_PREMULTIPLIED_SUM)
    return bad(function, "premultiplied_sum needs a scaling: plait_op_create makes an op of one");
  return bad(function, "op " + std::to_string(op) + " is unknown");
}

// Of a codec that loses something: sums of floats, whose bits may depend on more than the inputs.
Status check_lossy(const char* function, const Communicator& comm, const Args& args) {
  auto refuse = [&](const std::string& why) {
    return Status(Code::unsupported, std::string(function) + ": codec " + args.codec->text + " " + why);
  };
  if (comm.config().deterministic) return refuse("loses something, and the communicator is deterministic");
  if (collectives::reduces(args.collective) && int(args.op) != PLAIT_SUM && int(args.op) != PLAIT_AVG)
    return refuse("loses something: it sums and averages only");
  return {};
}

// The tensor as a matrix: its first dimension, and all others. A vector is none, and goes without.
Status check_shape(const char* function, const plait_call_config& given, Args& args) {
  if (args.collective != Collective::allreduce)
    return {Code::unsupported, std::string(function) + ": codec " + args.codec->text + " is for allreduce"};
  if (given.shape == nullptr || given.shape_dims == 0)
    return bad(function, "codec " + args.codec->text + " needs the tensor's shape");
  uint64_t elements = 1;
  for (size_t d = 0; d < given.shape_dims; d++) {
    const bool fits =
        given.shape[d] >= 0 && !__builtin_mul_overflow(elements, uint64_t(given.shape[d]), &elements);
    if (!fits) return bad(function, "plait_call_config.shape is negative, or too large");
  }
  if (elements != args.count)
    return bad(function, "plait_call_config.shape has " + std::to_string(elements) + " elements, the call " +
                             std::to_string(args.count));
  if (elements == 0) return {};
  args.rows = given.shape_dims == 1 ? 1 : uint64_t(given.shape[0]);
  args.columns = elements / args.rows;
  return {};
}

Status check_codec(const char* function, const plait_call_config& given, const Communicator& comm,
                   Args& args) {
  if (!collectives::encodes(args.collective) || args.uneven) {
    return {Code::unsupported,
            std::string(function) +
                ": codecs go with allreduce, reduce, reduce_scatter, allgather and broadcast of "
                "one count; codec must be NULL"};
  }
  auto codec = use_codec(given.codec, args.dtype);
  if (!codec.ok())
    return {codec.status().code(), std::string(function) + ": " + std::string(codec.status().text())};
  args.codec = *codec;
  if (args.codec->has_state() && given.tensor_key == 0)
    return bad(function, "codec " + args.codec->text +
                             " keeps what it leaves out: give the tensor a tensor_key, not 0");
  if (args.codec->exact()) return {};
  PLAIT_TRY(check_lossy(function, comm, args));
  return args.codec->rank > 0 ? check_shape(function, given, args) : Status();
}

Status check_config(const char* function, const plait_call_config* config, const Communicator& comm,
                    Args& args) {
  if (config == nullptr) return {};
  plait_call_config given{};
  PLAIT_TRY(check_struct(config, config->struct_size, sizeof given, "plait_call_config"));
  std::memcpy(&given, config, std::min(config->struct_size, sizeof given));
  if (given.codec != nullptr && *given.codec != 0) {
    PLAIT_TRY(check_codec(function, given, comm, args));
    args.tensor_key = given.tensor_key;
  }
  if (given.timeout_ms < 0) return bad(function, "plait_call_config.timeout_ms is negative");
  args.timeout_ms = given.timeout_ms;
  if (given.algorithm == nullptr || *given.algorithm == 0) return {};
  args.algorithm = given.algorithm;
  // The method's own name from here on: it lives for ever and is compared by address.
  if (const auto* m = comm.methods().find(args.collective, given.algorithm)) args.algorithm = m->name;
  return {};
}

// Elements that memory can hold.
uint64_t most_elements(const Args& a) noexcept {
  return uint64_t(std::numeric_limits<ptrdiff_t>::max()) / collectives::size_of(a.dtype);
}

Status check_even_count(const char* function, const Args& a, int32_t size) {
  const uint64_t blocks = collectives::parted(a.collective) ? uint64_t(size) : 1;
  uint64_t bytes;
  if (!__builtin_mul_overflow(a.count, blocks * collectives::size_of(a.dtype), &bytes) &&
      bytes <= uint64_t(std::numeric_limits<ptrdiff_t>::max())) {
    return {};
  }
  return bad(function, "a count of " + std::to_string(a.count) + " overflows the size of memory");
}

// The blocks of the input or the output, `name`.
Status check_blocks(const char* function, const Args& a, const Blocks& blocks, const char* name,
                    int32_t size) {
  if (blocks.counts == nullptr) return bad(function, std::string("the counts of ") + name + " are NULL");
  uint64_t end, sum;
  if (measure(blocks, size, most_elements(a), &end, &sum)) return {};
  return bad(function,
             std::string("the blocks of ") + name + " overflow the size of memory: is a count negative?");
}

// The two counts that this rank gives of its own block.
Status check_own_count(const char* function, const char* own, uint64_t count, const Blocks& blocks,
                       int32_t rank) {
  const uint64_t listed = blocks.counts[rank];
  if (count == listed) return {};
  return bad(function, std::string(own) + " is " + std::to_string(count) + ", but " + std::to_string(listed) +
                           " in the counts of this rank, rank " + std::to_string(rank));
}

bool same_places(const Blocks& a, const Blocks& b, int32_t size) noexcept {
  uint64_t a_end = 0, b_end = 0;  // packed blocks
  for (int32_t r = 0; r < size; r++) {
    const uint64_t x = a.displacements != nullptr ? a.displacements[r] : a_end;
    const uint64_t y = b.displacements != nullptr ? b.displacements[r] : b_end;
    if (a.counts[r] != b.counts[r] || (a.counts[r] > 0 && x != y)) return false;
    a_end += a.counts[r];
    b_end += b.counts[r];
  }
  return true;
}

// Blocks, where this rank has any, and completes args.count.
Status check_uneven(const char* function, Args& a, int32_t rank, int32_t size) {
  const bool ins = has_in_blocks(a, rank), outs = has_out_blocks(a, rank);
  if (ins) PLAIT_TRY(check_blocks(function, a, a.in_blocks, "in", size));
  if (outs) PLAIT_TRY(check_blocks(function, a, a.out_blocks, "out", size));
  if (!ins) a.in_blocks = {};
  if (!outs) a.out_blocks = {};
  int32_t other = 0;
  if (const int32_t r = outs ? overlapping(a.out_blocks, size, &other) : -1; r >= 0) {
    return bad(function, "the blocks of ranks " + std::to_string(r) + " and " + std::to_string(other) +
                             " overlap in out");
  }
  switch (a.collective) {
    case Collective::reduce_scatter:
      a.count = a.in_blocks.counts[rank];
      return {};
    case Collective::allgather:
      a.count = a.out_blocks.counts[rank];
      return {};
    case Collective::gather:
      if (outs) PLAIT_TRY(check_own_count(function, "in_count", a.count, a.out_blocks, rank));
      break;
    case Collective::scatter:
      if (ins) PLAIT_TRY(check_own_count(function, "out_count", a.count, a.in_blocks, rank));
      break;
    default:
      PLAIT_TRY(
          check_own_count(function, "the in_count to itself", a.in_blocks.counts[rank], a.out_blocks, rank));
      if (a.in == a.out && !same_places(a.in_blocks, a.out_blocks, size))
        return bad(function, "in place the counts and displacements of in must be those of out");
      return {};
  }
  if (a.count <= most_elements(a)) return {};
  return bad(function, "a count of " + std::to_string(a.count) + " overflows the size of memory");
}

// Do [a, a + abytes) and [b, b + bbytes) overlap?
bool overlap(const void* a, size_t abytes, const void* b, size_t bbytes) noexcept {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return abytes > 0 && bbytes > 0 && x < y + bbytes && y < x + abytes;
}

Status check_buffers(const char* function, const Args& a, int32_t rank, int32_t size) {
  const size_t element = collectives::size_of(a.dtype);
  const Extents most = extents_of(a, rank, size);
  if ((most.in > 0 && a.in == nullptr) || (most.out > 0 && a.out == nullptr))
    return bad(function, "a buffer is NULL");
  if (!in_place(a, rank) && overlap(a.in, most.in * element, a.out, most.out * element))
    return bad(function, "in and out overlap, and are not in place as plait.h says");
  return {};
}

}  // namespace

Status check(Given& given, const Communicator& comm) {
  const char* function = given.function;
  Args& args = given.args;
  const bool barrier = args.collective == Collective::barrier;
  if (!barrier) PLAIT_TRY(check_dtype(function, given.dtype));
  if (collectives::reduces(args.collective)) PLAIT_TRY(check_op(function, given.op));
  args.dtype = collectives::Dtype(given.dtype);
  args.op = collectives::ReduceOp(given.op);
  if (args.root < 0 || args.root >= comm.size()) {
    return bad(function,
               "root " + std::to_string(args.root) + " is not in 0.." + std::to_string(comm.size() - 1));
  }
  PLAIT_TRY(check_config(function, given.config, comm, args));
  if (barrier) return {};
  PLAIT_TRY(args.uneven ? check_uneven(function, args, comm.rank(), comm.size())
                        : check_even_count(function, args, comm.size()));
  PLAIT_TRY(check_buffers(function, args, comm.rank(), comm.size()));
  if (!collectives::reduces(args.collective) || given.op < kFirstUserOp) return {};
  auto custom = use_operator(given.op, args.dtype);  // last: from here on somebody must let go of it
  if (!custom.ok())
    return {custom.status().code(), std::string(function) + ": " + std::string(custom.status().text())};
  args.custom = *custom;
  return {};
}

}  // namespace plait::runtime
