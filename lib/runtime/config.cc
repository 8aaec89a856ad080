#include "runtime/config.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "bootstrap/launcher.h"
#include "runtime/rail_spec.h"

namespace plait::runtime {
namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

// Reads a whole number of `name` into *to, if it is set.
Status read_number(const char* name, int64_t least, int64_t most, int64_t* to) {
  const char* text = variable(name);
  if (text == nullptr) return {};
  int64_t value = 0;
  const char* end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < least || value > most) {
    return {Code::invalid, std::string(name) + "=" + text + " is not a whole number from " +
                               std::to_string(least) + " to " + std::to_string(most)};
  }
  *to = value;
  return {};
}

constexpr int64_t kMostRanks = 1 << 20;
constexpr int64_t kMostMbps = 100'000'000;
constexpr int64_t kMostSeconds = 365 * 24 * 3600;

const char* lookup(const char* name) { return std::getenv(name); }

// Who we are, as the launcher tells.
Status read_identity(Config& c) {
  auto launch = bootstrap::detect(lookup);
  if (!launch.ok()) return launch.status();
  if (launch->size > kMostRanks) return {Code::invalid, "more than 1048576 ranks"};
  c.rank = launch->rank;
  c.size = launch->size;
  c.local_rank = launch->local_rank;
  c.job = launch->job;
  c.root = launch->root;
  if (c.size > 1 && c.job.empty() && c.root.empty()) c.job = bootstrap::parent_job();
  if (c.size > 1) {
    log::info("rank {} of {} as {} says; {}", c.rank, c.size, launch->source,
              c.root.empty() ? std::string("all ranks are on this host")
                             : "rank 0 is met at " + c.root + " (" + launch->root_source + ")");
  }
  return {};
}

Status read_network(Config& c) {
  if (const char* interfaces = variable("PLAIT_IFACE")) c.interfaces = interfaces;
  if (const char* network = variable("PLAIT_NETWORK")) c.network = network;
  if (const char* ports = variable("PLAIT_PORTS")) {
    Status status = parse_ports(ports, &c.port_min, &c.port_max);
    if (!status.ok())
      return {status.code(), "PLAIT_PORTS=" + std::string(ports) + ": " + std::string(status.text())};
  }
  int64_t mbps = 0;
  PLAIT_TRY(read_number("PLAIT_LINK_MBPS", 1, kMostMbps, &mbps));
  c.link_mbps = uint32_t(mbps);
  int64_t insecure = 0;
  PLAIT_TRY(read_number("PLAIT_INSECURE", 0, 1, &insecure));
  c.insecure = insecure == 1;
  return {};
}

// What choices rest on.
Status read_choices(const plait_comm_config& given, Config& c) {
  if (const char* tuning = variable("PLAIT_TUNING")) c.tuning = tuning;
  if (given.tuning_file != nullptr) c.tuning = given.tuning_file;
  if (const char* programs = variable("PLAIT_PROGRAMS")) c.programs = programs;
  if (given.programs != nullptr) c.programs = given.programs;
  int64_t deterministic = 0;
  PLAIT_TRY(read_number("PLAIT_DETERMINISTIC", 0, 1, &deterministic));
  c.deterministic = deterministic == 1 || given.deterministic != 0;
  return {};
}

Status read_secret(const plait_comm_config& given, Config& c) {
  const char* file = given.secret_file != nullptr ? given.secret_file : variable("PLAIT_SECRET_FILE");
  if (file == nullptr || c.size == 1) return {};
  auto secret = bootstrap::load_secret(file);
  if (!secret.ok()) return secret.status();
  c.secret = *secret;
  return {};
}

Status read_timeouts(Config& c) {
  int64_t seconds = c.bootstrap_timeout_ms / 1000;
  PLAIT_TRY(read_number("PLAIT_BOOTSTRAP_TIMEOUT", 1, kMostSeconds, &seconds));
  c.bootstrap_timeout_ms = seconds * 1000;
  seconds = c.timeout_ms / 1000;
  PLAIT_TRY(read_number("PLAIT_TIMEOUT", 1, kMostSeconds, &seconds));
  c.timeout_ms = seconds * 1000;
  return {};
}

