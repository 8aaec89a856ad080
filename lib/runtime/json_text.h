// JSON to a descriptor, fit for a signal handler: no allocation, no locks, no locale, little stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plait::runtime {

class JsonText {
 public:
  explicit JsonText(int fd) noexcept : fd_(fd) {}
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  // As it is.
  JsonText& raw(std::string_view text) noexcept;
  JsonText& number(uint64_t value) noexcept;
  JsonText& number(int64_t value) noexcept;
  JsonText& number(int32_t value) noexcept { return number(int64_t(value)); }
  JsonText& number(uint32_t value) noexcept { return number(uint64_t(value)); }
  // A JSON string. Bytes that are not UTF-8 become '?': the text may have been cut, or come from the
  // environment.
  JsonText& quoted(std::string_view text) noexcept;
  // Writes what is left. 0, or the errno of the first write that failed.
  int finish() noexcept;

 private:
  void put(char c) noexcept;
  void flush() noexcept;
  int fd_;
  int error_ = 0;
  size_t used_ = 0;
  std::array<char, 1024> buffer_;
};

// Of the UTF-8 character that `text` begins with; 0 when it begins with none.
size_t utf8_length(std::string_view text) noexcept;

}  // namespace plait::runtime
