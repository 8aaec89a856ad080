// Files of text, whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plait::documents {

// The whole of a file. Refused when it cannot be read or is longer than `most` bytes.
Result<std::string> read_file(const std::string& path, size_t most);

// Writes a file, or stdout where the path is "-".
Status write_file(const std::string& path, std::string_view text);

// "ring.json:17: why", Code::invalid.
Status refuse(const std::string& file, uint32_t line, std::string why);

}  // namespace plait::documents
