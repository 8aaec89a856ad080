// What any rank tells all others over the tree, at any time after joining.
#pragma once

#include <cstdint>
#include <string>

namespace plait::bootstrap {

struct Notice {
  // Kinds below kFirstFree are the bootstrap's own; the others are the caller's to number.
  static constexpr uint32_t kLost = 1;    // the connection to a tree neighbour ended: `culprit` is gone
  static constexpr uint32_t kFailed = 2;  // joining or an exchange failed: `code` and `text` say why
  static constexpr uint32_t kFirstFree = 16;
  static constexpr size_t kMostText = 1024;  // longer texts are cut

  uint32_t kind = 0;
  int32_t origin = -1;   // who said it; set by Group::tell
  int32_t culprit = -1;  // whom it is about; -1: nobody in particular
  int32_t code = 0;      // a Code
  uint64_t number = 0;   // the caller's
  std::string text;
};

}  // namespace plait::bootstrap
