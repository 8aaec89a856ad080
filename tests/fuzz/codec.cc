// Wires of codecs, which come from other processes: any bytes are decoded, or refused; and any values are
// encoded into what can be decoded.
#include "collectives/codec/codec.h"

#include <cstring>
#include <memory>
#include <vector>

#include "fuzz.h"

namespace plait::fuzz {
namespace {

using namespace collectives;

constexpr const char* kTexts[] = {"int8",
                                  "int4:rounding=stochastic",
                                  "cast:to=bf16",
                                  "cast:to=fp16",
                                  "cast:to=e4m3",
                                  "cast:to=e5m2",
                                  "onebit",
                                  "topk:ratio=0.1",
                                  "topk:ratio=0.1,momentum=0.5,warmup=2",
                                  "threshold:value=1",
                                  "randomk:ratio=0.1",
                                  "lossless",
                                  "lossless:library=lz4",
                                  "randomk:ratio=0.1,feedback=no"};
constexpr Dtype kDtypes[] = {Dtype::float32, Dtype::float16, Dtype::bfloat16};

// Exactly as large as told: what is touched besides is seen.
struct Room {
  explicit Room(size_t bytes)
      : memory(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 64) / 64 * 64))) {
    std::memset(memory.get(), 0, (bytes + 64) / 64 * 64);
  }
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory;
  std::byte* data() const { return memory.get(); }
};

void try_decode(const codec::Codec& codec, ByteView bytes, size_t count, size_t element) {
  std::vector<std::byte> wire(bytes.begin(), bytes.end()), values(count * element);
  const Room work(codec.work_bytes(count));
  (void)codec.decode(wire.data(), wire.size(), count, work.data(), values.data());
  (void)codec.decode_add(wire.data(), wire.size(), count, work.data(), values.data());
}

void try_encode(const codec::Codec& codec, ByteView bytes, size_t count, size_t element) {
  std::vector<std::byte> values(count * element), state(count * codec.state_bytes());
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), std::min(bytes.size(), values.size()));
  const Room work(codec.work_bytes(count)), wire(codec.bound(count));
  for (uint64_t turn = 0; turn < 3; turn++) {
    const codec::Piece piece{.count = count, .first = 0, .seed = turn, .turn = turn};
    const size_t length = codec.encode(piece, values.data(), state.data(), work.data(), wire.data());
    require(length <= codec.bound(count), "a wire keeps to its bound");
    std::vector<std::byte> back(values.size());
    require(codec.decode(wire.data(), length, count, work.data(), back.data()) == nullptr,
            "what was encoded can be decoded");
  }
}

void try_input(ByteView bytes) {
  uint8_t which = 0, dtype = 0;
  uint16_t count = 0;
  if (!take(bytes, which) || !take(bytes, dtype) || !take(bytes, count)) return;
  const Dtype of = kDtypes[dtype % std::size(kDtypes)];
  auto codec = codec::make(kTexts[which % std::size(kTexts)], of);
  if (!codec.ok()) return;
  const size_t many = 1 + count % 2000;
  try_decode(**codec, bytes, many, size_of(of));
  try_encode(**codec, bytes, many, size_of(of));
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plait::fuzz::try_input(std::as_bytes(std::span(data, size)));
  return 0;
}
