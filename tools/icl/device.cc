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

int run(CLI::App& app, int argc, char** argv, void (*body)()) {
  try {
    app.parse(argc, argv);
    body();
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    return 1;
  }
}

}  // namespace plait::icl
