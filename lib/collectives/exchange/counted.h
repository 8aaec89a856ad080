// Where a parser reads: an iterator over bytes that counts the lines that go by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace plait::collectives::exchange {

// Where the parser reads.
struct Reading {
  uint32_t line = 1;
  bool at_line_end = false;  // the latest byte was a newline
};

// Counts the lines that go by; nlohmann's parser tells the line of its own errors only.
class Counted {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Counted(const char* at, Reading* reading) : at_(at), reading_(reading) {}
  reference operator*() const { return *at_; }
  Counted& operator++() {
    reading_->at_line_end = *at_++ == '\n';
    if (reading_->at_line_end) reading_->line++;
    return *this;
  }
  friend bool operator==(const Counted& a, const Counted& b) { return a.at_ == b.at_; }
  friend bool operator!=(const Counted& a, const Counted& b) { return a.at_ != b.at_; }

 private:
  const char* at_;
  Reading* reading_;
};

}  // namespace plait::collectives::exchange
