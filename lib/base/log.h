// Logging: silent below warning unless PLAIT_LOG says otherwise. Formatting by fmt, output by spdlog.
#pragma once

// Only what formats: spdlog itself costs each file that includes it a second or two of compile time.
#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace plait::log {

enum class Level : uint8_t { trace, debug, info, warn, error, off };

// Is a line of this level written? From PLAIT_LOG (trace, debug, info, warn, error, off; default warn),
// unless set_level has decided. Any thread.
bool enabled(Level level) noexcept;
// Writes a line, if its level is enabled. Any thread. A line that there is no memory for is lost.
void write(Level level, fmt::string_view format, fmt::format_args args) noexcept;

// Replaces stderr by `sink` (nullptr: back to stderr). It is called with the level and one line without its
// end, possibly from several threads at once, and must not call plait.
using Sink = std::function<void(Level, std::string_view)>;
void set_sink(Sink sink);
void set_level(Level level);
// Is PLAIT_LOG unset, or one of the names above?
bool environment_makes_sense();
// Back to stderr and PLAIT_LOG.
void reset();
// What the prefix calls this process: "rank 3" once a communicator exists.
void set_name(std::string_view name);

// What the others do, where the level is not known beforehand.
template <class... Args>
void line(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level)) write(level, format, fmt::make_format_args(args...));
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::debug, format, std::forward<Args>(args)...);
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::info, format, std::forward<Args>(args)...);
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::warn, format, std::forward<Args>(args)...);
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::error, format, std::forward<Args>(args)...);
}

}  // namespace plait::log
