// lossless: the bytes of all values one after the other, the first ones, then the second ones, then a general
// compressor: exponents are alike, which then lie side by side. Every bit comes back, of any type. zstd makes
// more of it than lz4, which is faster; either pays over a slow link only. The wire: a byte that says how it
// was made, then the compressor's; what does not become shorter is stored as it is.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "collectives/codec/makers.h"

#ifdef PLAIT_HAS_ZSTD
#include <zstd.h>
#endif
#ifdef PLAIT_HAS_LZ4
#include <lz4.h>
#endif

namespace plait::collectives::codec {

namespace {

enum class Kind : uint8_t { stored = 0, zstd = 1, lz4 = 2 };

// A compressor: bytes written, 0 where they do not fit; and back, false where that is not `room` bytes.
#ifdef PLAIT_HAS_ZSTD
// Contexts are a thread's own, and kept: to make one takes longer than to use it.
size_t compress_zstd(const std::byte* from, size_t bytes, std::byte* to, size_t room, int level,
                     std::byte*) noexcept {
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                                ZSTD_freeCCtx);
  if (context == nullptr) return 0;
  const size_t length = ZSTD_compressCCtx(context.get(), to, room, from, bytes, level);
  return ZSTD_isError(length) ? 0 : length;
}
bool expand_zstd(const std::byte* from, size_t bytes, std::byte* to, size_t room) noexcept {
  thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                                ZSTD_freeDCtx);
  return context != nullptr && ZSTD_decompressDCtx(context.get(), to, room, from, bytes) == room;
}
#endif
#ifdef PLAIT_HAS_LZ4
size_t compress_lz4(const std::byte* from, size_t bytes, std::byte* to, size_t room, int level,
                    std::byte* state) noexcept {
  if (bytes > size_t(LZ4_MAX_INPUT_SIZE)) return 0;
  const int length =
      LZ4_compress_fast_extState(state, reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to),
                                 int(bytes), int(std::min<size_t>(room, INT32_MAX)), level);
  return size_t(std::max(length, 0));
}
bool expand_lz4(const std::byte* from, size_t bytes, std::byte* to, size_t room) noexcept {
  if (bytes > INT32_MAX || room > INT32_MAX) return false;
  return LZ4_decompress_safe(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to), int(bytes),
                             int(room)) == int(room);
}
#endif

struct Library {
  Kind kind;
  const char* name;
  size_t state_bytes;
  Cost cost;  // of float32, and its ratio
  size_t (*compress)(const std::byte* from, size_t bytes, std::byte* to, size_t room, int level,
                     std::byte* state) noexcept;
  bool (*expand)(const std::byte* from, size_t bytes, std::byte* to, size_t room) noexcept;
};

// `from`: values of Size bytes; `to`: first all their first bytes, and so on.
template <size_t Size>
void part(const std::byte* from, size_t count, std::byte* to) noexcept {
  for (size_t b = 0; b < Size; b++)
    for (size_t i = 0; i < count; i++) to[b * count + i] = from[i * Size + b];
}
template <size_t Size>
void join(const std::byte* from, size_t count, std::byte* to) noexcept {
  for (size_t i = 0; i < count; i++)
    for (size_t b = 0; b < Size; b++) to[i * Size + b] = from[b * count + i];
}
using Rearrange = void (*)(const std::byte* from, size_t count, std::byte* to) noexcept;
Rearrange parting(size_t size) {
  return size == 1 ? part<1> : size == 2 ? part<2> : size == 4 ? part<4> : part<8>;
}
Rearrange joining(size_t size) {
  return size == 1 ? join<1> : size == 2 ? join<2> : size == 4 ? join<4> : join<8>;
}

class Lossless final : public Codec {
 public:
  Lossless(Dtype dtype, const Library& library, int level)
      : library_(library),
        level_(level),
        size_(size_of(dtype)),
        part_(parting(size_)),
        join_(joining(size_)),
        add_(fold_kernel(dtype, ReduceOp::sum)) {}

  std::string name() const override {
    return std::string("lossless:library=") + library_.name + ",level=" + std::to_string(level_);
  }
  bool exact() const noexcept override { return true; }
  size_t bound(size_t count) const noexcept override { return 1 + count * size_; }
  size_t work_bytes(size_t count) const noexcept override {
    return 2 * round_up(count * size_, 64) + library_.state_bytes;
  }
  Cost cost() const noexcept override { return library_.cost; }

  size_t encode(const Piece& piece, const std::byte* values, std::byte*, std::byte* work,
                std::byte* wire) const noexcept override {
    const size_t bytes = piece.count * size_;
    part_(values, piece.count, work);
    const size_t length = bytes < 2 ? 0
                                    : library_.compress(work, bytes, wire + 1, bytes - 1, level_,
                                                        work + 2 * round_up(bytes, 64));
    wire[0] = std::byte(length > 0 ? library_.kind : Kind::stored);
    if (length > 0) return 1 + length;
    std::memcpy(wire + 1, values, bytes);
    return 1 + bytes;
  }

  const char* decode(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                     std::byte* values) const noexcept override {
    const size_t room = count * size_;
    if (bytes < 1) return "it is empty";
    if (wire[0] == std::byte(Kind::stored)) {
      if (bytes != 1 + room) return "it is stored, and not as long as its values";
      std::memcpy(values, wire + 1, room);
      return nullptr;
    }
    if (wire[0] != std::byte(library_.kind)) return "it was made by no library that this rank was told of";
    if (!library_.expand(wire + 1, bytes - 1, work, room))
      return "it does not become as many values as there are";
    join_(work, count, values);
    return nullptr;
  }

  const char* decode_add(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                         std::byte* values) const noexcept override {
    std::byte* decoded = work + round_up(count * size_, 64);
    if (const char* problem = decode(wire, bytes, count, work, decoded); problem != nullptr) return problem;
    const std::byte* const inputs[] = {values, decoded};
    add_({.inputs = inputs, .input_count = 2, .outputs = &values, .output_count = 1, .count = count});
    return nullptr;
  }

 private:
  const Library& library_;
  const int level_;
  const size_t size_;
  const Rearrange part_, join_;
  const FoldKernel add_;
};

#ifdef PLAIT_HAS_ZSTD
constexpr Library kZstd = {Kind::zstd, "zstd", 0, {3.4, 1.4, 0.85}, compress_zstd, expand_zstd};
#endif
#ifdef PLAIT_HAS_LZ4
// LZ4's own size of its state, with which it checks it.
const Library kLz4 = {Kind::lz4,        "lz4",        size_t(LZ4_sizeofState()),
                      {1.0, 0.7, 0.95}, compress_lz4, expand_lz4};
#endif

const Library* library_of(std::string_view name) {
#ifdef PLAIT_HAS_ZSTD
  if (name == kZstd.name) return &kZstd;
#endif
#ifdef PLAIT_HAS_LZ4
  if (name == kLz4.name) return &kLz4;
#endif
  (void)name;
  return nullptr;
}

}  // namespace

Made make_lossless(OptionWords& words, Dtype dtype) {
  auto name = words.word("library", "zstd|lz4");
  if (!name.ok()) return name.status();
  auto level = words.whole("level", 1, 1, 19);
  if (!level.ok()) return level.status();
  PLAIT_TRY(words.done());
  const Library* library = library_of(*name);
  if (library == nullptr) {
    return Status(Code::unsupported, "codec lossless: this plait was built without " + *name +
                                         "; build it where lib" + *name + "-dev is installed");
  }
  return std::unique_ptr<Codec>(std::make_unique<Lossless>(dtype, *library, int(*level)));
}

}  // namespace plait::collectives::codec
