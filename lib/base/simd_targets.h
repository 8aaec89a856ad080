// The instruction sets the kernels are compiled for. Include this before any header of Highway.
#pragma once

// x86-64: scalar, SSE4, AVX2, AVX3 (AVX-512 F/BW/DQ/VL). Arm: NEON. What the left-out ones add, these kernels
// do not use, and each one costs build time and code. SVE vectors have no size, so they cannot be struct
// members.
//
// Under sanitizers each costs half a minute of compile time a file, and they see the same source in each:
// scalar and AVX2.
#ifdef PLAIT_SANITIZED
#define PLAIT_FURTHER_TARGETS (HWY_SSE4 | HWY_AVX3)
#else
#define PLAIT_FURTHER_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS                                                             \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | \
   PLAIT_FURTHER_TARGETS)
// The fallback is one element at a time, whatever the compiler: emulated vectors gain nothing here.
#define HWY_BROKEN_EMU128 1
