// What the tools of inter-chip links share: a device that closes itself, errors that end the program, command
// lines.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "drivers/icl/icl.h"

namespace plait::icl {

// Throws what icl_last_error() says; main() prints it.
void check(icl_status status);

struct Closer {
  void operator()(icl_device* d) const { icl_close(d); }
};
using Device = std::unique_ptr<icl_device, Closer>;
Device open(const std::string& address);

// An info struct of any kind, filled by `query`.
template <typename Info, typename Ask, typename... Where>
Info query(Ask ask, const Device& device, Where... where) {
  Info info{};
  info.struct_size = sizeof info;
  check(ask(device.get(), where..., &info));
  return info;
}

const char* chip_state(uint32_t state);
const char* port_state(uint32_t state);

// Parses, then runs; the exit status of the program: 1 where it failed, 2 where it was used wrongly. Errors go to
// stderr with its name before them, and where something is missing `use`, an example.
int run(CLI::App& app, int argc, char** argv, void (*body)(), const char* use);

}  // namespace plait::icl
