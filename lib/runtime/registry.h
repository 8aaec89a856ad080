// Memory that the user registered: one table a process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::runtime {

struct Registration {
  void* base = nullptr;
  size_t bytes = 0;
  uint64_t number = 0;  // of the registration, never the same twice; 0: none
};

// Any thread.
uint64_t add_registration(void* base, size_t bytes);
void remove_registration(uint64_t number);
// The one that holds all of [p, p + bytes).
Registration find_registration(const void* p, size_t bytes);

}  // namespace plait::runtime
