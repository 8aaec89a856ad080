// The domain "tcp": non-blocking sockets that poll() reads and writes, between any two processes that IP
// connects.
//
// An endpoint has three connections (more with Options::bulk_connections). Transfers whose counter is even travel on
// the first, those whose counter is odd on the second, each in post order: so keep what is small and urgent on even counters and bulk on odd
// ones, or 8 bytes wait for the 64 MiB before them. The third carries nothing: the kernel's keepalive on it
// tells of a host that died or a link that was cut, though the others be full and their reader busy for
// minutes.
#pragma once

#include <strings.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "transport/transport.h"

namespace plait::transport::tcp {

// What moves bytes between sockets and the kernel; peers need not agree. docs/transport.md says what each costs.
// automatic: what was measured to be the best.
enum class EngineKind : uint8_t { automatic, polled, uring };

// What all ranks of a job share and nobody else knows; wiped when it goes.
struct TlsKey {
  std::array<std::byte, 32> bytes{};
  TlsKey() = default;
  TlsKey(const TlsKey&) = default;
  TlsKey& operator=(const TlsKey&) = default;
  ~TlsKey() { explicit_bzero(bytes.data(), bytes.size()); }
};

struct Options {
  // Of this host: what to listen on, to connect from and to tell peers, best first. At least one, and of more
  // than kAddresses the first; their ports are ignored.
  std::vector<Address> addresses;
  // Listen on a port of this range; 0: on any.
  uint16_t port_min = 0, port_max = 0;
  std::string label = "tcp";       // name(), e.g. "tcp:eth0"
  double bandwidth_Bps = 0;        // of the interface, each way, for capabilities(); 0: not known
  // A host that is silent for so long is dead. It is probed every second, and the last probe does not count: with 3 s two
  // lost packets would do, which happens once in a few minutes at 1 % of loss and a dozen connections.
  int64_t user_timeout_ms = 5000;
  // Of each connection, in bytes; 0: as many as the kernel finds fit, by and by (which is best unless its sysctls forbid
  // what the link needs). The kernel may give less, which is warned of.
  size_t send_buffer = 0, receive_buffer = 0;
  // Bulk to one peer leaves with this many bytes a second at most, evenly, where switches drop what comes in bursts;
  // 0: as fast as it can.
  double pacing_Bps = 0;
  // For bulk to one peer, 1 to 4: odd counters are spread over them. The lesser number of the two sides counts. Worth it
  // where one connection is held back by something on the way; on an undisturbed link it is not faster.
  int bulk_connections = 1;
  EngineKind engine = EngineKind::automatic;  // uring where the kernel refuses it: polled, and a warning
  // Set: all connections run TLS 1.3, proved with this key, and only to peers that have it too. Sockets are polled then.
  std::shared_ptr<const TlsKey> tls;
};

constexpr size_t kAddresses = 4;

// Code::invalid when the options make no sense. Code::system, with the address or the port range, when the
// kernel gives no socket; Code::unsupported when it does not know the family of an address.
Result<std::unique_ptr<Domain>> make_domain(const Options& options);

// Code::unsupported, and why, where this build or this kernel has no io_uring, or too old a one.
Status uring_status();
// Code::unsupported, and why, where there is no TLS: in this build, or by OpenSSL's configuration.
Status tls_status();
// For people: "polled sockets (chosen: they cost less), 2 connections for bulk, TLS 1.3"
std::string describe(const Options& options);

}  // namespace plait::transport::tcp
