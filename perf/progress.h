// For people at a terminal: how far it is, on stderr, when it takes longer than they would wait without a
// word.
#pragma once

#include <cstdint>
#include <string>

namespace plait::perf {

class Progress {
 public:
  Progress();
  explicit Progress(bool shown) noexcept : shown_(shown) {}
  ~Progress() { end(); }

  bool shown() const noexcept { return shown_; }
  // `most`: of what reached() counts; 0: not known.
  void begin(std::string what, uint64_t most);
  void reached(uint64_t count) noexcept { count_ = count; }
  // Draws, twice a second at most.
  void show(int64_t now);
  // Takes away what was drawn, before other output.
  void end();

 private:
  bool shown_, drawn_ = false;
  std::string what_;
  uint64_t most_ = 0, count_ = 0;
  int64_t began_ns_ = 0, next_ns_ = 0;
};

}  // namespace plait::perf
