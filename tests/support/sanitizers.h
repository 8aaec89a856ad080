// Which sanitizer this is compiled for: GCC defines a macro, clang 14 answers a question.
#pragma once

#ifdef __has_feature
#define PLAIT_TEST_HAS_FEATURE(x) __has_feature(x)
#else
#define PLAIT_TEST_HAS_FEATURE(x) 0
#endif

namespace plait::test {

#if defined(__SANITIZE_ADDRESS__) || PLAIT_TEST_HAS_FEATURE(address_sanitizer)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || PLAIT_TEST_HAS_FEATURE(thread_sanitizer)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

}  // namespace plait::test
