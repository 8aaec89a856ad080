// Random words from the kernel: for nonces and secrets.
#pragma once

#include <cstdint>

namespace plait {

uint64_t random_word() noexcept;  // never 0

}  // namespace plait
