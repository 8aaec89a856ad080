// A codec turns values into fewer bytes and back: gradient compression. Encoded bytes are called a wire, as
// docs/program.md (rule 9) does: of a length that is known when it was written, at most bound().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "collectives/reduce/reduce.h"

namespace plait::collectives::codec {

// Which elements a codec gets: `count` of a tensor, from its `first` on. A tensor is cut into pieces, and
// into others in the next call, so what is kept for it is kept by element.
struct Piece {
  size_t count = 0;
  uint64_t first = 0;
  uint64_t seed = 0;  // of whatever is drawn at random: another for each call, rank and piece
  uint64_t turn = 0;  // how often this tensor was encoded before
};

// What a codec costs, for planners: nanoseconds a byte of values (as perf/bench_codec measured on an AMD EPYC
// of 2022, whatever the machine: all ranks must think alike), and bytes of wire a byte of values.
struct Cost {
  double encode_ns = 0, decode_ns = 0, ratio = 1;
};

// One codec for values of one dtype. It has no state of its own that changes: any thread may use it, several
// at once. Nothing allocates or throws.
class Codec {
 public:
  virtual ~Codec() = default;

  // As make() takes it, every parameter written out: alike on all ranks that agree.
  virtual std::string name() const = 0;
  // Values come back bit by bit.
  virtual bool exact() const noexcept { return false; }
  // Bytes that `count` values may take as a wire; alike on all ranks, and ascending in `count`.
  virtual size_t bound(size_t count) const noexcept = 0;
  // Bytes that are kept for each element from call to call (error feedback), all zero at first.
  virtual size_t state_bytes() const noexcept { return 0; }
  // Bytes that encode, decode and decode_add need besides, for `count` values; of any content.
  virtual size_t work_bytes(size_t count) const noexcept = 0;
  virtual Cost cost() const noexcept = 0;

  // Writes the wire of `values` and returns its length.
  //   values  piece.count elements of the dtype
  //   state   state_bytes() for each of them, the first for the first; null where there is none
  //   work    work_bytes(piece.count), aligned to 64
  //   wire    bound(piece.count), aligned to 64; overlaps nothing else
  virtual size_t encode(const Piece& piece, const std::byte* values, std::byte* state, std::byte* work,
                        std::byte* wire) const noexcept = 0;

  // Writes the values that a wire stands for. `wire` may come from anybody: nothing beyond its `bytes` is
  // read, nothing beyond `count` values written. Returns null, or what is wrong with the wire, a text that
  // lives for ever; values are of any content then. The same wire gives the same bits on every processor.
  virtual const char* decode(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                             std::byte* values) const noexcept = 0;

  // Adds them: values[i] = values[i] + decoded[i], rounded to the dtype, in any but an exact codec.
  virtual const char* decode_add(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                                 std::byte* values) const noexcept = 0;
};

// "int8", "int4:block=64,rounding=stochastic", "topk:ratio=0.01", ...: a name and parameters, which
// docs/compression.md lists. Code::invalid says which word is wrong and what there is; Code::unsupported,
// which dtypes the codec has.
Result<std::unique_ptr<Codec>> make(std::string_view text, Dtype dtype);

// The names that make() knows, with a line each: what it does and its parameters.
std::string help();

}  // namespace plait::collectives::codec
