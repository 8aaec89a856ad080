#include "base/copy.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace plait {

#if defined(__x86_64__)

namespace {

bool is_zen_5_or_later() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0 || b != signature_AMD_ebx || c != signature_AMD_ecx) return false;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  const unsigned family = (a >> 8 & 0xf) + (a >> 20 & 0xff);
  constexpr unsigned kFastShortStrings = 1u << 4;  // FSRM, in edx
  return family >= 26 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kFastShortStrings) != 0;
}

}  // namespace

const bool copies_by_string = is_zen_5_or_later();

void copy_by_string(void* to, const void* from, size_t bytes) noexcept {
#ifdef PLAIT_SANITIZED
  std::memcpy(to, from, bytes);  // which sanitizers see
#else
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#endif
}

#else

const bool copies_by_string = false;

void copy_by_string(void* to, const void* from, size_t bytes) noexcept { std::memcpy(to, from, bytes); }

#endif

}  // namespace plait
