// How fast codecs encode, decode, and decode and add, beside memcpy of as many bytes, in turns:
//
//   bench_codec [CODEC...]     "int8", "topk:ratio=0.01", ...; one of each kind, if none
//
// 64 MiB of normally distributed float32, piece by piece of 1 MiB, as collectives do it. moved: bytes that
// must be read and written, values, wire and what is kept, a second; memcpy: the same of a copy of half as
// many bytes. ns: of a byte of values, which is what the codec's cost() says for planners.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/pages.h"
#include "collectives/codec/codec.h"

namespace plait {
namespace {

using collectives::Dtype;
using collectives::codec::Codec;
using collectives::codec::Piece;

constexpr size_t kBytes = size_t(64) << 20, kPiece = size_t(1) << 20, kPieces = kBytes / kPiece;
constexpr size_t kElements = kPiece / sizeof(float);
constexpr int kTurns = 9;

struct Memory {
  Mapping values = map_pages(kBytes), result = map_pages(kBytes), wires, state, work,
          from = map_pages(2 * kBytes), to = map_pages(2 * kBytes);
  std::vector<size_t> lengths = std::vector<size_t>(kPieces);
  size_t wire_room = 0;

  void ready_for(const Codec& codec) {
    wire_room = round_up(codec.bound(kElements), 64);
    wires = map_pages(wire_room * kPieces);
    state = map_pages(std::max<size_t>(1, codec.state_bytes() * (kBytes / sizeof(float))));
    work = map_pages(std::max<size_t>(1, codec.work_bytes(kElements)));
  }
};

double median(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

template <class F>
double timed(F f) {
  const int64_t begin = now_ns();
  f();
  return double(now_ns() - begin) * 1e-9;
}

void encode(const Codec& codec, Memory& m, uint64_t turn) {
  for (size_t p = 0; p < kPieces; p++) {
    const Piece piece{.count = kElements, .first = p * kElements, .seed = p, .turn = turn};
    m.lengths[p] = codec.encode(piece, m.values.data() + p * kPiece,
                                m.state.data() + p * kElements * codec.state_bytes(), m.work.data(),
                                m.wires.data() + p * m.wire_room);
  }
}
void decode(const Codec& codec, Memory& m, bool add) {
  for (size_t p = 0; p < kPieces; p++) {
    const std::byte* wire = m.wires.data() + p * m.wire_room;
    std::byte* to = m.result.data() + p * kPiece;
    const char* problem = add ? codec.decode_add(wire, m.lengths[p], kElements, m.work.data(), to)
                              : codec.decode(wire, m.lengths[p], kElements, m.work.data(), to);
    if (problem != nullptr) std::printf("%s\n", problem);
  }
}
void copy(Memory& m, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kPiece)
    std::memcpy(m.to.data() + at, m.from.data() + at, std::min(kPiece, bytes - at));
}

// `moved`: bytes, once it has run.
template <class F, class Moved>
void row(const char* name, const char* what, Memory& m, F f, Moved moved) {
  f(0);
  const size_t half = std::min(size_t(double(moved()) / 2), 2 * kBytes);
  copy(m, half);
  std::vector<double> own, plain;
  for (int turn = 1; turn <= kTurns; turn++) {
    own.push_back(timed([&] { f(turn); }));
    plain.push_back(timed([&] { copy(m, half); }));
  }
  const double speed = double(moved()) / median(own), limit = 2 * double(half) / median(plain);
  std::printf("%-28s %-11s %8.2f %10.2f %8.2f %6.0f %%  %6.3f\n", name, what,
              double(kBytes) / median(own) * 1e-9, speed * 1e-9, limit * 1e-9, 100 * speed / limit,
              median(own) / double(kBytes) * 1e9);
}

bool run(const std::string& text, Memory& m) {
  auto made = collectives::codec::make(text, Dtype::float32);
  if (!made.ok()) {
    std::fprintf(stderr, "bench_codec: %s\n", std::string(made.status().text()).c_str());
    return false;
  }
  const Codec& codec = **made;
  m.ready_for(codec);
  const size_t kept = codec.state_bytes() * (kBytes / sizeof(float));
  auto wires = [&] {
    size_t all = 0;
    for (size_t length : m.lengths) all += length;
    return all;
  };
  row(
      text.c_str(), "encode", m, [&](int turn) { encode(codec, m, uint64_t(turn)); },
      [&] { return kBytes + wires() + 2 * kept; });
  row(
      "", "decode", m, [&](int) { decode(codec, m, false); }, [&] { return kBytes + wires(); });
  row(
      "", "decode, add", m, [&](int) { decode(codec, m, true); }, [&] { return 2 * kBytes + wires(); });
  return true;
}

int main_of(const std::vector<std::string>& texts) {
  Memory m;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto* values = reinterpret_cast<float*>(m.values.data());
  for (size_t i = 0; i < kBytes / sizeof(float); i++) values[i] = normal(random);
  std::memset(m.from.data(), 1, m.from.size());
  std::memset(m.to.data(), 1, m.to.size());
  std::printf("%-28s %-11s %8s %10s %8s %8s  %6s\n", "", "", "values", "moved", "memcpy", "", "");
  std::printf("%-28s %-11s %8s %10s %8s %8s  %6s\n", "", "", "(GB/s)", "(GB/s)", "(GB/s)", "of it", "ns/B");
  bool good = true;
  for (const std::string& text : texts) good = run(text, m) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  std::vector<std::string> texts(argv + 1, argv + argc);
  if (!texts.empty() && texts[0].starts_with("-")) {
    std::printf(
        "bench_codec [CODEC...]: how fast codecs are, beside memcpy\n\nExamples:\n  bench_codec\n"
        "  bench_codec int8 cast:to=bf16\n  chrt -r 1 bench_codec topk:ratio=0.001\n");
    return texts[0] == "--help" ? 0 : 2;
  }
  if (texts.empty())
    texts = {"cast:to=bf16",
             "cast:to=fp16",
             "cast:to=e4m3",
             "int8",
             "int8:rounding=stochastic",
             "int4",
             "onebit",
             "topk:ratio=0.01",
             "threshold:value=2.5",
             "randomk:ratio=0.01"};
  return plait::main_of(texts);
}
