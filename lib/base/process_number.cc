#include "base/process_number.h"

#include <pthread.h>
#include <sys/mman.h>

#include <new>

#include "base/pages.h"

namespace plait::detail {

constinit std::atomic<std::atomic<uint64_t>*> process_word{nullptr};

namespace {

// Of this process or, until it has one, of its parent: fork() copies it.
constinit std::atomic<uint64_t> last_number{0};
// Where there are no pages to be had.
constinit std::atomic<uint64_t> plain_word{0};

void forget_number() { process_word.load()->store(0, std::memory_order_relaxed); }

// Once a family of processes: children inherit page and handler. Of threads that race, one page is kept.
std::atomic<uint64_t>* make_word() noexcept {
  std::atomic<uint64_t>* word = &plain_word;
  Mapping page = map_pages(kPageBytes);
  if (page && madvise(page.data(), kPageBytes, MADV_WIPEONFORK) == 0) {
    word = new (page.data()) std::atomic<uint64_t>(0);
  }
  std::atomic<std::atomic<uint64_t>*>& shared = process_word;
  std::atomic<uint64_t>* known = nullptr;
  if (!shared.compare_exchange_strong(known, word, std::memory_order_acq_rel)) return known;
  if (word != &plain_word) page.release();
  // Emulators take the advice and do nothing; a fork that they see, libc sees, too.
  (void)pthread_atfork(nullptr, nullptr, forget_number);
  return word;
}

}  // namespace

uint64_t number_this_process() noexcept {
  auto* word = process_word.load(std::memory_order_acquire);
  if (word == nullptr) word = make_word();
  const uint64_t fresh = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  uint64_t known = 0;
  return word->compare_exchange_strong(known, fresh, std::memory_order_relaxed) ? fresh : known;
}

}  // namespace plait::detail
