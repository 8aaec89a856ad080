// The compiler's own float16, to compare with.
#pragma once

namespace plait::test {

#if defined(__aarch64__)
using Half = __fp16;  // GCC 12 has no _Float16 in C++ there
#else
using Half = _Float16;
#endif

}  // namespace plait::test
