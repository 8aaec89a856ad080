#include "collectives/codec/codec.h"

#include <algorithm>

#include "collectives/codec/makers.h"

namespace plait::collectives::codec {

namespace {

constexpr Maker kMakers[] = {
    {"cast", "to=bf16|fp16|e4m3|e5m2, block=128 (8-bit floats): floats of fewer bits", make_cast},
    {"int8", "block=128, rounding=nearest|stochastic: integers of 8 bits times a scale a block", make_int8},
    {"int4", "block=64, rounding=nearest|stochastic: the same of 4 bits", make_int4},
    {"lossless", "library=zstd|lz4, level=1: every bit, of any type", make_lossless},
    {"onebit", "block=4096: signs and two means a block; what is lost is kept", make_onebit},
    {"topk", "ratio=0.01, momentum=0, warmup=0: the largest values; the others are kept", make_topk},
    {"threshold", "value=0.001: values from there on; the others are kept", make_threshold},
    {"randomk", "ratio=0.01, feedback=yes|no: values drawn at random", make_randomk},
};

}  // namespace

Result<std::unique_ptr<Codec>> make(std::string_view text, Dtype dtype) {
  auto words = OptionWords::read(text);
  if (!words.ok()) return words.status();
  const auto* maker = std::ranges::find(kMakers, words->name(), &Maker::name);
  if (maker == std::end(kMakers)) {
    std::string all;
    for (const Maker& m : kMakers) all += (all.empty() ? "" : ", ") + std::string(m.name);
    return Status(Code::invalid, "no codec \"" + std::string(words->name()) + "\"; there are " + all);
  }
  return maker->make(*words, dtype);
}

Status refuse_dtype(std::string_view codec, Dtype dtype, std::string_view takes) {
  constexpr std::string_view kNames[] = {"int8",    "uint8",    "int32",       "uint32",
                                         "int64",   "uint64",   "float16",     "float32",
                                         "float64", "bfloat16", "float8_e4m3", "float8_e5m2"};
  return {Code::unsupported, "codec " + std::string(codec) + " takes " + std::string(takes) + ", not " +
                                 std::string(kNames[size_t(dtype)])};
}

std::string help() {
  std::string text;
  for (const Maker& m : kMakers) text += std::string(m.name) + ": " + std::string(m.help) + "\n";
  return text;
}

}  // namespace plait::collectives::codec
