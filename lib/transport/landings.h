// Where the bytes of puts land: the owner of a region that holds rings of pieces may have pieces land
// elsewhere in its memory, so that they need not be copied there. For back ends whose target itself stores
// the bytes (Region::steer). The peer neither knows nor decides: what it may write to are pieces of the
// region, and where they lie their owner says.
//
// Of the one thread that polls the domain.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace plait::transport {

class Landings {
 public:
  static constexpr uint32_t kMostRings = 4, kMostPieces = 32;  // 32: of a ring, as many as a word has bits

  // `rings` of `pieces` pieces of `piece_bytes` each, one behind the other from `begin` in the region on,
  // whose memory begins at `base`.
  Landings(std::byte* base, uint64_t begin, size_t piece_bytes, uint32_t pieces, uint32_t rings) noexcept
      : base_(base), begin_(begin), piece_bytes_(piece_bytes), pieces_(pieces), rings_(rings) {}

  // The owner: `count` pieces of a ring, from `first` on, are to land at `to` one behind the other. There
  // must be room for them whole, until they were settled in that order, or recall(). Those of which something
  // has landed stay, and so do all where earlier ones are not settled.
  void divert(uint32_t ring, uint32_t first, uint32_t count, std::byte* to) noexcept {
    Ring& r = ring_[ring];
    if (r.count != 0) return;
    for (; count != 0 && begun(r, first); count--, to += piece_bytes_) first = (first + 1) % pieces_;
    uint32_t most = 0;
    while (most != count && !begun(r, (first + most) % pieces_)) most++;
    r.first = first;
    r.count = most;
    r.to = to;
  }
  // Where a piece lands, or has landed.
  const std::byte* at(uint32_t ring, uint32_t piece) const noexcept { return place(ring, piece); }
  // It was read: what comes next lands in the region again.
  void settle(uint32_t ring, uint32_t piece) noexcept {
    Ring& r = ring_[ring];
    r.begun &= ~bit(piece);
    if (const uint32_t k = behind_first(r, piece); k < r.count) {
      r.first = (piece + 1) % pieces_;
      r.count -= k + 1;
      r.to += (k + 1) * piece_bytes_;
    }
  }
  // Nothing lands elsewhere any more, the rest of what has begun included.
  void recall() noexcept {
    for (Ring& r : ring_) r.count = 0;
  }

  // The back end: where the byte at `offset` of the region lands. Cuts `bytes` to how many from there on
  // surely lie side by side.
  std::byte* find(uint64_t offset, size_t& bytes) const noexcept {
    const uint64_t ring_bytes = piece_bytes_ * pieces_;
    if (offset < begin_ || offset - begin_ >= ring_bytes * rings_) {
      if (offset < begin_) bytes = size_t(std::min<uint64_t>(bytes, begin_ - offset));
      return base_ + offset;
    }
    const uint32_t ring = uint32_t((offset - begin_) / ring_bytes);
    const uint64_t in_ring = (offset - begin_) % ring_bytes, in_piece = in_ring % piece_bytes_;
    const uint32_t piece = uint32_t(in_ring / piece_bytes_);
    const Ring& r = ring_[ring];
    const uint32_t k = behind_first(r, piece);
    uint32_t run = pieces_ - piece;
    if (k < r.count)
      run = std::min(run, r.count - k);
    else if (r.count != 0 && r.first > piece)
      run = r.first - piece;
    bytes = size_t(std::min<uint64_t>(bytes, run * uint64_t(piece_bytes_) - in_piece));
    return place(ring, piece) + in_piece;
  }
  // So many bytes from `offset` on have landed where find() said.
  void landed(uint64_t offset, size_t bytes) noexcept {
    const uint64_t all = uint64_t(rings_) * pieces_, end = offset + bytes;
    if (bytes == 0 || end <= begin_) return;
    const uint64_t first = offset <= begin_ ? 0 : (offset - begin_) / piece_bytes_;
    const uint64_t behind = std::min<uint64_t>((end - begin_ - 1) / piece_bytes_ + 1, all);
    for (uint64_t i = first; i < behind; i++) ring_[i / pieces_].begun |= bit(uint32_t(i % pieces_));
  }

 private:
  struct Ring {
    uint32_t begun = 0;             // a bit a piece: some of it has landed
    uint32_t first = 0, count = 0;  // the pieces that land elsewhere ...
    std::byte* to = nullptr;        // ... from here on
  };
  static constexpr uint32_t bit(uint32_t piece) noexcept { return uint32_t(1) << piece; }
  static bool begun(const Ring& r, uint32_t piece) noexcept { return (r.begun & bit(piece)) != 0; }
  uint32_t behind_first(const Ring& r, uint32_t piece) const noexcept {
    return piece >= r.first ? piece - r.first : piece + pieces_ - r.first;
  }
  std::byte* place(uint32_t ring, uint32_t piece) const noexcept {
    const Ring& r = ring_[ring];
    const uint32_t k = behind_first(r, piece);
    return k < r.count ? r.to + k * piece_bytes_
                       : base_ + begin_ + (uint64_t(ring) * pieces_ + piece) * piece_bytes_;
  }

  std::byte* const base_;
  const uint64_t begin_;
  const size_t piece_bytes_;
  const uint32_t pieces_, rings_;
  std::array<Ring, kMostRings> ring_{};
};

}  // namespace plait::transport
