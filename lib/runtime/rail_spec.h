// What PLAIT_NETWORK names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/rail_options.h"

namespace plait::runtime {

constexpr std::string_view kTcp = "tcp";
constexpr std::string_view kIcl = "icl";  // links of chips' own
constexpr std::string_view kVerbs = "verbs";
// In place of a device, of TCP and verbs: the nearest (near.h), to the rank's cores or to what is named.
constexpr std::string_view kNear = "near", kNearDevice = "near=";
// The fabrics that are modules.
std::span<const std::string_view> module_names() noexcept;

constexpr size_t kMostRails = 8;

// "tcp", "tcp:eth1?tls=1", "ofi:tcp", "ucx", "verbs:mlx5_0?traffic_class=106": a fabric, what of it, and how.
struct RailSpec {
  std::string fabric, detail;
  RailOptions options{};  // of TCP
  std::string how{};      // those of a module, as they were given: it reads them
  RailRate pace{};        // of any but links of chips
};

// Rails of a comma list; of an empty one, TCP. Code::invalid names what is wrong, and what there is.
Result<std::vector<RailSpec>> parse_network(std::string_view text);
std::string to_string(const RailSpec& rail);
std::string to_string(const std::vector<RailSpec>& rails);
// What must be alike on all ranks, TLS too: not the names of interfaces and devices, which each host may
// choose.
std::string kind_of(const std::vector<RailSpec>& rails);

// Networks in the order in which they are tried: two ranks are joined by the first that reaches from one to
// the other.
using Alternatives = std::vector<std::vector<RailSpec>>;
constexpr size_t kMostAlternatives = 4;

// "icl:emu:/dev/shm/pod|tcp:eth0,tcp:eth1": networks with | between, each one as above.
Result<Alternatives> parse_alternatives(std::string_view text);
std::string to_string(const Alternatives& alternatives);
std::string kind_of(const Alternatives& alternatives);
// How many come before shared memory, which joins ranks of one host: links of chips' own, at the beginning.
size_t before_shared_memory(const Alternatives& alternatives) noexcept;
// The others of a list; all of it where there are none.
std::string between_hosts(std::string_view text);

}  // namespace plait::runtime
