// Failures, in tests: what is expected of them.
#pragma once

#include "support/ranks.h"

namespace plait::test {

inline std::string expect(plait_status got, plait_status want, const std::string& text,
                          std::initializer_list<const char*> parts) {
  if (got != want) {
    return std::string("status ") + plait_status_string(got) + " (" + text + "), expected " +
           plait_status_string(want);
  }
  for (const char* part : parts) {
    if (!contains(text, part)) return "text lacks \"" + std::string(part) + "\": " + text;
  }
  return {};
}

struct Shared {
  void* data = nullptr;
  explicit Shared(size_t bytes) { plait_mem_alloc(bytes, &data); }
  ~Shared() { plait_mem_free(data); }
};

}  // namespace plait::test
