#include "perf/show_config.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "plait/plait.h"

namespace plait::perf {
namespace {

struct Variable {
  const char* name;
  const char* standard;  // the value where it is not set
  const char* meaning;
};

constexpr Variable kVariables[] = {
    {"RANK", "none", "rank of this process; or as the launcher says"},
    {"WORLD_SIZE", "none", "ranks in the job; or as the launcher says"},
    {"PLAIT_JOB", "the launcher's", "name of the job"},
    {"PLAIT_ROOT", "the launcher's", "where rank 0 is met, HOST:PORT"},
    {"PLAIT_SECRET_FILE", "none", "file with the job's secret"},
    {"PLAIT_INSECURE", "0", "1: no secret over a network"},
    {"PLAIT_IFACE", "those that are up", "network interfaces, best first"},
    {"PLAIT_PORTS", "any", "ports to listen on, MIN-MAX"},
    {"PLAIT_NETWORK", "tcp", "what joins hosts: a fabric, after a colon what of it, after ? how"},
    {"PLAIT_LINK_MBPS", "as the interface says", "Mbit/s that a link between hosts moves each way"},
    {"PLAIT_HOST_ID", "boot id and network namespace", "ranks share memory where it is equal"},
    {"PLAIT_TIMEOUT", "600", "seconds an operation may wait"},
    {"PLAIT_BOOTSTRAP_TIMEOUT", "60", "seconds to wait for all ranks to come"},
    {"PLAIT_TUNING", "none", "file of measured times to choose algorithms by"},
    {"PLAIT_PROGRAMS", "none", "files of programs to use as algorithms, with : between"},
    {"PLAIT_NCCL_PARAMETERS", "none", "file of what messages cost, for NCCL's tuner plugin"},
    {"PLAIT_DETERMINISTIC", "0", "1: the same bits, whatever is chosen"},
    {"PLAIT_LOG", "warn", "debug, info, warn, error or off"},
    {"PLAIT_DUMP", "none", "beginning of the paths of flight records"},
};

void show_networks() {
  size_t length = 0;
  std::string text;
  plait_status status = plait_list_networks(nullptr, 0, &length);
  if (status == PLAIT_OK) {
    text.resize(length);
    status = plait_list_networks(text.data(), length + 1, &length);
    text.resize(std::min(text.size(), length));
  }
  if (status != PLAIT_OK) text = plait_last_error(nullptr) + std::string("\n");
  std::printf("\n%-24s %-5s%s\n%s", "network", "used", "what it can do, or why it is not used", text.c_str());
}

}  // namespace

void show_config() {
  std::printf("%-24s %-30s %-12s %s\n", "variable", "value", "from", "meaning");
  for (const Variable& v : kVariables) {
    const char* value = std::getenv(v.name);
    const char* shown = value == nullptr ? v.standard : *value == '\0' ? "(empty)" : value;
    std::printf("%-24s %-30s %-12s %s\n", v.name, shown, value == nullptr ? "default" : "environment",
                v.meaning);
  }
  show_networks();
}

}  // namespace plait::perf
