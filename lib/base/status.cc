#include "base/status.h"

#include <cstring>

namespace plait {

std::string_view code_name(Code code) noexcept {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid:
      return "invalid argument";
    case Code::memory:
      return "out of memory";
    case Code::system:
      return "system call failed";
    case Code::unsupported:
      return "unsupported";
    case Code::timeout:
      return "deadline passed";
    case Code::peer:
      return "peer failed";
    case Code::mismatch:
      return "ranks called different things";
    case Code::aborted:
      return "aborted";
    case Code::state:
      return "not allowed now";
    case Code::version:
      return "version differs";
    case Code::auth:
      return "not authenticated";
    case Code::internal:
      return "internal error";
  }
  return "unknown status";
}

Status Status::system(int error, std::string_view text) {
  char buffer[128];
  return {Code::system, std::string(text) + ": " + strerror_r(error, buffer, sizeof buffer)};
}

}  // namespace plait
