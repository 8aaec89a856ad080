// Text from outside that people will be shown.
#pragma once

#include <algorithm>
#include <string>

namespace plait {

// Replaces what would steer a terminal.
inline void make_printable(std::string& text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127; }, '?');
}

}  // namespace plait
