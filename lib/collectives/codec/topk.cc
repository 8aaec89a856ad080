// topk, threshold: the largest values of a piece, or all above a threshold, as they are; the others are kept
// and added to the next ones of the same elements (error feedback; Aji and Heafield 2017, Deep Gradient
// Compression, Lin et al. 2018).
//
// topk sends ceil(ratio * count) values of each piece, of equal ones the first. With momentum (Lin et al.,
// section 3.1) what is kept of an element is its velocity u, too: u = momentum u + value, v = v + u, the
// largest v are sent, and of these u and v become 0; the optimiser then goes without momentum. warmup: the
// first so many turns send more, a quarter of the values at first and then a quarter of that each turn, down
// to ratio.
//
// Values that are infinite, or NaN, are larger than all others: they are sent, and not kept.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "collectives/codec/float_codec.h"
#include "collectives/codec/makers.h"
#include "collectives/codec/select.h"
#include "collectives/codec/sparse.h"

namespace plait::collectives::codec {

namespace {

std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// What both are: few values, what is left out kept.
class Sparse : public FloatCodec {
 public:
  using FloatCodec::FloatCodec;
  size_t state_bytes() const noexcept override { return sizeof(float); }

 protected:
  size_t own_work_bytes(size_t count) const noexcept override {
    return 2 * round_up(count * sizeof(uint32_t), 64);
  }
  const char* decode_floats(const std::byte* wire, size_t bytes, size_t count, std::byte*, float* values,
                            bool add) const noexcept override {
    if (!add) std::fill_n(values, count, 0.f);
    return add_sparse(wire, bytes, count, values);
  }
};

class TopK final : public Sparse {
 public:
  struct Form {
    double ratio = 0.01;
    double momentum = 0;
    uint64_t warmup = 0;
  };
  TopK(Dtype dtype, const Form& form) : Sparse(dtype), form_(form), element_(double(size_of(dtype))) {}

  std::string name() const override {
    std::string text = "topk:ratio=" + text_of(form_.ratio);
    if (form_.momentum > 0) text += ",momentum=" + text_of(form_.momentum);
    if (form_.warmup > 0) text += ",warmup=" + std::to_string(form_.warmup);
    return text;
  }
  size_t bound(size_t count) const noexcept override {
    return sparse_bytes(count,
                        sent_of(count, form_.warmup > 0 ? std::max(form_.ratio, kFirst) : form_.ratio));
  }
  size_t state_bytes() const noexcept override {
    return form_.momentum > 0 ? 2 * sizeof(float) : sizeof(float);
  }
  Cost cost() const noexcept override { return {0.155, 0.025, form_.ratio * 6 / element_}; }

 protected:
  size_t own_work_bytes(size_t count) const noexcept override {
    return Sparse::own_work_bytes(count) + (form_.momentum > 0 ? round_up(count * sizeof(float), 64) : 0);
  }
  size_t encode_floats(const Piece& piece, const float* values, std::byte* state, std::byte* work,
                       std::byte* wire) const noexcept override {
    auto* places = reinterpret_cast<uint32_t*>(work);
    auto* spare = reinterpret_cast<uint32_t*>(work + round_up(piece.count * sizeof(uint32_t), 64));
    const size_t most = sent_of(piece.count, ratio_at(piece.turn));
    if (form_.momentum > 0) return encode_velocities(piece, values, state, places, spare, most, wire);
    auto* left = reinterpret_cast<float*>(state);
    const size_t sent = add_and_select(values, left, piece.count, most, places, spare);
    const size_t bytes = write_sparse(left, piece.count, places, sent, wire);
    for (size_t i = 0; i < sent; i++) left[places[i]] = 0;
    return bytes;
  }

 private:
  static constexpr double kFirst = 0.25;  // of a warm-up

  static size_t sent_of(size_t count, double ratio) noexcept {
    return std::min(count, size_t(std::ceil(double(count) * ratio)));
  }
  double ratio_at(uint64_t turn) const noexcept {
    return turn >= form_.warmup ? form_.ratio : std::max(form_.ratio, std::pow(kFirst, double(turn + 1)));
  }

  size_t encode_velocities(const Piece& piece, const float* values, std::byte* state, uint32_t* places,
                           uint32_t* spare, size_t most, std::byte* wire) const noexcept {
    struct Kept {
      float velocity, left;
    };
    auto* kept = reinterpret_cast<Kept*>(state);
    auto* left = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(spare) +
                                          round_up(piece.count * sizeof(uint32_t), 64));
    const float momentum = float(form_.momentum);
    for (size_t i = 0; i < piece.count; i++) {
      kept[i].velocity = momentum * kept[i].velocity + values[i];
      left[i] = kept[i].left += kept[i].velocity;
    }
    const size_t sent = add_and_select(nullptr, left, piece.count, most, places, spare);
    for (size_t i = 0; i < sent; i++) kept[places[i]] = {};
    return write_sparse(left, piece.count, places, sent, wire);
  }

  const Form form_;
  const double element_;
};

class Threshold final : public Sparse {
 public:
  Threshold(Dtype dtype, double value) : Sparse(dtype), value_(value) {}
  std::string name() const override { return "threshold:value=" + text_of(value_); }
  size_t bound(size_t count) const noexcept override { return dense_bytes(count); }
  Cost cost() const noexcept override { return {0.15, 0.08, 0.05}; }  // its wire: nobody knows

 protected:
  size_t encode_floats(const Piece& piece, const float* values, std::byte* state, std::byte* work,
                       std::byte* wire) const noexcept override {
    auto* places = reinterpret_cast<uint32_t*>(work);
    auto* left = reinterpret_cast<float*>(state);
    const size_t sent = add_and_collect(values, left, piece.count, float(value_), places);
    if (sparse_bytes(piece.count, sent) >= dense_bytes(piece.count)) {
      const size_t bytes = write_dense(left, piece.count, wire);
      std::fill_n(left, piece.count, 0.f);
      return bytes;
    }
    const size_t bytes = write_sparse(left, piece.count, places, sent, wire);
    for (size_t i = 0; i < sent; i++) left[places[i]] = 0;
    return bytes;
  }

 private:
  const double value_;
};

}  // namespace

Made make_topk(OptionWords& words, Dtype dtype) {
  auto ratio = words.number("ratio", 0.01, 1e-6, 1);
  if (!ratio.ok()) return ratio.status();
  auto momentum = words.number("momentum", 0, 0, 0.999);
  if (!momentum.ok()) return momentum.status();
  auto warmup = words.whole("warmup", 0, 0, 1'000'000);
  if (!warmup.ok()) return warmup.status();
  PLAIT_TRY(words.done());
  if (!FloatCodec::is_float(dtype)) return refuse_dtype("topk", dtype, "float32, float16 and bfloat16");
  return std::unique_ptr<Codec>(std::make_unique<TopK>(dtype, TopK::Form{*ratio, *momentum, *warmup}));
}

Made make_threshold(OptionWords& words, Dtype dtype) {
  auto value = words.number("value", 1e-3, 0, 1e30);
  if (!value.ok()) return value.status();
  PLAIT_TRY(words.done());
  if (!FloatCodec::is_float(dtype)) return refuse_dtype("threshold", dtype, "float32, float16 and bfloat16");
  return std::unique_ptr<Codec>(std::make_unique<Threshold>(dtype, *value));
}

}  // namespace plait::collectives::codec
