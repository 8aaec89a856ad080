// What may be asked of libfabric, and what it offers. Needs none of libfabric's headers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait::fabric {

// How a provider of reliable datagrams can be used. What it can do decides, never its name:
//   direct    its writes to a peer's memory signal their target. It takes a network (what a peer on the same
//             host may copy out of this process by itself cannot be stopped by closing an endpoint), FI_RMA,
//             4 bytes of remote data, order of writes and messages (FI_ORDER_WAW, SAW, SAS), keys of at most
//             8 bytes.
//   messages  it sends messages of 4 KiB and more in order (FI_ORDER_SAS).
enum class Mode : uint8_t { automatic, direct, messages };

struct Request {
  std::string provider = "tcp";  // as fi_info -p takes it
  std::string domain;            // of that provider, e.g. "eth0"; empty: its first
  std::string address;          // of this host, numeric, for providers with IP addresses; empty: the domain's
  Mode mode = Mode::automatic;  // direct: refused where the provider cannot; automatic: direct where it can
};

// What could be asked for.
struct Offer {
  std::string provider, domain, address;  // of a Request
  Mode mode = Mode::automatic;            // what it would be used as; automatic: it cannot be used
  std::string why;                        // it cannot be used, or not directly; empty: it can
  double bandwidth_Bps = 0;               // of the link, each way; 0: not known

  // "remote memory access"; empty: it cannot be used.
  std::string use() const {
    if (mode == Mode::direct) return "remote memory access";
    return mode == Mode::messages ? "messages" + (why.empty() ? why : ": " + why) : "";
  }
};

// Of one provider, or (empty: slow, and providers may complain aloud) all. Empty where there is none.
std::vector<Offer> list(std::string_view provider);

}  // namespace plait::fabric
