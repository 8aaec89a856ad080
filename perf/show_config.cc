#include "perf/show_config.h"

#include <cstdio>
#include <cstdlib>

namespace plait::perf {
namespace {

struct Variable {
  const char* name;
  const char* standard;  // the value where it is not set
  const char* meaning;
};

constexpr Variable kVariables[] = {
    {"RANK", "0", "rank of this process in the job"},
    {"WORLD_SIZE", "1", "ranks in the job"},
    {"PLAIT_JOB", "none", "name of the job on this host"},
    {"PLAIT_SECRET_FILE", "none", "file with the job's secret"},
    {"PLAIT_HOST_ID", "boot id and network namespace", "ranks share memory where it is equal"},
    {"PLAIT_TIMEOUT", "600", "seconds an operation may wait"},
    {"PLAIT_BOOTSTRAP_TIMEOUT", "60", "seconds to wait for all ranks to come"},
    {"PLAIT_LOG", "warn", "debug, info, warn, error or off"},
    {"PLAIT_DUMP", "none", "beginning of the paths of flight records"},
    {"PLAIT_IFACE", "none", "network interface; reserved, unused in this version"},
    {"PLAIT_PORTS", "any", "ports to listen on; reserved, unused in this version"},
};

}  // namespace

void show_config() {
  std::printf("%-24s %-30s %-12s %s\n", "variable", "value", "from", "meaning");
  for (const Variable& v : kVariables) {
    const char* value = std::getenv(v.name);
    const char* shown = value == nullptr ? v.standard : *value == '\0' ? "(empty)" : value;
    std::printf("%-24s %-30s %-12s %s\n", v.name, shown, value == nullptr ? "default" : "environment",
                v.meaning);
  }
}

}  // namespace plait::perf
