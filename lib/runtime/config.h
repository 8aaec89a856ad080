// What a communicator is made of: explicit config first, then the environment, then defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "bootstrap/membership.h"
#include "bootstrap/unique_id.h"
#include "plait/plait.h"

namespace plait::runtime {

struct Config {
  int32_t rank = 0, size = 1;
  int32_t local_rank = -1;  // among the ranks of its host; -1: not told
  // The same, where it is told; else ranks are taken to be of one host.
  int32_t place() const noexcept { return local_rank >= 0 ? local_rank : rank; }
  std::string job;
  std::string host_id;  // empty: found out
  int64_t bootstrap_timeout_ms = 60'000;
  int64_t timeout_ms = 600'000;
  std::string tuning;    // path of a tuning file; empty: none
  std::string programs;  // paths of files of programs, separated by colons
  bool deterministic = false;
  // How ranks meet: see bootstrap::Membership.
  std::string root;
  std::string interfaces;
  uint16_t port_min = 0, port_max = 0;
  std::string network = "tcp";  // what joins hosts: see parse_alternatives
  uint32_t link_mbps = 0;  // what a link between hosts moves each way, in Mbit/s; 0: as the interface says
  bootstrap::SecretPtr secret;
  bool insecure = false;
  bootstrap::AllgatherCallback allgather;
  std::optional<bootstrap::UniqueId> unique_id;

  Result<bootstrap::Membership> membership(uint32_t epoch) const;
};

// Code::invalid names the field or variable that is wrong and what it should be; Code::auth the secret's
// file.
Result<Config> resolve(const plait_comm_config* config);

// For a child of a communicator of `parent`: its own, but for rank, size and name, with the timeouts that are
// given. Code::invalid where `config` gives more than these.
Result<Config> resolve_child(const Config& parent, const plait_comm_config* config);

// Makes a unique id, with PLAIT_IFACE and PLAIT_PORTS where the arguments say nothing.
Result<bootstrap::UniqueId> resolve_unique_id(const char* interfaces, uint16_t port_min, uint16_t port_max);

// "MIN-MAX" or "PORT". Code::invalid.
Status parse_ports(const std::string& text, uint16_t* least, uint16_t* most);

// Checks struct_size of a caller's config struct against what this library knows: fields it does not know
// must be zero.
Status check_struct(const void* config, size_t struct_size, size_t known, const char* name);

}  // namespace plait::runtime
