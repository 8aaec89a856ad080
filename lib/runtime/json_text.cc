#include "runtime/json_text.h"

#include <unistd.h>

#include <cerrno>

namespace plait::runtime {

void JsonText::flush() noexcept {
  for (size_t at = 0; at < used_ && error_ == 0;) {
    const ssize_t wrote = ::write(fd_, buffer_.data() + at, used_ - at);
    if (wrote >= 0) {
      at += size_t(wrote);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  used_ = 0;
}

void JsonText::put(char c) noexcept {
  if (used_ == buffer_.size()) flush();
  buffer_[used_++] = c;
}

JsonText& JsonText::raw(std::string_view text) noexcept {
  for (char c : text) put(c);
  return *this;
}

JsonText& JsonText::number(uint64_t value) noexcept {
  char digits[20];
  size_t count = 0;
  do digits[count++] = char('0' + value % 10);
  while ((value /= 10) != 0);
  while (count > 0) put(digits[--count]);
  return *this;
}

JsonText& JsonText::number(int64_t value) noexcept {
  if (value >= 0) return number(uint64_t(value));
  put('-');
  return number(uint64_t(0) - uint64_t(value));
}

JsonText& JsonText::quoted(std::string_view text) noexcept {
  static constexpr char kHex[] = "0123456789abcdef";
  put('"');
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    const size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      put('\\');
      put(char(c));
    } else if (c < 0x20) {
      raw("\\u00");
      put(kHex[c >> 4]);
      put(kHex[c & 15]);
    } else if (length == 0) {
      put('?');
    } else {
      raw(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  put('"');
  return *this;
}

int JsonText::finish() noexcept {
  flush();
  return error_;
}

size_t utf8_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  auto byte = [&](size_t i) { return uint32_t(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  // Written longer than need be, half of a pair, or beyond the last character.
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool half = code >= 0xd800 && code < 0xe000;
  return code < kLeast[length] || half || code > 0x10ffff ? 0 : length;
}

}  // namespace plait::runtime
