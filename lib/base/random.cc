#include "base/random.h"

#include <sys/random.h>
#include <sys/types.h>

namespace plait {

uint64_t random_word() noexcept {
  uint64_t word = 0;
  while (word == 0) {
    while (getrandom(&word, sizeof word, 0) != ssize_t(sizeof word)) {
    }
  }
  return word;
}

}  // namespace plait
