// The limit of memory that all ranks map, from some KiB on: ranks tell each other where their buffers lie,
// each does its share straight from inputs to outputs, and they tell each other that they are done. RANKS is
// 2, 4 or 8.
#include "kernels.h"
#include "mail.h"
#include "world.h"

namespace {

using limits::Store;

// Bytes from which outputs that nobody has read are written so.
constexpr size_t kAroundCaches = size_t{16} << 20;

// Bytes from which every other allreduce of two ranks goes backwards: what the one before had last is in the
// caches.
constexpr size_t kTurned = size_t{1} << 20;
constexpr size_t kCarry = size_t{8} << 10;  // the same of a broadcast, whose outputs are the next one's input
constexpr size_t kMessage = size_t{1} << 20;  // bytes up to which the library's memcpy is the fastest

class Direct final : public limits::Ranks {
 public:
  explicit Direct(limits::World& world) : Ranks(world), mail_(world) {
    if (size() != 2 && size() != 4 && size() != 8) exit(2);
  }
  float* alloc(size_t bytes) override { return world_.alloc(bytes); }

  void allreduce(const float* in, float* out, size_t n) override {
    arrive(in, out);
    // Shares of whole cache lines.
    const size_t lines = (n + limits::kLine - 1) / limits::kLine, ranks = size_t(size()), me = size_t(rank());
    const size_t from = std::min(n, lines * me / ranks * limits::kLine);
    const size_t to = std::min(n, lines * (me + 1) / ranks * limits::kLine);
    const bool large = n * sizeof(float) >= kTurned, turned = large && turns_++ % 2 != 0;
    if (in == out && size() == 2 && (large ? turned : me == 0)) {
      // Small: away from the other's share, as what the core fetches ahead of itself is its own.
      limits::sum<2, 2, Store::cached, true>(ins_, outs_, from, to);
    } else if (in == out) {
      sum_all<Store::cached>(from, to);
    } else if (n * sizeof(float) >= kAroundCaches && size() == 2 && turned) {
      limits::sum<2, 2, Store::around, true>(ins_, outs_, from, to);
    } else if (n * sizeof(float) >= kAroundCaches) {
      sum_all<Store::around>(from, to);
    } else {
      sum_all<Store::ahead>(from, to);
    }
    leave();
  }
  void reduce_scatter(const float* in, float* out, size_t n) override {
    arrive(in, out);
    const float* blocks[limits::kMostRanks];
    for (int q = 0; q < size(); ++q) blocks[q] = ins_[q] + n * size_t(rank());
    if (size() == 2) limits::sum<2, 1, Store::ahead>(blocks, &out, 0, n);
    if (size() == 4) limits::sum<4, 1, Store::ahead>(blocks, &out, 0, n);
    if (size() == 8) limits::sum<8, 1, Store::ahead>(blocks, &out, 0, n);
    leave();
  }
  void allgather(const float* in, float* out, size_t n) override {
    arrive(in, out);
    for (int q = 0; q < size(); ++q) take(out + n * size_t(q), ins_[q], n, n * size_t(size()));
    leave();
  }
  void alltoall(const float* in, float* out, size_t n) override {
    arrive(in, out);
    for (int q = 0; q < size(); ++q)
      take(out + n * size_t(q), ins_[q] + n * size_t(rank()), n, n * size_t(size()));
    leave();
  }
  // Of two ranks each carries half: the root to the other, the other to itself.
  void broadcast(float* b, size_t n, int root) override {
    arrive(b, b);
    const size_t half = size() == 2 ? n / 2 / limits::kLine * limits::kLine : n;
    if (rank() != root) {
      carry(b, ins_[root], half);
    } else if (size() == 2) {
      carry(outs_[1 - root] + half, b + half, n - half);
    }
    leave();
  }
  void barrier() override { arrive(nullptr, nullptr); }

  // Between ranks 0 and 1. The sender waits until its buffer is its own again.
  void send(const float* b, size_t, int to) override {
    const uint64_t at = world_.offset_of(b);
    mail_.put(to, &at, sizeof at);
    mail_.take(to, nullptr, 0);
  }
  void recv(float* b, size_t n, int from) override {
    uint64_t at = 0;
    mail_.take(from, &at, sizeof at);
    if (n * sizeof(float) < kMessage) {
      memcpy(b, world_.at(from, at), n * sizeof(float));
    } else {
      take(b, world_.at(from, at), n, n);
    }
    mail_.put(from, nullptr, 0);
  }

 private:
  struct Told {
    uint64_t in, out;
  };

  void arrive(const float* in, float* out) {
    ins_[rank()] = in;
    outs_[rank()] = out;
    const Told mine{world_.offset_of(in), world_.offset_of(out)};
    mail_.exchange(&mine, sizeof mine, [&](int q, const char* data) {
      Told its;
      memcpy(&its, data, sizeof its);
      ins_[q] = world_.at(q, its.in);
      outs_[q] = world_.at(q, its.out);
    });
  }
  void leave() {
    mail_.exchange(nullptr, 0, [](int, const char*) {});
  }
  template <Store How>
  void sum_all(size_t from, size_t to) {
    if (size() == 2) limits::sum<2, 2, How>(ins_, outs_, from, to);
    if (size() == 4) limits::sum<4, 4, How>(ins_, outs_, from, to);
    if (size() == 8) limits::sum<8, 8, How>(ins_, outs_, from, to);
  }
  // `n` elements of an output of `all`.
  static void take(float* to, const float* from, size_t n, size_t all) {
    const bool aligned = reinterpret_cast<uintptr_t>(to) % 64 == 0;
    if (aligned && all * sizeof(float) >= kAroundCaches) {
      limits::copy<Store::around>(to, from, n);
    } else {
      limits::copy<Store::ahead>(to, from, n);
    }
  }

  // What the other core has written last, to where it has read: ordinary stores take three times as long, as
  // each line is fetched for them first.
  static void carry(float* to, const float* from, size_t n) {
    if (n * sizeof(float) < kCarry) {
      memcpy(to, from, n * sizeof(float));
    } else {
      limits::copy<Store::around>(to, from, n);
    }
  }

  limits::Mail mail_;
  size_t turns_ = 0;  // of large vectors
  const float* ins_[limits::kMostRanks] = {};
  float* outs_[limits::kMostRanks] = {};
};

}  // namespace

int main(int argc, char** argv) { return limits::launch<Direct>(argc, argv); }
