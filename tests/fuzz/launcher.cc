// The environment: what launchers say of the job, and plait's own variables. An input is lines NAME=VALUE,
// where NAME may be a number: of a variable that plait knows.
#include "bootstrap/launcher.h"

#include <array>
#include <cstdlib>
#include <map>

#include "bootstrap/resolve.h"
#include "fuzz.h"
#include "runtime/config.h"

namespace plait::fuzz {
namespace {

using namespace bootstrap;
using Variables = std::map<std::string, std::string>;

constexpr std::array kOwn = {"PLAIT_ROOT",    "PLAIT_JOB",      "PLAIT_IFACE",   "PLAIT_PORTS",
                             "PLAIT_HOST_ID", "PLAIT_INSECURE", "PLAIT_TIMEOUT", "PLAIT_BOOTSTRAP_TIMEOUT"};

// Every variable that plait looks at; files are another target's.
std::vector<std::string> known_names() {
  std::vector<std::string> names(kOwn.begin(), kOwn.end());
  for (const Launcher& l : launchers()) {
    for (const char* list :
         {l.marker, l.rank, l.size, l.local_rank, l.local_size, l.nodes, l.root_host, l.node_list, l.job}) {
      std::string name;
      for (const char* c = list == nullptr ? "" : list;; c++) {
        if (*c != 0 && *c != '|' && *c != '+') {
          name += *c;
          continue;
        }
        if (!name.empty()) names.push_back(std::exchange(name, {}));
        if (*c == 0) break;
      }
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Variables read_variables(Input& input) {
  static const std::vector<std::string> names = known_names();
  Variables variables;
  while (!input.empty()) {
    const std::string line = input.text_until('\n');
    const size_t sign = std::min(line.find('='), line.size());
    std::string name = line.substr(0, sign), value = line.substr(std::min(sign + 1, line.size()));
    if (name.size() == 1) name = names[size_t(uint8_t(name[0])) % names.size()];
    value = value.substr(0, value.find('\0'));  // as the kernel would
    if (std::binary_search(names.begin(), names.end(), name)) variables[name] = value;
  }
  return variables;
}

void try_launcher(const Variables& variables) {
  const auto launch = detect([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  if (!launch.ok()) {
    require(launch.status().code() == Code::invalid && launch.status().text().size() < 2000,
            "a refusal is a sentence");
    return;
  }
  require(launch->size >= 1 && launch->size <= 1 << 20, "a job has 1 to 2^20 ranks");
  require(launch->rank >= 0 && launch->rank < launch->size, "a rank is one of the job's");
  require(launch->local_size <= launch->size, "no host has more ranks than the job");
  require(launch->local_size < 0 || launch->local_rank < launch->local_size,
          "a local rank is one of its host's");
  require(launch->root.empty() == launch->root_source.empty(), "an address comes from somewhere");
  if (!launch->root.empty()) {
    require(parse_host_ports(launch->root).ok(), "an address can be looked up");
    require(!launch->job.empty(), "who meets over a network has a name for the job");
  }
}

// All of it, as plait_comm_create reads it.
void try_config(const Variables& variables) {
  for (const std::string& name : known_names()) unsetenv(name.c_str());
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const auto config = runtime::resolve(nullptr);
  if (!config.ok()) return;
  require(config->size >= 1 && config->rank >= 0 && config->rank < config->size,
          "a rank is one of the job's");
  require(config->timeout_ms >= 1000 && config->bootstrap_timeout_ms >= 1000,
          "a deadline is a second or more");
  require((config->port_min == 0) == (config->port_max == 0) && config->port_min <= config->port_max,
          "ports are a range, or none");
  require(config->size == 1 || (!config->job.empty() && config->job.size() <= 80), "a job has a name");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  Input input(data, size);
  const auto variables = read_variables(input);
  try_launcher(variables);
  try_config(variables);
  return 0;
}
