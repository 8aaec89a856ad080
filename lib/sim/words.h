// Text as numbers and words, for what people write about rooms: "100Gb/s" is a number and a word, and so is
// "4x4".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plait::sim {

// Fit to be shown: printable ASCII, not too much of it.
std::string shown(std::string_view text);

class Words {
 public:
  explicit Words(std::string_view text);
  bool done() const noexcept { return next_ == all_.size(); }
  const std::string& peek() const noexcept { return done() ? kNothing : all_[next_].text; }
  bool number() const noexcept { return !done() && all_[next_].number; }
  // The next one, if it is this word.
  bool skip(std::string_view word);
  std::string take() { return done() ? "" : all_[next_++].text; }
  // A number above 0, at most `most`.
  Result<double> take_number(double most);
  Result<int> take_count(int64_t most);
  // A number and a unit: bytes a second, from Gb/s or GB/s and their like; seconds.
  Result<double> take_rate();
  Result<double> take_time();
  // All that is left, as it was written.
  std::string rest() const;

 private:
  struct Word {
    std::string text;
    bool number;
    size_t at;
  };
  static inline const std::string kNothing = "the end";
  std::string text_;
  std::vector<Word> all_;
  size_t next_ = 0;
};

// "256M", "1.5 GiB": binary multiples of bytes.
Result<uint64_t> read_size(std::string_view text);
// "2 ms", "30us": seconds.
Result<double> read_time(std::string_view text);

}  // namespace plait::sim
