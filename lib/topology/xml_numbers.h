// Numbers in attributes of strangers' XML.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "documents/xml.h"

namespace plait::topology {

// Reads attributes of one element; the first that is wrong is remembered.
class Attributes {
 public:
  explicit Attributes(const documents::XmlElement& element) : element_(element) {}
  bool has(std::string_view name) const { return element_.find(name).has_value(); }
  std::string_view text(std::string_view name) const { return element_.find(name).value_or(""); }
  int64_t integer(std::string_view name, int64_t otherwise, int64_t least, int64_t most) {
    const auto value = element_.find(name);
    if (!value) return otherwise;
    int64_t number = 0;
    if (!parse(*value, number) || number < least || number > most) {
      complain(name, *value, fmt::format("a number from {} to {}", least, most));
      return otherwise;
    }
    return number;
  }
  double real(std::string_view name, double otherwise, double most) {
    const auto value = element_.find(name);
    if (!value) return otherwise;
    double number = 0;
    if (!parse(*value, number) || !std::isfinite(number) || number < 0 || number > most) {
      complain(name, *value, fmt::format("a number from 0 to {}", most));
      return otherwise;
    }
    return number;
  }
  const std::string& error() const { return error_; }

 private:
  template <class T>
  static bool parse(std::string_view value, T& number) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return error == std::errc() && end == value.data() + value.size();
  }
  void complain(std::string_view name, std::string_view value, const std::string& what) {
    if (error_.empty())
      error_ = fmt::format("<{}> {}=\"{}\" is not {}", element_.name(), name, value.substr(0, 40), what);
  }

  const documents::XmlElement& element_;
  std::string error_;
};

}  // namespace plait::topology
