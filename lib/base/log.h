// Logging: silent below warning unless PLAIT_LOG says otherwise. Formatting by fmt, output by spdlog.
#pragma once

#include <spdlog/spdlog.h>

#include <functional>
#include <string_view>

namespace plait::log {

using Level = spdlog::level::level_enum;

// The logger that all of plait writes to. Made on first use from PLAIT_LOG (trace, debug, info, warn, error,
// off; default warn), writes to stderr. Never null; any thread.
spdlog::logger& logger() noexcept;

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

template <class... Args>
void debug(spdlog::format_string_t<Args...> format, Args&&... args) {
  logger().debug(format, std::forward<Args>(args)...);
}
template <class... Args>
void info(spdlog::format_string_t<Args...> format, Args&&... args) {
  logger().info(format, std::forward<Args>(args)...);
}
template <class... Args>
void warn(spdlog::format_string_t<Args...> format, Args&&... args) {
  logger().warn(format, std::forward<Args>(args)...);
}
template <class... Args>
void error(spdlog::format_string_t<Args...> format, Args&&... args) {
  logger().error(format, std::forward<Args>(args)...);
}

}  // namespace plait::log
