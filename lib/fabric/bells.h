// Signals over a stream of bytes, where the end of a write lands last: a write gathers its bytes and 8 more,
// the bell, and scatters them to their place and to a ring of bells in the target's memory. The target looks
// at the ring; its provider makes no completion. A bell holds a word of the user's, says which lap of the
// ring it is of, so that one which is half there is not there yet, and how many bells of the other way were
// heard: so none is written over before; and whether much came with it. Both ways of one pair of endpoints;
// one thread at a time.
#pragma once

#include <optional>

#include "base/pages.h"
#include "fabric/device.h"

namespace plait::fabric {

class Bells {
 public:
  static constexpr uint64_t kRing = 1024;
  static constexpr size_t kMuch = 8192;  // bytes of a write; more than a stream's receiver reads ahead
  static constexpr uint64_t kSpare = 8;  // for bells that only say what was heard

  Status open(const Device& device);
  // What the peer writes to.
  const Registration& ring() const noexcept { return registration_; }

  // Mine to the peer: the next one's number, its place in the peer's ring, in bytes, and itself.
  uint64_t sent() const noexcept { return sent_; }
  uint64_t place() const noexcept { return sent_ % kRing * sizeof(uint64_t); }
  uint64_t next(uint32_t word, size_t bytes) const noexcept {
    return uint64_t{lap(sent_)} << 56 | uint64_t{bytes >= kMuch} << 48 | uint64_t{uint16_t(heard_)} << 32 |
           word;
  }
  bool has_room() const noexcept { return sent_ - taken_ < kRing - kSpare; }
  // Whether the peer, who may have nothing to say that I would answer, must be told now what I heard.
  bool owes() const noexcept { return heard_ - told_ >= kRing / 2 && sent_ - taken_ < kRing; }
  // It is on its way.
  void went() noexcept {
    ++sent_;
    told_ = heard_;
  }

  // The peer's to me: how many I heard, and the word of the next one, if it is there.
  uint64_t heard() const noexcept { return heard_; }
  std::optional<uint32_t> front() const noexcept {
    return rang(heard_) ? std::optional(uint32_t(at(heard_))) : std::nullopt;
  }
  bool much() const noexcept { return (at(heard_) >> 48 & 1) != 0; }  // came with the next one
  // Hears it. False: it says that the peer heard what I never sent.
  bool hear() noexcept;
  // Rings one that came another way than by a write. False: it is none of those that may come now.
  bool put(uint64_t number, uint64_t bell) noexcept;
  // Whether a later one is there than the next: either that comes another way, or it is lost. Each time
  // another place is looked at.
  bool skipped() noexcept { return rang(heard_ + 1 + look_++ % (kRing - 1)); }
  // Whether any is there.
  bool ringing() const noexcept;

 private:
  static constexpr uint8_t lap(uint64_t number) noexcept { return uint8_t(number / kRing + 1); }
  uint64_t& at(uint64_t number) const noexcept {
    return reinterpret_cast<uint64_t*>(memory_.data())[number % kRing];
  }
  bool rang(uint64_t number) const noexcept {
    return __atomic_load_n(&at(number), __ATOMIC_ACQUIRE) >> 56 == lap(number);
  }

  Mapping memory_;
  Registration registration_;
  uint64_t sent_ = 0, taken_ = 0;  // mine; of these, as far as the peer said
  uint64_t heard_ = 0, told_ = 0;  // the peer's; of these, as far as I said
  uint64_t look_ = 0;
};

}  // namespace plait::fabric
