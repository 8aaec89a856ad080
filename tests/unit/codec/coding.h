// Codecs, called and looked at in one way.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "collectives/codec/codec.h"

namespace plait::collectives::codec::test {

// All there are, and most of their options.
inline const std::vector<std::string>& texts() {
  static const std::vector<std::string> kTexts = {"cast:to=bf16",
                                                  "cast:to=fp16",
                                                  "cast:to=e4m3",
                                                  "cast:to=e5m2,block=32",
                                                  "int8",
                                                  "int8:block=32",
                                                  "int8:block=256,rounding=stochastic",
                                                  "int4",
                                                  "int4:block=128,rounding=stochastic",
                                                  "onebit",
                                                  "onebit:block=256",
                                                  "topk:ratio=0.01",
                                                  "topk:ratio=0.3",
                                                  "topk:ratio=0.05,momentum=0.9",
                                                  "topk:ratio=0.02,warmup=3",
                                                  "threshold:value=0.5",
                                                  "threshold:value=0",
                                                  "randomk:ratio=0.02",
                                                  "randomk:ratio=0.1,feedback=no"};
  return kTexts;
}

inline std::unique_ptr<Codec> made(const std::string& text, Dtype dtype = Dtype::float32) {
  auto codec = make(text, dtype);
  EXPECT_TRUE(codec.ok()) << text << ": " << codec.status().text();
  return codec.ok() ? std::move(*codec) : nullptr;
}

// A codec with the memory that it wants, and nothing more: sanitizers see what it touches besides.
class Coding {
 public:
  Coding(const Codec& codec, size_t count) : codec_(codec), state_(count * codec.state_bytes()) {}

  // The wire of `values`, of a piece that has been encoded `turn` times.
  std::vector<std::byte> encode(const std::vector<float>& values, uint64_t seed = 1, uint64_t turn = 0) {
    Aligned work(codec_.work_bytes(values.size())), wire(codec_.bound(values.size()));
    const Piece piece{.count = values.size(), .first = 0, .seed = seed, .turn = turn};
    const size_t length = codec_.encode(piece, reinterpret_cast<const std::byte*>(values.data()),
                                        state_.data(), work.data(), wire.data());
    EXPECT_LE(length, codec_.bound(values.size())) << codec_.name();
    return {wire.data(), wire.data() + length};
  }
  const char* decode(const std::vector<std::byte>& bytes, std::vector<float>& values,
                     bool add = false) const {
    Aligned work(codec_.work_bytes(values.size())), wire(bytes.size());
    if (!bytes.empty()) std::memcpy(wire.data(), bytes.data(), bytes.size());
    auto* to = reinterpret_cast<std::byte*>(values.data());
    return add ? codec_.decode_add(wire.data(), bytes.size(), values.size(), work.data(), to)
               : codec_.decode(wire.data(), bytes.size(), values.size(), work.data(), to);
  }
  std::vector<float> there_and_back(const std::vector<float>& values, uint64_t seed = 1, uint64_t turn = 0) {
    std::vector<float> back(values.size(), 7);
    const char* problem = decode(encode(values, seed, turn), back);
    EXPECT_EQ(problem, nullptr) << codec_.name() << ": " << problem;
    return back;
  }
  // Of codecs that keep one float of each element.
  float left(size_t i) const {
    float value;
    std::memcpy(&value, state_.data() + i * codec_.state_bytes(), sizeof value);
    return value;
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  struct Aligned : std::unique_ptr<std::byte, Free> {
    explicit Aligned(size_t bytes) {
      void* p = nullptr;
      if (posix_memalign(&p, 64, bytes == 0 ? 1 : bytes) == 0) reset(static_cast<std::byte*>(p));
    }
    std::byte* data() const { return get(); }
  };
  const Codec& codec_;
  std::vector<std::byte> state_;
};

enum class Values { normal, huge, tiny, mixed };
inline std::vector<float> random_values(size_t count, Values kind, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-126, 126);
  std::vector<float> values(count);
  for (float& v : values) {
    v = normal(random);
    if (kind == Values::huge) v *= 0x1p124f;
    if (kind == Values::tiny) v *= 0x1p-140f;
    if (kind == Values::mixed) v = std::ldexp(v / 8, exponent(random));
  }
  return values;
}

}  // namespace plait::collectives::codec::test
