#include "logging.h"

#include <string>

#include "base/log.h"

namespace plait::nccl {
namespace {

LogLevel level_of(log::Level level) noexcept {
  switch (level) {
    case log::Level::error:
    case log::Level::warn:
      return LogLevel::warn;
    case log::Level::info:
      return LogLevel::info;
    default:
      return LogLevel::trace;
  }
}

}  // namespace

void log_to(Logger logger) {
  if (logger == nullptr) return log::reset();
  log::set_sink([logger](log::Level level, std::string_view line) {
    logger(level_of(level), log_net, "plait", 0, "NET/plait: %.*s", int(line.size()), line.data());
  });
  log::set_level(log::Level::debug);  // NCCL_DEBUG decides
}

NcclResult result_of(const Status& status) noexcept {
  switch (status.code()) {
    case Code::ok:
      return NcclResult::success;
    case Code::invalid:
    case Code::state:
      return NcclResult::invalid_argument;
    case Code::memory:
    case Code::system:
      return NcclResult::system_error;
    case Code::unsupported:
    case Code::mismatch:
    case Code::version:
    case Code::auth:
      return NcclResult::invalid_usage;
    case Code::timeout:
    case Code::peer:
    case Code::aborted:
      return NcclResult::remote_error;
    case Code::internal:
      break;
  }
  return NcclResult::internal_error;
}

NcclResult report(const Status& status, const char* call) noexcept {
  if (!status.ok()) log::warn("{}: {}", call, status.text());
  return result_of(status);
}

}  // namespace plait::nccl