Status apply_identity(const plait_comm_config& from, Config& c) {
  if (from.parent != nullptr)
    return {Code::unsupported,
            "plait_comm_config.parent is reserved and must be NULL: plait_comm_split and plait_comm_dup make "
            "communicators from another"};
  if (from.size < 0 || from.size > kMostRanks || from.bootstrap_timeout_ms < 0 || from.timeout_ms < 0) {
    return {Code::invalid,
            "plait_comm_config: size and timeouts must not be negative, size not above 1048576"};
  }
  if (from.size > 0) {
    if (from.rank < 0 || from.rank >= from.size) {
      return {Code::invalid, "plait_comm_config: rank " + std::to_string(from.rank) + " is not in 0.." +
                                 std::to_string(from.size - 1)};
    }
    c.rank = from.rank;
    c.size = from.size;
    if (const char* root = variable("PLAIT_ROOT")) c.root = root;
  }
  if (from.job != nullptr) c.job = from.job;
  if (from.host_id != nullptr) c.host_id = from.host_id;
  if (from.bootstrap_timeout_ms > 0) c.bootstrap_timeout_ms = from.bootstrap_timeout_ms;
  if (from.timeout_ms > 0) c.timeout_ms = from.timeout_ms;
  return {};
}

Status apply_network(const plait_comm_config& from, Config& c) {
  if (from.address != nullptr) c.root = from.address;
  if (from.interface_name != nullptr) c.interfaces = from.interface_name;
  if (from.network != nullptr) c.network = from.network;
  if (from.port_min != 0 || from.port_max != 0) {
    if (from.port_min == 0 || from.port_max < from.port_min)
      return {Code::invalid, "plait_comm_config: port_min must not be 0, port_max not below it"};
    c.port_min = from.port_min;
    c.port_max = from.port_max;
  }
  if (from.unique_id != nullptr && from.size == 0)
    return {Code::invalid, "plait_comm_config: with unique_id, rank and size must be given, too"};
  if (from.unique_id != nullptr) {
    c.unique_id.emplace();
    std::memcpy(c.unique_id->data(), from.unique_id->bytes, c.unique_id->size());
  }
  if (from.allgather != nullptr) {
    c.allgather = [call = from.allgather, context = from.allgather_context](const void* mine, void* all,
                                                                            size_t bytes) -> Status {
      const plait_status status = call(context, mine, all, bytes);
      return status == PLAIT_OK ? Status() : Status(Code::peer, "the allgather of plait_comm_config failed");
    };
  }
  return {};
}

Status check(Config& c) {
  if (c.size == 1) return {};
  if (c.job.empty() && !c.root.empty()) c.job = c.root;
  if (c.job.empty() && c.allgather) c.job = "allgather";
  if (c.job.empty() && !c.unique_id) {
    return {Code::invalid,
            "no job name: start the ranks with plait-run, or give all of them the same PLAIT_JOB "
            "(plait_comm_config.job)"};
  }
  if (c.job.size() > 80) return {Code::invalid, "the job name is longer than 80 bytes"};
  if (c.host_id.size() > 200) return {Code::invalid, "PLAIT_HOST_ID is longer than 200 bytes"};
  if (c.network.size() > 200) return {Code::invalid, "PLAIT_NETWORK is longer than 200 bytes"};
  auto networks = parse_alternatives(c.network);
  if (!networks.ok()) return {Code::invalid, "PLAIT_NETWORK: " + std::string(networks.status().text())};
  c.network = to_string(*networks);
  return {};
}

}  // namespace

Status check_struct(const void* config, size_t struct_size, size_t known, const char* name) {
  if (struct_size < sizeof(size_t)) {
    return {Code::invalid, std::string(name) + ": struct_size is " + std::to_string(struct_size) +
                               "; set it to sizeof(" + name + ")"};
  }
  const auto* bytes = static_cast<const unsigned char*>(config);
  for (size_t i = known; i < struct_size && struct_size <= 4096; i++) {
    if (bytes[i] == 0) continue;
    return {Code::invalid, std::string(name) +
                               ": a field that this version of plait does not know is set; the program " +
                               "was built for a newer one"};
  }
  if (struct_size > 4096) {
    return {Code::invalid, std::string(name) + ": struct_size " + std::to_string(struct_size) + " is absurd"};
  }
  return {};
}

