#include "runtime/codec_fixture.h"

#include <cmath>
#include <cstring>

namespace plait::test {
namespace {

struct Entry {
  uint32_t at;
  float value;
};
size_t sparse_bound(void*, size_t count, plait_dtype) { return count * sizeof(Entry); }
size_t sparse_encode(void*, const void* values, size_t count, plait_dtype, void*, void* wire) {
  size_t length = 0;
  for (uint32_t i = 0; i < count; i++) {
    Entry e{i, static_cast<const float*>(values)[i]};
    if (e.value == 0) continue;
    std::memcpy(static_cast<char*>(wire) + length, &e, sizeof e);
    length += sizeof e;
  }
  return length;
}
int sparse_decode(void*, const void* wire, size_t bytes, void* values, size_t count, plait_dtype) {
  std::memset(values, 0, count * sizeof(float));
  for (size_t at = 0; at + sizeof(Entry) <= bytes; at += sizeof(Entry)) {
    Entry e;
    std::memcpy(&e, static_cast<const char*>(wire) + at, sizeof e);
    if (e.at >= count) return 1;
    static_cast<float*>(values)[e.at] = e.value;
  }
  return bytes % sizeof(Entry) == 0 ? 0 : 2;
}

size_t coarse_bound(void*, size_t count, plait_dtype) { return count; }
size_t coarse_encode(void*, const void* values, size_t count, plait_dtype, void* state, void* wire) {
  auto* left = static_cast<float*>(state);
  for (size_t i = 0; i < count; i++) {
    const float all = static_cast<const float*>(values)[i] + left[i];
    const float steps = std::fmin(std::fmax(std::trunc(all / 8), -127.f), 127.f);
    static_cast<int8_t*>(wire)[i] = int8_t(steps);
    left[i] = all - steps * 8;
  }
  return count;
}
int coarse_decode(void*, const void* wire, size_t bytes, void* values, size_t count, plait_dtype) {
  if (bytes != count) return 1;
  for (size_t i = 0; i < count; i++)
    static_cast<float*>(values)[i] = float(static_cast<const int8_t*>(wire)[i]) * 8;
  return 0;
}
int coarse_add(void*, const void* wire, size_t bytes, void* values, size_t count, plait_dtype) {
  if (bytes != count) return 1;
  for (size_t i = 0; i < count; i++)
    static_cast<float*>(values)[i] += float(static_cast<const int8_t*>(wire)[i]) * 8;
  return 0;
}

}  // namespace

plait_codec_desc sparse() {
  plait_codec_desc d{};
  d.struct_size = sizeof d;
  d.name = "test_sparse";
  d.exact = 1;
  d.bound = sparse_bound;
  d.encode = sparse_encode;
  d.decode = sparse_decode;
  return d;
}
plait_codec_desc coarse() {
  plait_codec_desc d{};
  d.struct_size = sizeof d;
  d.name = "test_coarse";
  d.state_bytes = sizeof(float);
  d.ratio = 0.25;
  d.bound = coarse_bound;
  d.encode = coarse_encode;
  d.decode = coarse_decode;
  d.decode_reduce = coarse_add;
  return d;
}
void know_codecs() {
  static const bool done = [] {
    const plait_codec_desc codecs[] = {sparse(), coarse()};
    EXPECT_EQ(plait_init(nullptr), PLAIT_OK);
    for (const auto& desc : codecs)
      EXPECT_EQ(plait_codec_register(&desc), PLAIT_OK) << plait_last_error(nullptr);
    return true;
  }();
  (void)done;
}

plait_call_config config_of(const char* codec, uint64_t key, const char* algorithm) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.codec = codec;
  config.tensor_key = key;
  config.algorithm = algorithm;
  return config;
}

float value(int rank, int turn, size_t i) {
  return float(int(i * 37 + size_t(rank) * 11 + size_t(turn) * 5) % 101 - 50);
}

std::string allreduce(Comm& c, std::vector<float>& values, const plait_call_config& config, plait_op op) {
  return ok(plait_allreduce(c.comm, values.data(), values.data(), values.size(), PLAIT_FLOAT32, op, &config,
                            nullptr),
            c.comm);
}

}  // namespace plait::test
