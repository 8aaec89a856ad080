#include "runtime/recorder.h"

#include <algorithm>

namespace plait::runtime {

namespace {

void copy_text(char (&to)[Recorder::kTextBytes], std::string_view from) noexcept {
  const size_t bytes = std::min(from.size(), sizeof to - 1);
  std::memcpy(to, from.data(), bytes);
  std::memset(to + bytes, 0, sizeof to - bytes);
}

}  // namespace

void Recorder::identify(Identity who) {
  who_ = std::move(who);
  boards_ = std::make_unique<std::atomic<const Board*>[]>(size_t(who_.size));
}

void Recorder::watch(int32_t rank, const Board* board) noexcept {
  boards_[size_t(rank)].store(board, std::memory_order_release);
}

bool Recorder::waiting(uint64_t operation, int64_t now_ns) noexcept {
  if (waits_in_.load(std::memory_order_relaxed) != operation) {
    waits_in_.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    since_ns_.store(now_ns, std::memory_order_relaxed);
    seen_ns_.store(now_ns, std::memory_order_relaxed);
    waits_in_.store(operation, std::memory_order_release);
    told_ns_ = now_ns;
    return false;
  }
  seen_ns_.store(now_ns, std::memory_order_relaxed);
  if (now_ns - told_ns_ < kLongWaitNs) return false;
  told_ns_ = now_ns;
  return true;
}

void Recorder::waiting_for(std::string_view peers) noexcept {
  const uint64_t next = texts_.load(std::memory_order_relaxed) + 1;
  Text& text = text_[next % 2];
  char bytes[kTextBytes];
  copy_text(bytes, peers);
  std::atomic_thread_fence(std::memory_order_release);
  text.operation.store(waits_in_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  for (size_t i = 0; i < text.words.size(); i++) {
    uint64_t word;
    std::memcpy(&word, bytes + 8 * i, sizeof word);
    text.words[i].store(word, std::memory_order_relaxed);
  }
  texts_.store(next, std::memory_order_release);
}

void Recorder::failed(const Status& status, int32_t culprit, uint64_t operation) noexcept {
  if (has_failed_.load(std::memory_order_relaxed)) return;
  failure_.code = status.code();
  failure_.culprit = culprit;
  failure_.operation = operation;
  copy_text(failure_.text, status.text());
  has_failed_.store(true, std::memory_order_release);
}

bool Recorder::read(uint64_t number, CallId* call) const noexcept {
  const Entry& e = entries_[number % kEntries];
  if (number == 0 || e.number.load(std::memory_order_acquire) != number) return false;
  uint64_t words[kCallWords];
  for (size_t i = 0; i < kCallWords; i++) words[i] = e.call[i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (e.number.load(std::memory_order_relaxed) != number) return false;
  std::memcpy(call, words, sizeof words);
  return true;
}

uint64_t Recorder::latest() const noexcept {
  uint64_t latest = 0;
  for (const Entry& e : entries_) latest = std::max(latest, e.number.load(std::memory_order_acquire));
  return latest;
}

bool Recorder::read_wait(uint64_t number, Wait* wait) const noexcept {
  if (number == 0 || waits_in_.load(std::memory_order_acquire) != number) return false;
  wait->operation = number;
  wait->since_ns = since_ns_.load(std::memory_order_relaxed);
  wait->seen_ns = seen_ns_.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (waits_in_.load(std::memory_order_relaxed) != number) return false;
  wait->peers[0] = 0;
  // The writer comes by every 50 ms at most, and is one text ahead before it touches this one: the second try
  // is good.
  for (int tries = 0; tries < 2; tries++) {
    const uint64_t version = texts_.load(std::memory_order_acquire);
    const Text& text = text_[version % 2];
    if (text.operation.load(std::memory_order_relaxed) != number) return true;
    for (size_t i = 0; i < text.words.size(); i++) {
      const uint64_t word = text.words[i].load(std::memory_order_relaxed);
      std::memcpy(wait->peers + 8 * i, &word, sizeof word);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (texts_.load(std::memory_order_relaxed) == version) return true;
  }
  wait->peers[0] = 0;
  return true;
}

bool Recorder::arrived(int32_t rank, uint64_t* number) const noexcept {
  if (rank == who_.rank) {
    *number = latest();
    return true;
  }
  const Board* board = boards_[size_t(rank)].load(std::memory_order_acquire);
  if (board == nullptr) return false;
  *number = board->latest();
  return true;
}

}  // namespace plait::runtime
