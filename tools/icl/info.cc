// icl-info: what a pod is made of, and how its links are.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/icl/device.h"

namespace {

using namespace plait::icl;
using nlohmann::ordered_json;

struct {
  std::string address;
  bool json = false, counters = false;
} options;

ordered_json end(uint32_t chip, uint32_t port) {
  if (chip == ICL_ANY) return nullptr;
  return {{"chip", chip}, {"port", port}};
}

ordered_json counters(const icl_port_counters& c) {
  return {{"tx_packets", c.tx_packets}, {"tx_bytes", c.tx_bytes},
          {"rx_packets", c.rx_packets}, {"rx_bytes", c.rx_bytes},
          {"forwarded", c.forwarded},   {"crc_errors", c.crc_errors},
          {"retries", c.retries},       {"flaps", c.flaps},
          {"downs", c.downs},           {"credit_stalls", c.credit_stalls},
          {"dropped", c.dropped}};
}

ordered_json chip_json(const Device& device, uint32_t chip, uint32_t ports) {
  const auto info = query<icl_chip_info>(icl_query_chip, device, chip);
  ordered_json j = {{"chip", chip},    {"state", chip_state(info.state)}, {"incarnation", info.incarnation},
                    {"pid", info.pid}, {"memory", info.memory},           {"ports", ordered_json::array()}};
  for (uint32_t port = 0; port < ports; port++) {
    const auto p = query<icl_port_info>(icl_query_port, device, chip, port);
    if (p.state == ICL_PORT_NONE) continue;
    j["ports"].push_back({{"port", port},
                          {"state", port_state(p.state)},
                          {"quads", p.quads},
                          {"quads_up", p.quads_up},
                          {"mbps", p.mbps},
                          {"far", end(p.far_chip, p.far_port)},
                          {"planned", end(p.planned_chip, p.planned_port)},
                          {"counters", counters(p.counters)}});
  }
  return j;
}

void print_counters(const ordered_json& c) {
  std::printf("           ");
  for (const auto& [name, value] : c.items())
    if (value != 0) std::printf(" %s %llu", name.c_str(), value.get<unsigned long long>());
  std::printf("\n");
}

void print_port(const ordered_json& p) {
  const auto& far = p["far"].is_null() ? p["planned"] : p["far"];
  std::printf(
      "    port %-3d %-8s quads %d of %d  %7d Mb/s  to chip %d port %d%s%s\n", p["port"].get<int>(),
      p["state"].get<std::string>().c_str(), p["quads_up"].get<int>(), p["quads"].get<int>(),
      p["mbps"].get<int>(), far["chip"].get<int>(), far["port"].get<int>(),
      p["far"].is_null() ? " (planned)" : "",
      !p["far"].is_null() && !p["planned"].is_null() && p["far"] != p["planned"] ? "  WRONG CABLE" : "");
  if (options.counters) print_counters(p["counters"]);
}

void show() {
  const Device device = open(options.address);
  const auto info = query<icl_device_info>(icl_query_device, device);
  ordered_json j = {{"address", info.address},
                    {"driver", info.driver},
                    {"chips", ordered_json::array()},
                    {"channels", info.channels},
                    {"mtu", info.mtu}};
  for (uint32_t chip = 0; chip < info.chips; chip++)
    j["chips"].push_back(chip_json(device, chip, info.ports));
  if (options.json) {
    std::printf("%s\n", j.dump(2).c_str());
    return;
  }
  std::printf("%s: %u chips, %u ports each, %u virtual channels, packets of %u bytes\n", info.address,
              info.chips, info.ports, info.channels, info.mtu);
  for (const auto& chip : j["chips"]) {
    std::printf("chip %-4d %-8s %llu MiB", chip["chip"].get<int>(), chip["state"].get<std::string>().c_str(),
                chip["memory"].get<unsigned long long>() >> 20);
    if (chip["state"] == "running") std::printf("  process %d", chip["pid"].get<int>());
    std::printf("\n");
    for (const auto& port : chip["ports"]) print_port(port);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Chips of a pod, their ports, neighbours and counters.", "icl-info");
  app.add_option("address", options.address, "a device, as emu:/dev/shm/pod, pciwin")->required();
  app.add_flag("--json", options.json, "as JSON, with counters");
  app.add_flag("-c,--counters", options.counters, "with the counters that are not 0");
  app.footer(
      "Examples:\n  icl-info emu:/dev/shm/pod\n  icl-info emu:/dev/shm/pod --counters\n"
      "  icl-info emu:/dev/shm/pod --json | jq '.chips[0].ports'");
  return run(app, argc, argv, show, "icl-info emu:/dev/shm/pod");
}
