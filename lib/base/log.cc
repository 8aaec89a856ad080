#include "base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace plait::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::trace:
      return spdlog::level::trace;
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      break;
  }
  return spdlog::level::off;
}

Level from_spdlog(spdlog::level::level_enum level) {
  for (Level one : {Level::trace, Level::debug, Level::info, Level::warn, Level::error}) {
    if (to_spdlog(one) == level) return one;
  }
  return Level::off;
}

class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallbackSink(Sink to) : sink_(std::move(to)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    sink_(from_spdlog(message.level), {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

 private:
  Sink sink_;
};

std::shared_ptr<spdlog::sinks::sink> stderr_sink() {
  return std::make_shared<spdlog::sinks::stderr_sink_mt>();
}

void set_pattern(spdlog::logger& logger, std::string_view name) {
  std::string prefix = "plait";
  if (!name.empty()) prefix += " " + std::string(name);
  logger.set_pattern("[" + prefix + "] %l: %v");
}

// None for a name that is none.
std::optional<Level> level_of(std::string_view name) {
  if (name == "trace") return Level::trace;
  if (name == "debug") return Level::debug;
  if (name == "info") return Level::info;
  if (name == "warn") return Level::warn;
  if (name == "error") return Level::error;
  if (name == "off") return Level::off;
  return {};
}

std::string_view environment() {
  const char* text = std::getenv("PLAIT_LOG");
  return text == nullptr || *text == 0 ? "warn" : text;
}

Level level_from_environment() { return level_of(environment()).value_or(Level::warn); }

struct Holder {
  std::shared_ptr<spdlog::logger> logger = std::make_shared<spdlog::logger>("plait", stderr_sink());
  Holder() {
    logger->set_level(to_spdlog(level_from_environment()));
    set_pattern(*logger, {});
  }
};

Holder& holder() {
  static Holder* h = new Holder;  // never destroyed: others' static destructors may still log
  return *h;
}

// The logger that all of plait writes to, made on first use.
spdlog::logger& logger() { return *holder().logger; }

}  // namespace

bool enabled(Level level) noexcept { return logger().should_log(to_spdlog(level)); }

void write(Level level, fmt::string_view format, fmt::format_args args) noexcept {
  try {
    fmt::memory_buffer line;
    fmt::vformat_to(std::back_inserter(line), format, args);
    logger().log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  } catch (...) {
  }
}

void set_sink(Sink sink) {
  auto next =
      sink ? std::static_pointer_cast<spdlog::sinks::sink>(std::make_shared<CallbackSink>(std::move(sink)))
           : stderr_sink();
  logger().sinks() = {std::move(next)};
  set_pattern(logger(), {});
}

void set_level(Level level) { logger().set_level(to_spdlog(level)); }

bool environment_makes_sense() { return level_of(environment()).has_value(); }

void reset() {
  set_sink(nullptr);
  set_level(level_from_environment());
}

void set_name(std::string_view name) { set_pattern(logger(), name); }

}  // namespace plait::log
