// For people at a terminal: how far it is, when it takes longer than they would wait without a word. The
// terminal is that of stderr, or of plait-run's, which has the ranks' stderr.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"

namespace plait::perf {

class Progress {
 public:
  Progress();
  // `terminal`: to be drawn on; none: it is not shown.
  explicit Progress(Fd terminal) noexcept : terminal_(std::move(terminal)) {}
  Progress(Progress&&) noexcept = default;
  ~Progress() { end(); }

  bool shown() const noexcept { return bool(terminal_); }
  // `most`: of what reached() counts; 0: not known.
  void begin(std::string what, uint64_t most);
  void reached(uint64_t count) noexcept { count_ = count; }
  // Draws, twice a second at most.
  void show(int64_t now);
  // Takes away what was drawn, before other output.
  void end();

 private:
  Fd terminal_;
  bool drawn_ = false;
  std::string what_;
  uint64_t most_ = 0, count_ = 0;
  int64_t began_ns_ = 0, next_ns_ = 0;
};

}  // namespace plait::perf
