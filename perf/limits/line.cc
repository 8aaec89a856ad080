// The limit of small messages, up to 1 KiB: every collective as one exchange of mailbox lines.
#include "mail.h"
#include "world.h"

namespace {

constexpr size_t kMost = 1024;  // bytes of a message: above, memory that both map is faster

class Lines final : public limits::Ranks {
 public:
  explicit Lines(limits::World& world) : Ranks(world), mail_(world) {}
  bool prepare(const std::string&, const float*, float*, size_t n) override { return bytes(n) <= kMost; }

  void allreduce(const float* in, float* out, size_t n) override {
    mail_.each_other([&](int q) { mail_.put(q, in, bytes(n)); });
    if (in != out) memcpy(out, in, bytes(n));
    mail_.each_other([&](int q) { mail_.fold(q, out, n); });
  }
  void reduce_scatter(const float* in, float* out, size_t n) override {
    mail_.each_other([&](int q) { mail_.put(q, in + n * size_t(q), bytes(n)); });
    memcpy(out, in + n * size_t(rank()), bytes(n));
    mail_.each_other([&](int q) { mail_.fold(q, out, n); });
  }
  void allgather(const float* in, float* out, size_t n) override {
    mail_.each_other([&](int q) { mail_.put(q, in, bytes(n)); });
    memcpy(out + n * size_t(rank()), in, bytes(n));
    mail_.each_other([&](int q) { mail_.take(q, out + n * size_t(q), bytes(n)); });
  }
  void alltoall(const float* in, float* out, size_t n) override {
    mail_.each_other([&](int q) { mail_.put(q, in + n * size_t(q), bytes(n)); });
    memcpy(out + n * size_t(rank()), in + n * size_t(rank()), bytes(n));
    mail_.each_other([&](int q) { mail_.take(q, out + n * size_t(q), bytes(n)); });
  }
  void broadcast(float* b, size_t n, int root) override {
    if (rank() != root) return mail_.take(root, b, bytes(n));
    mail_.each_other([&](int q) { mail_.put(q, b, bytes(n)); });
  }
  void barrier() override {
    mail_.exchange(nullptr, 0, [](int, const char*) {});
  }
  void send(const float* b, size_t n, int to) override { mail_.put(to, b, bytes(n)); }
  void recv(float* b, size_t n, int from) override { mail_.take(from, b, bytes(n)); }

 private:
  static size_t bytes(size_t n) { return n * sizeof(float); }
  limits::Mail mail_;
};

}  // namespace

int main(int argc, char** argv) { return limits::launch<Lines>(argc, argv); }
