#include "tools/icl/device.h"

#include <cstdio>

namespace plait::icl {

void check(icl_status status) {
  if (status != ICL_OK)
    throw std::runtime_error(std::string(icl_last_error()) + " (" + icl_status_name(status) + ")");
}

Device open(const std::string& address) {
  icl_device* device = nullptr;
  check(icl_open(address.c_str(), nullptr, &device));
  return Device(device);
}

const char* chip_state(uint32_t state) {
  constexpr const char* kNames[] = {"absent", "running", "dead", "left"};
  return state < std::size(kNames) ? kNames[state] : "unknown";
}

const char* port_state(uint32_t state) {
  constexpr const char* kNames[] = {"none", "training", "up", "down"};
  return state < std::size(kNames) ? kNames[state] : "unknown";
}

namespace {

int complain(const CLI::App& app, const CLI::ParseError& error, const char* use) {
  const char* const name = app.get_name().c_str();
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::fprintf(stderr, "%s: %s%s%s\nTry: %s --help\n", name, error.what(), missing ? "; as in: " : "",
               missing ? use : "", name);
  return 2;
}

}  // namespace

int run(CLI::App& app, int argc, char** argv, void (*body)(), const char* use) {
  try {
    app.parse(argc, argv);
    body();
    return 0;
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : complain(app, error, use);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    return 1;
  }
}

}  // namespace plait::icl
