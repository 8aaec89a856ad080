// JSON from outside as a tree that remembers lines, so that whoever checks it can say where it is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace plait::collectives {

struct JsonNode {
  enum class Kind : uint8_t { null, boolean, number, text, array, object };
  Kind kind = Kind::null;
  uint32_t line = 0;  // where it begins
  bool boolean = false;
  double number = 0;
  std::string text = {};
  std::vector<std::string> names = {};  // object: of the items
  std::vector<JsonNode> items = {};     // array, object

  // The item of that name, or null.
  const JsonNode* find(std::string_view name) const noexcept;
};

// "null", "a number", ...
std::string_view describe(JsonNode::Kind kind) noexcept;

// Code::invalid: "line 3: ..."; also for names that come twice in one object, numbers that are not finite,
// and more than `most_depth` levels. O(bytes), and in memory, too.
Result<JsonNode> parse_json(std::string_view text, size_t most_depth = 16);

}  // namespace plait::collectives
