#include "perf/coded.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "perf/row.h"

namespace plait::perf {
namespace {

constexpr int kCodecTurns = 5;  // of the codec and of none

uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

// The vector as a matrix, for codecs that want one: as square as its length allows.
std::array<int64_t, 2> matrix_of(size_t count) {
  auto rows = size_t(std::sqrt(double(count)));
  while (rows > 1 && count % rows != 0) --rows;
  rows = std::max<size_t>(rows, 1);
  return {int64_t(rows), int64_t(count / rows)};
}

void print_head(const Options& o, const Ranks& ranks) {
  std::printf("# plait-perf: allreduce of %d ranks over %s, float32, %s\n", ranks.size(),
              ranks.transport().c_str(), o.ops[0]->name);
  std::printf("# codec %s; values: normally distributed; %d iterations after %d to warm up\n",
              o.codec.c_str(), o.iterations, o.warmup);
  std::printf(
      "# ratio: bytes sent a byte of values; error: of the whole vector, relative; most: of an element, by "
      "the\n");
  std::printf("# root mean square of the true sums\n#\n");
  std::printf("# %10s %12s %-20s %10s %8s %7s %9s %9s", "size", "count", "algorithm", "time", "algbw",
              "ratio", "error", "most");
  if (!o.rival.empty()) std::printf(" %10s %8s", "none", "speedup");
  std::printf("\n# %10s %12s %-20s %10s %8s %7s %9s %9s", "(B)", "(elements)", "", "(us)", "(GB/s)", "", "",
              "");
  if (!o.rival.empty()) std::printf(" %10s", "(us)");
  std::printf("\n");
}

void print_row(const CodedRow& r) {
  std::printf("  %10zu %12zu %-20s %10s %8s", r.bytes, r.count, r.algorithm.c_str(),
              number(r.coded_us).c_str(), number(double(r.bytes) / r.coded_us / 1e3).c_str());
  if (r.encoded) {
    std::printf(" %7.4f %9.2e %9.2e", r.ratio, r.error, r.most);
  } else {
    std::printf(" %7s %9.2e %9.2e", "-", r.error, r.most);
  }
  if (r.plain_us) std::printf(" %10s %8.2f", number(*r.plain_us).c_str(), *r.speedup());
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

CodedBench::CodedBench(const Options& options, plait_comm* comm) : options_(options), ranks_(comm) {}

void CodedBench::run() {
  const size_t most = *std::max_element(options_.sizes.begin(), options_.sizes.end());
  const Memory memory = options_.memory_of(rank());
  const std::string doing = "two buffers of " + std::to_string(most) + " bytes (" + memory_name(memory) + ")";
  ranks_.must(in_.make(memory, most), doing);
  ranks_.must(out_.make(memory, most), doing);
  auto* in = reinterpret_cast<float*>(in_.data());
  for (size_t i = 0; i < most / sizeof(float); ++i) in[i] = value(rank(), i);
  if (rank() == 0) print_head(options_, ranks_);
  for (size_t bytes : options_.sizes) {
    std::optional<Watch::Shown> shown;
    if (rank() == 0) shown.emplace(watch_, "allreduce of " + std::to_string(bytes) + " bytes");
    CodedRow row = measure(std::max(bytes, sizeof(float)));
    shown.reset();
    if (rank() != 0) continue;
    print_row(row);
    rows_.push_back(std::move(row));
  }
}

CodedRow CodedBench::measure(size_t bytes) {
  CodedRow row;
  row.count = bytes / sizeof(float);
  row.bytes = row.count * sizeof(float);
  look_at_error(row);
  time(row);
  return row;
}

plait_codec_stats CodedBench::stats() const {
  plait_codec_stats stats{};
  stats.struct_size = sizeof stats;
  ranks_.must(plait_codec_get_stats(ranks_.comm(), &stats), "plait_codec_get_stats");
  return stats;
}

// Starts it, and waits for it where `request` is null.
void CodedBench::call(size_t count, const char* codec, uint64_t key, plait_request** request) {
  const std::array<int64_t, 2> matrix = matrix_of(count);
  plait_call_config config{};
  config.struct_size = sizeof config;
  if (!options_.algorithm.empty()) config.algorithm = options_.algorithm.c_str();
  config.codec = codec;
  config.tensor_key = key;
  config.shape = matrix.data();
  config.shape_dims = matrix.size();
  ranks_.must(plait_allreduce(ranks_.comm(), in_.data(), out_.data(), count, PLAIT_FLOAT32,
                              options_.ops[0]->id, &config, request),
              "allreduce of " + std::to_string(count) + " float32");
}

// In turns, so that what else the machine does meets both alike.
void CodedBench::time(CodedRow& row) {
  const uint64_t key = ++key_;
  auto coded = [&] { call(row.count, options_.codec.c_str(), key, nullptr); };
  auto plain = [&] { call(row.count, nullptr, 0, nullptr); };
  const bool both = !options_.rival.empty();
  const int each = (options_.iterations + kCodecTurns - 1) / kCodecTurns;
  const int batch = batch_of(ranks_.glance(4, coded));
  std::vector<double> coded_us, plain_us;
  for (int turn = 0; turn < kCodecTurns; ++turn) {
    for (int i = 0; i < options_.warmup; ++i) coded();
    for (double us : ranks_.sample(each, batch, coded)) coded_us.push_back(us);
    for (int i = 0; both && i < options_.warmup; ++i) plain();
    if (both)
      for (double us : ranks_.sample(each, batch, plain)) plain_us.push_back(us);
  }
  row.coded_us = percentile(coded_us, 0.5);
  if (both) row.plain_us = percentile(plain_us, 0.5);
}

// Of the first call of a tensor: what a codec left out of it is in none of the later ones.
void CodedBench::look_at_error(CodedRow& row) {
  const plait_codec_stats before = stats();
  plait_request* request = nullptr;
  const char* name = "";
  call(row.count, options_.codec.c_str(), ++key_, &request);
  ranks_.must(plait_wait(request), "allreduce");
  ranks_.must(plait_request_algorithm(request, &name), "allreduce");
  row.algorithm = name;
  ranks_.must(plait_request_free(request), "allreduce");
  const plait_codec_stats after = stats();
  struct Sent {
    uint64_t values, wires;
  } own{after.value_bytes - before.value_bytes, after.wire_bytes - before.wire_bytes};
  uint64_t values = 0, wires = 0;
  for (const Sent& s : ranks_.gather(std::span<const Sent>(&own, 1))) values += s.values, wires += s.wires;
  row.encoded = values > 0;
  if (values > 0) row.ratio = double(wires) / double(values);
  const auto* out = reinterpret_cast<const float*>(out_.data());
  const double scale = options_.ops[0]->id == PLAIT_AVG ? 1.0 / ranks_.size() : 1;
  double squares = 0, wrong = 0, most = 0;
  for (size_t i = 0; i < row.count; ++i) {
    double sum = 0;
    for (int r = 0; r < ranks_.size(); ++r) sum += value(r, i);
    sum *= scale;
    const double off = double(out[i]) - sum;
    squares += sum * sum;
    wrong += off * off;
    most = std::max(most, std::fabs(off));
  }
  row.error = squares > 0 ? std::sqrt(wrong / squares) : 0;
  row.most = squares > 0 ? most / std::sqrt(squares / double(row.count)) : 0;
}

// The sum of four uniform numbers, about normal; of index and rank alone.
float CodedBench::value(int rank, size_t i) const {
  const uint64_t bits = mix(uint64_t(i) * 0x9E3779B97F4A7C15ull + uint64_t(rank) * 0xD6E8FEB86659FD93ull + 1);
  int32_t sum = 0;
  for (int k = 0; k < 4; ++k) sum += int32_t(bits >> 16 * k & 0xffff);
  return float(sum - 2 * 0xffff) / 37837.f;  // 1: the standard deviation
}

}  // namespace plait::perf