Status parse_ports(const std::string& text, uint16_t* least, uint16_t* most) {
  const char* end = text.data() + text.size();
  unsigned from = 0, to = 0;
  auto [stop, error] = std::from_chars(text.data(), end, from);
  to = from;
  if (error == std::errc() && stop != end && *stop == '-') {
    auto rest = std::from_chars(stop + 1, end, to);
    stop = rest.ptr;
    error = rest.ec;
  }
  if (error != std::errc() || stop != end || from == 0 || to < from || to > 65535)
    return {Code::invalid, "not a port or a range of ports (\"20000-20100\")"};
  *least = uint16_t(from);
  *most = uint16_t(to);
  return {};
}

Result<bootstrap::UniqueId> resolve_unique_id(const char* interfaces, uint16_t port_min, uint16_t port_max) {
  Config c;
  PLAIT_TRY(read_network(c));
  plait_comm_config given{};
  given.interface_name = interfaces;
  given.port_min = port_min;
  given.port_max = port_max;
  PLAIT_TRY(apply_network(given, c));
  return bootstrap::make_unique_id(c.interfaces, c.port_min, c.port_max);
}

Result<bootstrap::Membership> Config::membership(uint32_t epoch) const {
  bootstrap::Membership m;
  if (unique_id) {
    auto made = bootstrap::membership_of(*unique_id, rank, size);
    if (!made.ok()) return made.status();
    m = std::move(made).value();
  } else {
    m.job = job;
    m.root = root;
    m.secret = secret;
    m.insecure = insecure;
    m.allgather = allgather;
  }
  m.rank = rank;
  m.size = size;
  m.epoch = epoch;
  m.interfaces = interfaces;
  m.port_min = port_min;
  m.port_max = port_max;
  return m;
}

Result<Config> resolve(const plait_comm_config* config) {
  plait_comm_config given{};
  if (config != nullptr) {
    PLAIT_TRY(check_struct(config, config->struct_size, sizeof given, "plait_comm_config"));
    std::memcpy(&given, config, std::min(config->struct_size, sizeof given));
  }
  Config c;
  if (given.size == 0) PLAIT_TRY(read_identity(c));
  PLAIT_TRY(read_timeouts(c));
  PLAIT_TRY(read_network(c));
  PLAIT_TRY(read_choices(given, c));
  if (const char* job = variable("PLAIT_JOB")) c.job = job;
  if (const char* host = variable("PLAIT_HOST_ID")) c.host_id = host;
  PLAIT_TRY(apply_identity(given, c));
  PLAIT_TRY(apply_network(given, c));
  PLAIT_TRY(read_secret(given, c));
  PLAIT_TRY(check(c));
  return c;
}

Result<Config> resolve_child(const Config& parent, const plait_comm_config* config) {
  plait_comm_config given{};
  if (config != nullptr) {
    PLAIT_TRY(check_struct(config, config->struct_size, sizeof given, "plait_comm_config"));
    std::memcpy(&given, config, std::min(config->struct_size, sizeof given));
  }
  const bool numbers = given.rank != 0 || given.size != 0 || given.port_min != 0 || given.port_max != 0;
  const bool names = given.job != nullptr || given.host_id != nullptr || given.interface_name != nullptr ||
                     given.secret_file != nullptr || given.address != nullptr || given.unique_id != nullptr ||
                     given.allgather != nullptr || given.allgather_context != nullptr ||
                     given.parent != nullptr || given.tuning_file != nullptr || given.deterministic != 0 ||
                     given.programs != nullptr || given.network != nullptr;
  if (numbers || names) {
    return Status(Code::invalid,
                  "plait_comm_config: a communicator that is made from another takes its timeouts from here "
                  "and all else from its parent: every other field must be 0");
  }
  if (given.bootstrap_timeout_ms < 0 || given.timeout_ms < 0)
    return Status(Code::invalid, "plait_comm_config: timeouts must not be negative");
  Config c = parent;
  c.root.clear();
  c.secret.reset();
  c.allgather = nullptr;
  c.unique_id.reset();
  if (given.bootstrap_timeout_ms > 0) c.bootstrap_timeout_ms = given.bootstrap_timeout_ms;
  if (given.timeout_ms > 0) c.timeout_ms = given.timeout_ms;
  return c;
}

}  // namespace plait::runtime
