// The domain "icl": a chip that carries links of its own, driven through drivers/icl. An endpoint is a queue;
// a put is a write whose add falls on a counter of the peer, a 64-bit word of memory that the peer exported;
// a get is a read. Engines move the bytes: no target need poll for them. docs/transport.md has the whole
// story.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/module.h"
#include "transport/transport.h"

namespace plait::transport::icl {

struct Options {
  // A driver's: "emu:/dev/shm/pod", "pciwin", without chips or with one: "emu:/dev/shm/pod?chips=3".
  std::string address;
  int chip = -1;    // -1: that of the address, else one of the pod that this process has, else a free one
  int prefer = -1;  // where the chip is free to choose: this one, if the pod has it
  uint16_t depth = 128;     // of an endpoint; a power of two, 2..4096
  int timeout_ms = 10'000;  // an endpoint fails when nothing of a transfer moved for so long; up to an hour
  std::string label;        // name(); empty: "icl:ADDRESS#CHIP"
};

// Domains of a process on the same chip share it. Code::unsupported when there is no such pod or driver,
// Code::invalid when the options make no sense, Code::state when the chip is another process's.
Result<std::unique_ptr<Domain>> make_domain(const Options& options);

// The pods of this user in /dev/shm, and that of a PCI device, with what can be used of them, or why they cannot.
std::vector<RailListing> list();

// The chips of a domain's pod and the links between them, as they are now. `domain` is one of make_domain().
Result<ChipMap> map_of(const Domain& domain);

// "emu:/dev/shm/pod" or "emu:/dev/shm/pod#3", as PLAIT_NETWORK has it behind "icl:".
Result<Options> parse_detail(std::string_view detail);

}  // namespace plait::transport::icl
