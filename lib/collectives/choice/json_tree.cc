#include "collectives/choice/json_tree.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/text.h"

namespace plait::collectives {

namespace {

// Counts the lines that the parser has taken in.
class Reader {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reader(const char* at, uint32_t* line) : at_(at), line_(line) {}
  const char& operator*() const { return *at_; }
  Reader& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  Reader operator++(int) {
    Reader before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Reader& a, const Reader& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  uint32_t* line_;
};

// What the parser calls with what it finds; each returns whether to go on.
class TreeBuilder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;
  using Kind = JsonNode::Kind;

  TreeBuilder(const uint32_t* line, size_t most_depth) : line_(line), most_depth_(most_depth) {}

  bool null() { return add({}); }
  bool boolean(bool value) { return add({.kind = Kind::boolean, .boolean = value}); }
  bool number_integer(number_integer_t value) { return number(double(value)); }
  bool number_unsigned(number_unsigned_t value) { return number(double(value)); }
  bool number_float(number_float_t value, const string_t&) { return number(value); }
  bool string(string_t& value) { return add({.kind = Kind::text, .text = std::move(value)}); }
  bool binary(binary_t&) { return fail("binary data"); }
  bool start_object(size_t) { return open(Kind::object); }
  bool start_array(size_t) { return open(Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    if (!seen_.back().insert(name).second) {
      make_printable(name);
      return fail("\"" + name + "\" comes twice");
    }
    open_.back().names.push_back(std::move(name));
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...".
    std::string_view what = e.what();
    const size_t reason = what.find(": ");
    std::string text(reason == what.npos ? what : what.substr(reason + 2));
    make_printable(text);
    return fail(text);
  }

  Result<JsonNode> result() {
    if (!error_.empty()) return Status(Code::invalid, error_);
    return std::move(root_);
  }

 private:
  bool fail(const std::string& reason) {
    if (error_.empty()) error_ = "line " + std::to_string(*line_) + ": " + reason;
    return false;
  }
  bool number(double value) {
    return std::isfinite(value) ? add({.kind = Kind::number, .number = value})
                                : fail("a number that is too large");
  }
  bool open(Kind kind) {
    if (open_.size() >= most_depth_) return fail("nested too deeply");
    open_.push_back({.kind = kind, .line = *line_});
    seen_.emplace_back();
    return true;
  }
  bool close() {
    JsonNode done = std::move(open_.back());
    open_.pop_back();
    seen_.pop_back();
    return put(std::move(done));
  }
  bool add(JsonNode node) {
    node.line = *line_;
    return put(std::move(node));
  }
  bool put(JsonNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().items.push_back(std::move(node));
    }
    return true;
  }

  const uint32_t* line_;
  const size_t most_depth_;
  JsonNode root_;
  std::vector<JsonNode> open_;
  std::vector<std::unordered_set<std::string>> seen_;
  std::string error_;
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view name) const noexcept {
  for (size_t i = 0; i < names.size(); i++) {
    if (names[i] == name) return &items[i];
  }
  return nullptr;
}

std::string_view describe(JsonNode::Kind kind) noexcept {
  constexpr std::string_view kNames[] = {"null", "true or false", "a number", "text", "a list", "an object"};
  return kNames[size_t(kind)];
}

Result<JsonNode> parse_json(std::string_view text, size_t most_depth) {
  uint32_t line = 1;
  TreeBuilder builder(&line, most_depth);
  nlohmann::json::sax_parse(Reader(text.data(), &line), Reader(text.data() + text.size(), &line), &builder);
  return builder.result();
}

}  // namespace plait::collectives
