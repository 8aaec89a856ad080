#include "mlp/training.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "mlp/averager.h"
#include "mlp/network.h"

namespace mlp {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The images of these indices, an image a column.
Matrix columns_of(const Images& images, std::span<const size_t> indices) {
  Matrix m(images.pixels, indices.size());
  for (size_t i = 0; i < indices.size(); ++i)
    for (size_t p = 0; p < images.pixels; ++p) m.row(p)[i] = images.image(indices[i])[p];
  return m;
}

std::vector<uint8_t> shown_by(const Images& images, std::span<const size_t> indices) {
  std::vector<uint8_t> shown;
  for (size_t i : indices) shown.push_back(images.shown[i]);
  return shown;
}

// One step: every rank takes its share of the batch.
double step(Network& network, Averager& averager, const Images& images, std::span<const size_t> share,
            float rate, float momentum, double& waited) {
  network.scores(columns_of(images, share));
  const auto ready = [&](size_t layer) {
    averager.start(2 * layer);
    averager.start(2 * layer + 1);
  };
  const double loss = network.backward(shown_by(images, share), ready, [&] { averager.progress(); });
  for (size_t layer = network.layers(); layer-- > 0;) {  // in the order of their starts
    const double begin = now();
    averager.wait(2 * layer);
    averager.wait(2 * layer + 1);
    waited += now() - begin;
    network.step(layer, rate, momentum);
  }
  return loss;
}

// How many of this rank's share of the test images the network recognises.
int64_t recognised(Network& network, const Images& images, const Job& job) {
  constexpr size_t kAtOnce = 256;
  int64_t right = 0;
  std::vector<size_t> share;
  for (size_t i = job.rank(); i < images.count(); i += job.size()) share.push_back(i);
  for (size_t begin = 0; begin < share.size(); begin += kAtOnce) {
    const auto some = std::span(share).subspan(begin, std::min(kAtOnce, share.size() - begin));
    const Matrix& scores = network.scores(columns_of(images, some));
    for (size_t i = 0; i < some.size(); ++i) {
      size_t best = 0;
      for (size_t c = 1; c < scores.rows; ++c)
        if (scores.row(c)[i] > scores.row(best)[i]) best = c;
      right += best == images.shown[some[i]];
    }
  }
  return right;
}

void print(size_t number, const Epoch& epoch, bool exact) {
  std::printf(
      exact ? "epoch %zu: loss %a, accuracy %.2f %%\n" : "epoch %zu: loss %.5f, accuracy %.2f %%, %.2f s\n",
      number, epoch.loss, 100 * epoch.accuracy, epoch.seconds);
  std::fflush(stdout);
}

// Numbers of all ranks, summed.
template <class T>
T total(const Job& job, T value, plait_dtype dtype) {
  job.check(plait_allreduce(job.comm(), &value, &value, 1, dtype, PLAIT_SUM, nullptr, nullptr),
            "plait_allreduce");
  return value;
}

}  // namespace

Result train(Job& job, const Data& data, const Options& o) {
  std::vector<size_t> widths = {data.train.pixels};
  widths.insert(widths.end(), o.hidden.begin(), o.hidden.end());
  widths.push_back(data.classes);

  Random random(o.seed);
  Result result = {Network::parameters(widths), data.train.count() / o.batch, {}, {}};
  Network network(widths, job.allocate(result.parameters), random);
  // All ranks drew the same numbers; one that runs another build or processor may not have: rank 0's are
  // taken.
  job.check(plait_broadcast(job.comm(), network.values().data(), network.values().data(), result.parameters,
                            PLAIT_FLOAT32, 0, nullptr, nullptr),
            "plait_broadcast");
  Averager averager(job, network.tensors(), o);

  const size_t share = o.batch / job.size(), total_steps = o.epochs * result.steps;
  for (size_t number = 1; number <= o.epochs; ++number) {
    const std::vector<size_t> order = random.permutation(data.train.count());  // alike on all ranks
    Epoch epoch;
    const double begin = now();
    for (size_t s = 0; s < result.steps; ++s) {
      const auto mine = std::span(order).subspan(s * o.batch + job.rank() * share, share);
      const double left =
          1 - static_cast<double>((number - 1) * result.steps + s) / static_cast<double>(total_steps);
      epoch.loss += step(network, averager, data.train, mine, o.rate * static_cast<float>(left), o.momentum,
                         epoch.waited);
    }
    epoch.seconds = now() - begin;
    epoch.loss = total(job, epoch.loss, PLAIT_FLOAT64) / static_cast<double>(result.steps * o.batch);
    epoch.accuracy = static_cast<double>(total(job, recognised(network, data.test, job), PLAIT_INT64)) /
                     static_cast<double>(data.test.count());
    if (job.rank() == 0) print(number, epoch, o.deterministic);
    result.epochs.push_back(epoch);
  }
  result.codec.struct_size = sizeof result.codec;
  job.check(plait_codec_get_stats(job.comm(), &result.codec), "plait_codec_get_stats");
  return result;
}

}  // namespace mlp
