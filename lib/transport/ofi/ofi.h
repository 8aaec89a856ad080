// Domains on libfabric's reliable datagram endpoints: "tcp", "verbs;ofi_rxm", "shm", "efa" and whatever else
// offers enough. What a provider can do decides how it is used, never its name:
//   direct    puts are RDMA writes with remote data (the signal), gets are RDMA reads. It takes a network
//   (what a peer on
//             the same host may copy out of this process by itself cannot be stopped by close()), FI_RMA, 4
//             bytes of remote data, writes that are ordered (FI_ORDER_WAW, RAW), keys of at most 8 bytes of
//             whole domains.
//   messages  puts and gets are messages that both sides' poll() copies. It takes ordered messages
//   (FI_ORDER_SAS).
// libfabric's environment variables (FI_...) work as ever.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "transport/transport.h"

namespace plait::transport::ofi {

enum class Mode : uint8_t { automatic, direct, messages };

struct Options {
  std::string provider = "tcp";  // as fi_info -p takes it
  std::string domain;            // of that provider, e.g. "eth0"; empty: its first
  std::string address;          // of this host, numeric, for providers with IP addresses; empty: the domain's
  Mode mode = Mode::automatic;  // messages: for tests. direct: refused where the provider cannot
  std::string label = "ofi";    // name(), e.g. "ofi:tcp:eth0"
  double bandwidth_Bps =
      0;  // each way, for capabilities(); 0: what the provider says of its link, or not known
};

// Code::invalid for options that make no sense, Code::unsupported with the provider's answer and what it
// lacks where this machine has nothing like it. Loads libfabric's providers, once a process: a quarter of a
// second.
Result<std::unique_ptr<Domain>> make_domain(const Options& options);

// What make_domain() could be asked for.
struct Offer {
  std::string provider, domain, address;  // Options of these names
  Mode mode = Mode::automatic;            // what it would be used as; automatic: it cannot be used
  std::string why;                        // it cannot be used, or not directly; empty: it can
  double bandwidth_Bps = 0;               // of the link; 0: not known
};

// Of one provider, or (empty: slow, and providers may complain aloud) all. Empty where there is none.
std::vector<Offer> list(std::string_view provider);

}  // namespace plait::transport::ofi
