// Fabrics that need a library of their own (libfabric, UCX, libibverbs) are modules: shared objects that are
// loaded when PLAIT_NETWORK names them, so that whoever does not use such a library neither needs it nor pays
// for loading it.
//
// A module defines plait_fabric_module(). It has copies of plait's own base and transport inside, and shares
// types with the library that loads it: both must come from one build, which Module::build tells.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/log.h"
#include "base/status.h"
#include "transport/transport.h"

namespace plait::transport {

// What a domain of a fabric is to be made of.
struct RailRequest {
  std::string detail;   // of PLAIT_NETWORK, behind the fabric's name and a colon; empty: the fabric chooses
  std::string options;  // behind a question mark, as base/option_text.h has them; empty: none
  std::vector<Address> addresses;       // of this host's interfaces that may be used, best first; ports 0
  uint16_t port_min = 0, port_max = 0;  // to listen on; 0: any
  double bandwidth_Bps = 0;             // of a link each way, as the user says; 0: as the device says
  int rank = -1;                        // of this process, for fabrics whose devices are dealt out; -1: not known
};

// A domain that could be made here, or could not.
struct RailListing {
  std::string name;     // what PLAIT_NETWORK would call it: "verbs:mlx5_0"
  std::string can;      // "get, 64 B inline, detects death"
  std::string missing;  // why it cannot be used; empty: it can
};

// A link between two chips of a pod, or several side by side. Travels between ranks as it is.
struct ChipLink {
  uint32_t a = 0, b = 0;  // a < b
  uint32_t count = 1;
  uint32_t mbps = 0;  // of all together, each way; 0: not known
};

// What a domain knows of the chips that it is one of.
struct ChipMap {
  uint32_t chip = 0;             // the domain's own
  std::vector<ChipLink> links;  // between chips that work, as they are now
};

struct Module {
  std::string_view build;  // kModuleBuild of what it was compiled with
  // Where what it logs goes, instead of stderr. Called once, before all else.
  void (*log_to)(log::Sink sink);
  Result<std::unique_ptr<Domain>> (*open)(const RailRequest& request);
  std::vector<RailListing> (*list)();
  // Of a domain that it opened; null: its domains are of no chips that links of their own join.
  Result<ChipMap> (*chips)(const Domain& domain) = nullptr;
};

// A Module::log_to: for a module's own copy of the log.
inline void log_to(log::Sink sink) {
  log::set_sink(std::move(sink));
  log::set_level(log::Level::trace);
}

// What must be equal for types to be shared.
constexpr std::string_view kModuleBuild = PLAIT_BUILD;
constexpr const char* kModuleSymbol = "plait_fabric_module";

}  // namespace plait::transport

// A module defines it; null is no answer.
extern "C" __attribute__((visibility("default"))) const plait::transport::Module* plait_fabric_module();
