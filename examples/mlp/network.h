// A network of dense layers with rectifiers between them, trained by gradient descent with momentum. It knows
// nothing of other processes: it tells when a layer's gradient is there, and somebody averages it before the
// layer's step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mlp/matrix.h"
#include "mlp/random.h"

namespace mlp {

// Weights or biases, and their gradient.
struct Tensor {
  std::vector<int64_t> shape;
  std::span<float> value, gradient;
  std::vector<float> velocity;  // of value: the momentum
};

class Network {
 public:
  // `widths` of the input, the hidden layers and the output. Gradients lie in memory of the caller's:
  // parameters(widths) floats.
  Network(const std::vector<size_t>& widths, float* gradients, Random& random);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  static size_t parameters(const std::vector<size_t>& widths);

  size_t layers() const { return tensors_.size() / 2; }
  // Tensors 2l and 2l + 1 are the weights, {inputs, outputs}, and the biases of layer l.
  std::vector<Tensor>& tensors() { return tensors_; }
  std::span<float> values() { return values_; }  // of all tensors, one behind the other

  // A score of each class (row) for each image (column).
  const Matrix& scores(Matrix images);

  // After scores(): the gradients, of the last layer first. ready(l) says that those of layer l are complete;
  // `between` is called while others are being computed. Returns the sum of the images' losses; the gradients
  // are of their mean.
  double backward(std::span<const uint8_t> shown, const std::function<void(size_t)>& ready,
                  const std::function<void()>& between);

  // Moves the parameters of a layer against their gradients.
  void step(size_t layer, float rate, float momentum);

 private:
  std::vector<float> values_;
  std::vector<Tensor> tensors_;
  std::vector<Matrix> signals_;  // what goes into each layer, and the scores
};

}  // namespace mlp
