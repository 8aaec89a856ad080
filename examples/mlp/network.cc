#include "mlp/network.h"

#include <algorithm>
#include <cmath>

namespace mlp {
namespace {

// Makes of scores the gradient of the mean loss by them; returns the sum of losses.
double softmax_loss(Matrix& scores, std::span<const uint8_t> shown) {
  double loss = 0;
  for (size_t i = 0; i < scores.columns; ++i) {
    float most = scores.row(0)[i], sum = 0;
    for (size_t c = 1; c < scores.rows; ++c) most = std::max(most, scores.row(c)[i]);
    for (size_t c = 0; c < scores.rows; ++c) sum += std::exp(scores.row(c)[i] - most);
    loss += std::log(sum) - (scores.row(shown[i])[i] - most);
    for (size_t c = 0; c < scores.rows; ++c) {
      const float probability = std::exp(scores.row(c)[i] - most) / sum;
      scores.row(c)[i] = (probability - (c == shown[i] ? 1.0f : 0.0f)) / static_cast<float>(scores.columns);
    }
  }
  return loss;
}

void add_bias(Matrix& signal, std::span<const float> bias, bool rectify) {
  for (size_t r = 0; r < signal.rows; ++r) {
    for (float& x : std::span(signal.row(r), signal.columns)) {
      x += bias[r];
      if (rectify) x = std::max(x, 0.0f);
    }
  }
}

void sum_rows(const Matrix& m, std::span<float> sums) {
  for (size_t r = 0; r < m.rows; ++r) {
    float sum = 0;
    for (float x : std::span(m.row(r), m.columns)) sum += x;
    sums[r] = sum;
  }
}

}  // namespace

size_t Network::parameters(const std::vector<size_t>& widths) {
  size_t count = 0;
  for (size_t l = 0; l + 1 < widths.size(); ++l) count += (widths[l] + 1) * widths[l + 1];
  return count;
}

Network::Network(const std::vector<size_t>& widths, float* gradients, Random& random)
    : values_(parameters(widths)), signals_(widths.size()) {
  size_t at = 0;
  const auto add = [&](std::vector<int64_t> shape, size_t count) {
    tensors_.push_back(
        {std::move(shape), {&values_[at], count}, {gradients + at, count}, std::vector<float>(count)});
    at += count;
  };
  for (size_t l = 0; l + 1 < widths.size(); ++l) {
    add({static_cast<int64_t>(widths[l]), static_cast<int64_t>(widths[l + 1])}, widths[l] * widths[l + 1]);
    const float bound = std::sqrt(6.0f / static_cast<float>(widths[l]));
    for (float& weight : tensors_.back().value) weight = random.uniform(-bound, bound);
    add({static_cast<int64_t>(widths[l + 1])}, widths[l + 1]);
  }
}

const Matrix& Network::scores(Matrix images) {
  signals_[0] = std::move(images);
  for (size_t l = 0; l < layers(); ++l) {
    const Tensor &weights = tensors_[2 * l], &biases = tensors_[2 * l + 1];
    const Matrix& in = signals_[l];
    Matrix& out = signals_[l + 1];
    out = Matrix(biases.value.size(), in.columns);
    multiply(Left::transposed(weights.value.data(), in.rows, out.rows), in.data.data(), in.columns,
             out.data.data());
    add_bias(out, biases.value, l + 1 < layers());
  }
  return signals_.back();
}

double Network::backward(std::span<const uint8_t> shown, const std::function<void(size_t)>& ready,
                         const std::function<void()>& between) {
  const double loss = softmax_loss(signals_.back(), shown);
  for (size_t l = layers(); l-- > 0;) {
    Matrix& in = signals_[l];
    const Matrix& slope = signals_[l + 1];  // of the loss, by what the layer gave
    sum_rows(slope, tensors_[2 * l + 1].gradient);
    multiply(Left::plain(in.data.data(), in.rows, in.columns), transposed(slope).data.data(), slope.rows,
             tensors_[2 * l].gradient.data(), between);
    ready(l);
    if (l == 0) break;
    Matrix in_slope(in.rows, in.columns);
    multiply(Left::plain(tensors_[2 * l].value.data(), in.rows, slope.rows), slope.data.data(), slope.columns,
             in_slope.data.data(), between);
    for (size_t i = 0; i < in.data.size(); ++i)
      if (in.data[i] <= 0) in_slope.data[i] = 0;  // the rectifier let nothing through
    in = std::move(in_slope);
  }
  return loss;
}

void Network::step(size_t layer, float rate, float momentum) {
  for (Tensor* tensor : {&tensors_[2 * layer], &tensors_[2 * layer + 1]}) {
    for (size_t i = 0; i < tensor->value.size(); ++i) {
      tensor->velocity[i] = momentum * tensor->velocity[i] + tensor->gradient[i];
      tensor->value[i] -= rate * tensor->velocity[i];
    }
  }
}

}  // namespace mlp
