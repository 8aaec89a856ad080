// The devices that NCCL chooses from: what PLAIT_NETWORK names, of one fabric, since any device of one
// process may be joined with any of another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "runtime/config.h"
#include "runtime/rail_spec.h"
#include "transport/tcp/tcp.h"
#include "transport/transport.h"

namespace plait::nccl {

// What PLAIT_NETWORK may name here beside the runtime's networks: memory that processes of a host share. It
// joins no hosts, so it is asked for, and alone.
constexpr std::string_view kShm = "shm";

struct Device {
  std::string name;                      // "tcp:eth0"; of a virtual one those of all, with + between
  std::vector<int> members;              // itself; of a virtual one the devices that it joins
  std::vector<runtime::RailSpec> rails;  // of each member: what a comm's domain is made of
  std::string pci_path;                  // below /sys, of the device; empty: none, or several
  uint64_t guid = 0;                     // alike for all functions of a card
  int speed_mbps = 0;
  int port = 1;
  float latency_us = 0;
  bool device_memory = false;      // reaches memory of GPUs
  std::vector<Address> addresses;  // where peers dial to connect, best first; ports 0
};

// What a comm's own domain is opened with.
struct DomainChoice {
  size_t rails = 1;        // more than the device has: its members take turns
  int traffic_class = -1;  // -1: none asked for
  std::shared_ptr<const transport::tcp::TlsKey> tls;
};

// PLAIT_* of the environment.
Result<runtime::Config> read_config();

// Those of the first network of `config` (with | between) that has any; each was opened once.
// Code::unsupported: there are none, and why.
Result<std::vector<Device>> find_devices(const runtime::Config& config);

// A virtual device. Code::invalid: there are no such members, or they cannot be rails of one connection.
Result<Device> join_devices(const std::vector<std::unique_ptr<Device>>& all, const std::vector<int>& members);

// Code::invalid: a traffic class out of range.
Result<std::unique_ptr<transport::Domain>> open_domain(const Device& device, const runtime::Config& config,
                                                       const DomainChoice& choice);

}  // namespace plait::nccl
