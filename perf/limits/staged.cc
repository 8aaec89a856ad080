// The limit of plain memory that goes through shared slots, two ranks: the owner copies a piece of the half
// that its peer reduces into a slot, the peer reduces it into its output and into the slot, and the owner
// copies it out again. Pieces are so small that slots stay in the caches, and several are on their way.
// Allreduce alone, from 1 KiB on.
#include "kernels.h"
#include "world.h"

namespace {

constexpr size_t kSlots = 8;                                   // each way
constexpr size_t kPiece = (size_t{16} << 10) / sizeof(float);  // elements
constexpr size_t kLeast = 1024;                                // bytes: below, lines are faster

// One way: slots that their owner fills and empties, and its peer reduces.
struct Way {
  limits::Line filled[kSlots], reduced[kSlots];  // the number of the piece that is there
  alignas(4096) float slot[kSlots][kPiece];
};

// Every other time its last piece comes first, which is in the caches.
struct Half {
  size_t from, to;
  bool turned;
  size_t pieces() const { return (to - from + kPiece - 1) / kPiece; }
  size_t at(size_t piece) const { return from + (turned ? pieces() - 1 - piece : piece) * kPiece; }
  size_t count(size_t piece) const { return std::min(kPiece, to - at(piece)); }
};

class Staged final : public limits::Ranks {
 public:
  explicit Staged(limits::World& world) : Ranks(world), own_(way(rank())), peers_(way(1 - rank())) {
    if (size() != 2) exit(2);
  }
  bool prepare(const std::string& c, const float*, float*, size_t n) override {
    return limits::is_allreduce(c) && n * sizeof(float) >= kLeast;
  }
  void allreduce(const float* in, float* out, size_t n) override {
    const size_t middle = n / 2 / limits::kLine * limits::kLine;
    const bool turned = turns_++ % 2 != 0;
    const Half halves[] = {{0, middle, turned}, {middle, n, turned}};
    const Half &mine = halves[rank()], &its = halves[1 - rank()];
    size_t filled = 0, reduced = 0, emptied = 0;
    while (emptied < its.pieces() || reduced < mine.pieces()) {
      const bool may_fill = filled < its.pieces() && filled < emptied + kSlots;
      if (may_fill) fill(in, its, filled++);
      const bool did = reduced < mine.pieces() && reduce(in, out, mine, reduced);
      if (did) ++reduced;
      // Filling comes first: what is in a slot is what the peer can work on.
      if (emptied < filled && !may_fill && empty(out, its, emptied)) {
        ++emptied;
      } else if (!may_fill && !did) {
        __builtin_ia32_pause();
      }
    }
    own_pieces_ += its.pieces();
    peers_pieces_ += mine.pieces();
  }

 private:
  Way& way(int owner) { return reinterpret_cast<Way*>(world_.control)[owner]; }

  void fill(const float* in, const Half& its, size_t piece) {
    const size_t number = own_pieces_ + piece, s = number % kSlots;
    limits::copy(own_.slot[s], in + its.at(piece), its.count(piece));
    own_.filled[s].word.store(number + 1, std::memory_order_release);
  }
  bool reduce(const float* in, float* out, const Half& mine, size_t piece) {
    const size_t number = peers_pieces_ + piece, s = number % kSlots;
    if (peers_.filled[s].word.load(std::memory_order_acquire) != number + 1) return false;
    const float* const ins[] = {in + mine.at(piece), peers_.slot[s]};
    float* const outs[] = {out + mine.at(piece), peers_.slot[s]};
    limits::sum<2, 2, limits::Store::cached>(ins, outs, 0, mine.count(piece));
    peers_.reduced[s].word.store(number + 1, std::memory_order_release);
    return true;
  }
  bool empty(float* out, const Half& its, size_t piece) {
    const size_t number = own_pieces_ + piece, s = number % kSlots;
    if (own_.reduced[s].word.load(std::memory_order_acquire) != number + 1) return false;
    limits::copy(out + its.at(piece), own_.slot[s], its.count(piece));
    return true;
  }

  Way &own_, &peers_;
  size_t turns_ = 0;
  size_t own_pieces_ = 0, peers_pieces_ = 0;  // of the calls before
};

}  // namespace

int main(int argc, char** argv) { return limits::launch<Staged>(argc, argv); }
