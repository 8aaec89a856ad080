#include "runtime/registry.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace plait::runtime {
namespace {

struct Registrations {
  std::mutex mutex;
  uint64_t last = 0;
  std::vector<Registration> entries;
};

Registrations& registrations() {
  static auto* t = new Registrations;
  return *t;
}

}  // namespace

uint64_t add_registration(void* base, size_t bytes) {
  std::lock_guard lock(registrations().mutex);
  registrations().entries.push_back({base, bytes, ++registrations().last});
  return registrations().last;
}

void remove_registration(uint64_t number) {
  std::lock_guard lock(registrations().mutex);
  std::erase_if(registrations().entries, [&](const Registration& r) { return r.number == number; });
}

Registration find_registration(const void* p, size_t bytes) {
  std::lock_guard lock(registrations().mutex);
  const auto at = reinterpret_cast<uintptr_t>(p);
  for (const Registration& r : registrations().entries) {
    const auto base = reinterpret_cast<uintptr_t>(r.base);
    if (at >= base && at - base <= r.bytes && bytes <= r.bytes - (at - base)) return r;
  }
  return {};
}

}  // namespace plait::runtime
