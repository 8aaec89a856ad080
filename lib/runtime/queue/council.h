// How ranks agree: small operations on a communicator of their own, one after the other. A *round* is a
// bitwise and of what each has ready, 8 bytes for 62 tensors. Where some rank asks for it, more follows: what
// is new is told (*news*), who lacks what is counted (*census*), how long a trial took is compared (*trial*).
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/queue/keys.h"

namespace plait::runtime::queue {

// What a rank has ready, and what it asks for. Bits are set for what it does not ask for: `and` finds who
// does.
class Ballot {
 public:
  Ballot() { resize(0); }
  // For so many slots. What is ready stays so.
  void resize(uint32_t slots) {
    words_.resize((slots + kAsks + 63) / 64);
    calm();
  }
  uint32_t slots() const noexcept { return uint32_t(words_.size() * 64) - kAsks; }
  bool ready(uint32_t slot) const noexcept { return (words_[word(slot)] & bit(slot)) != 0; }
  void set(uint32_t slot) noexcept { words_[word(slot)] |= bit(slot); }
  void clear(uint32_t slot) noexcept { words_[word(slot)] &= ~bit(slot); }
  void calm() noexcept { words_[0] |= 3; }
  void ask_news() noexcept { words_[0] &= ~uint64_t(1); }
  void ask_census() noexcept { words_[0] &= ~uint64_t(2); }
  bool news() const noexcept { return (words_[0] & 1) == 0; }
  bool census() const noexcept { return (words_[0] & 2) == 0; }
  // Of the slots that are ready, in order.
  template <class F>
  void each(F f) const {
    for (size_t w = 0; w < words_.size(); w++) {
      for (uint64_t left = w == 0 ? words_[0] & ~uint64_t(3) : words_[w]; left != 0; left &= left - 1)
        f(uint32_t(w * 64) + uint32_t(std::countr_zero(left)) - kAsks);
    }
  }
  std::span<uint64_t> words() noexcept { return words_; }
  std::span<const uint64_t> words() const noexcept { return words_; }

 private:
  static constexpr uint32_t kAsks = 2;
  static size_t word(uint32_t slot) noexcept { return (slot + kAsks) / 64; }
  static uint64_t bit(uint32_t slot) noexcept { return uint64_t(1) << (slot + kAsks) % 64; }
  std::vector<uint64_t> words_;
};

enum class Step : uint8_t { none, round, news, census, trial };

class Council {
 public:
  static constexpr size_t kMostNews = 128;  // that a rank tells at a time

  Council(Communicator& comm, int64_t timeout_ms) noexcept : comm_(comm), timeout_ms_(timeout_ms) {}
  ~Council();
  Council(const Council&) = delete;
  Council& operator=(const Council&) = delete;
  Status open();
  Communicator& comm() const noexcept { return comm_; }

  // Each begins a step, which every rank begins as the same one; one at a time.
  Status begin_round(const Ballot& mine);
  Status begin_news(std::span<const Tensor> mine);
  Status begin_census(const Ballot& mine, uint64_t late_key, bool late);
  Status begin_trial(uint64_t busy_ns);
  Step step() const noexcept { return step_; }
  // Moves on; true when the step has ended, whose outcome is result(), and Step::none is next.
  bool ended() noexcept;
  const Status& result() const noexcept { return result_; }
  void check() noexcept { comm_.check(request_); }
  // "2, 3": ranks that are known not to have come to the step.
  std::string absent() const;

  // Of the last step of that kind.
  const Ballot& agreed() const noexcept { return agreed_; }
  std::vector<Told> told() const;
  uint64_t longest_ns() const noexcept { return busy_ns_; }
  struct Seat {  // of a rank in a census
    bool late;   // its oldest tensor, `late_key`, has waited for longer than it may
    uint64_t late_key;
    std::span<const uint64_t> words;
    bool ready(uint32_t slot) const noexcept { return (words[(slot + 2) / 64] >> (slot + 2) % 64 & 1) != 0; }
  };
  Seat seat(int32_t rank) const noexcept;

 private:
  struct News {
    uint64_t count = 0;
    Tensor tensors[kMostNews];
  };
  Status start(Step step, plait_request* request) noexcept;
  Result<plait_request*> plan_round();
  Args gather(const void* mine, void* all, size_t bytes) const;
  void forget(plait_request** request) noexcept;

  Communicator& comm_;
  const int64_t timeout_ms_;
  plait_op both_ = 0;  // the bitwise and
  Ballot agreed_;
  size_t planned_words_ = 0;
  plait_request *round_ = nullptr, *news_ = nullptr, *trial_ = nullptr;  // plans
  plait_request* request_ = nullptr;                                     // of the step
  Step step_ = Step::none;
  Status result_;
  std::vector<News> own_news_, all_news_;
  std::vector<uint64_t> own_seat_, all_seats_;
  uint64_t busy_ns_ = 0;
};

}  // namespace plait::runtime::queue
