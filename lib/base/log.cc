#include "base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

namespace plait::log {
namespace {

class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallbackSink(Sink to) : sink_(std::move(to)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    sink_(message.level, {message.payload.data(), message.payload.size()});
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

// Level::n_levels for a name that is none.
Level level_of(std::string_view name) {
  if (name == "trace") return Level::trace;
  if (name == "debug") return Level::debug;
  if (name == "info") return Level::info;
  if (name == "warn") return Level::warn;
  if (name == "error") return Level::err;
  return name == "off" ? Level::off : Level::n_levels;
}

std::string_view environment() {
  const char* text = std::getenv("PLAIT_LOG");
  return text == nullptr || *text == 0 ? "warn" : text;
}

Level level_from_environment() {
  const Level level = level_of(environment());
  return level == Level::n_levels ? Level::warn : level;
}

struct Holder {
  std::shared_ptr<spdlog::logger> logger = std::make_shared<spdlog::logger>("plait", stderr_sink());
  Holder() {
    logger->set_level(level_from_environment());
    set_pattern(*logger, {});
  }
};

Holder& holder() {
  static Holder* h = new Holder;  // never destroyed: others' static destructors may still log
  return *h;
}

}  // namespace

spdlog::logger& logger() noexcept { return *holder().logger; }

void set_sink(Sink sink) {
  auto next =
      sink ? std::static_pointer_cast<spdlog::sinks::sink>(std::make_shared<CallbackSink>(std::move(sink)))
           : stderr_sink();
  logger().sinks() = {std::move(next)};
  set_pattern(logger(), {});
}

void set_level(Level level) { logger().set_level(level); }

bool environment_makes_sense() { return level_of(environment()) != Level::n_levels; }

void reset() {
  set_sink(nullptr);
  set_level(level_from_environment());
}

void set_name(std::string_view name) { set_pattern(logger(), name); }

}  // namespace plait::log
