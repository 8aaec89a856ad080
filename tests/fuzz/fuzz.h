// What the fuzz targets share. A target is one file that defines LLVMFuzzerTestOneInput: it hands bytes from
// outside to parsers, and requires what must hold of whatever comes out. libFuzzer calls it with inputs that
// it makes up (scripts/fuzz), corpus.cc with those that are kept in corpus/.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace plait::fuzz {

// Ends the program unless it `holds`; the stack that is printed then says where.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

inline bool equal(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

inline bool is_printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127; });
}

// An input, taken apart from its front. When it is used up, numbers are 0 and bytes are none.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : left_(std::as_bytes(std::span(data, size))) {}

  template <class T = uint8_t>
  T number() {
    T value{};
    if (!take(left_, value)) left_ = {};
    return value;
  }
  ByteView bytes(size_t most) {
    const ByteView front = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(front.size());
    return front;
  }
  ByteView rest() { return bytes(left_.size()); }
  std::string text() { return text_of(rest()); }
  // Up to the next `end`, which is taken, too.
  std::string text_until(char end) {
    const auto at = std::find(left_.begin(), left_.end(), std::byte(end));
    std::string text = text_of(bytes(size_t(at - left_.begin())));
    bytes(1);
    return text;
  }
  bool empty() const { return left_.empty(); }

 private:
  static std::string text_of(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  ByteView left_;
};

// What an input can be handed to, as bytes, as text, or to be taken apart further.
class Parser {
 public:
  template <class F>
  Parser(F parser) {  // NOLINT: of a list of functions
    if constexpr (std::is_invocable_v<F, Input&>) {
      call_ = parser;
    } else if constexpr (std::is_invocable_v<F, ByteView>) {
      call_ = [parser](Input& input) { parser(input.rest()); };
    } else {
      call_ = [parser](Input& input) { parser(input.text()); };
    }
  }
  void operator()(Input& input) const { call_(input); }

 private:
  std::function<void(Input&)> call_;
};

// Hands all but the first byte of an input to the parser that this byte names.
inline int try_one_of(const uint8_t* data, size_t size, std::initializer_list<Parser> parsers) {
  Input input(data, size);
  parsers.begin()[input.number() % parsers.size()](input);
  return 0;
}

}  // namespace plait::fuzz
