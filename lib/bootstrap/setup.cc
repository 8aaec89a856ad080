#include "bootstrap/setup.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "bootstrap/launcher.h"
#include "bootstrap/made_ids.h"

namespace plait::bootstrap {
namespace {

constexpr size_t kMostJob = 200, kMostPublished = 4;

std::string hex(ByteView bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::byte b : bytes) {
    text += digits[unsigned(b) >> 4];
    text += digits[unsigned(b) & 15];
  }
  return text;
}

bool over_network(const Membership& m) { return !m.root.empty() || m.allgather != nullptr; }

std::string host_name() {
  std::array<char, 65> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

// Where rank 0 binds for an entry of its list. A name may mean another address here than elsewhere (127.0.1.1
// on Debian), so it stands for every address of this host; a numeric address for itself.
Place bind_place(const HostPort& at) {
  auto numeric = parse_ip(at.host);
  if (numeric.ok()) return {numeric->with_port(at.port), {}};
  Address any;
  any.family = 6;
  return {any.with_port(at.port), {}};
}

Result<Fd> listen_anywhere(uint16_t port) {
  Address any;
  any.family = 6;
  auto fd = listen_at({any.with_port(port), {}});
  if (fd.ok() || fd.status().code() == Code::state) return fd;
  any.family = 4;  // a kernel without IPv6
  return listen_at({any.with_port(port), {}});
}

Result<Fd> listen_known(const HostPort& at) {
  const Place place = bind_place(at);
  if (place.ip.any()) return listen_anywhere(at.port);
  auto fd = listen_at(place);
  if (fd.ok() || fd.status().code() != Code::invalid) return fd;
  // Behind an address of another machine: a service's, say.
  log::warn(
      "bootstrap: rank 0 is told to be at {}, which is no address of this host; it listens on all there are",
      to_string(place));
  return listen_anywhere(at.port);
}

// A listener of this rank's own in the abstract name space, under a name that nobody can guess.
Status open_door(Own& own) {
  std::array<std::byte, 16> random;
  PLAIT_TRY(random_bytes(random));
  own.contact.door = "plait-rank-" + hex(random);
  auto fd = listen_at({{}, own.contact.door});
  if (!fd.ok()) return fd.status();
  own.listener = std::move(*fd);
  return {};
}

Result<std::vector<Fd>> open_unix(const Membership& m) {
  auto fd = listen_at(meeting_place(m));
  if (!fd.ok() && fd.status().code() == Code::state) {
    return Status(Code::mismatch,
                  "job \"" + m.job +
                      "\" has a rank 0 on this host already: two ranks were given rank 0, or two "
                      "jobs the same name");
  }
  if (!fd.ok()) return fd.status();
  std::vector<Fd> all;
  all.push_back(std::move(*fd));
  return all;
}

}  // namespace

Status check(const Membership& m) {
  if (m.size < 1 || m.size > kMostRanks)
    return {Code::invalid, "a job has 1 to 1048576 ranks, not " + std::to_string(m.size)};
  if (m.rank < 0 || m.rank >= m.size) {
    return {Code::invalid, "rank " + std::to_string(m.rank) + " is not in 0.." + std::to_string(m.size - 1)};
  }
  if (m.job.size() > kMostJob) return {Code::invalid, "the job's name is longer than 200 bytes"};
  if (m.size > 1 && m.job.empty() && m.allgather == nullptr) {
    return {Code::invalid, "the job has no name: give all its ranks the same PLAIT_JOB"};
  }
  if ((m.port_min == 0) != (m.port_max == 0) || m.port_min > m.port_max) {
    return {Code::invalid, "ports " + std::to_string(m.port_min) + "-" + std::to_string(m.port_max) +
                               " are no range (PLAIT_PORTS=MIN-MAX)"};
  }
  if (over_network(m) && m.allgather == nullptr && m.secret == nullptr && !m.insecure) {
    return {Code::auth,
            "ranks on a network need a secret: PLAIT_SECRET_FILE=FILE, the same bytes for all ranks, mode "
            "0600 (docs/bootstrap.md says how it gets there); PLAIT_INSECURE=1 goes without, and lets "
            "anybody in"};
  }
  return {};
}

Result<Self> self_of(const Membership& m) {
  Self self;
  self.rank = m.rank;
  self.size = m.size;
  self.job = m.job;
  self.epoch = m.epoch;
  self.job_hash = sha256(std::as_bytes(std::span(m.job)));
  self.trusted.secret = m.secret;
  self.trusted.trust = m.secret ? Trust::secret : over_network(m) ? Trust::insecure : Trust::host;
  PLAIT_TRY(random_bytes(std::as_writable_bytes(std::span(&self.instance, 1))));
  self.instance |= 1;  // never 0
  if (over_network(m) && !m.interfaces.empty()) {
    auto all = list_interfaces();
    if (!all.ok()) return all.status();
    auto chosen = choose(*all, m.interfaces);
    if (!chosen.ok()) return chosen.status();
    self.sources = std::move(*chosen);
  }
  return self;
}

Place meeting_place(const Membership& m) {
  const std::string what = m.job + "/" + std::to_string(m.epoch);
  const Digest digest = sha256(std::as_bytes(std::span(what)));
  return {{}, "plait-root-" + std::to_string(::geteuid()) + "-" + hex(ByteView(digest).first(16))};
}

std::optional<Address> loopback_of(const std::vector<HostPort>& root) {
  std::optional<Address> first;
  for (const HostPort& at : root) {
    auto numeric = parse_ip(at.host == "localhost" ? "127.0.0.1" : at.host);
    if (!numeric.ok() || !numeric->loopback()) return std::nullopt;
    if (!first) first = *numeric;
  }
  return first;
}

Result<Own> open_own(const Membership& m, const std::optional<Address>& loopback) {
  Own own;
  own.contact.host = host_name();
  own.contact.pid = ::getpid();
  if (!over_network(m)) {
    PLAIT_TRY(open_door(own));
    return own;
  }
  auto fd = listen_in(loopback, m.port_min, m.port_max);
  if (!fd.ok()) return fd.status();
  own.listener = std::move(*fd);
  own.port = local_address(own.listener.get()).port;
  if (loopback) {
    own.contact.addresses.push_back(loopback->with_port(own.port));
    return own;
  }
  auto all = list_interfaces();
  if (!all.ok()) return all.status();
  auto chosen = choose(*all, m.interfaces);
  if (!chosen.ok()) return chosen.status();
  for (const Interface& i : *chosen) {
    if (i.address.family == 6 && i.address.link_local()) continue;  // means nothing without this host's scope
    if (own.contact.addresses.size() < kMostPublished)
      own.contact.addresses.push_back(i.address.with_port(own.port));
  }
  return own;
}

Result<Own> open_another(const Contact& known, uint16_t port_min, uint16_t port_max) {
  Own own;
  own.contact = known;
  if (!known.door.empty()) {
    PLAIT_TRY(open_door(own));
    return own;
  }
  const auto& all = known.addresses;
  const bool near = std::all_of(all.begin(), all.end(), [](const Address& a) { return a.loopback(); });
  auto fd = listen_in(near && !all.empty() ? std::optional(all.front()) : std::nullopt, port_min, port_max);
  if (!fd.ok()) return fd.status();
  own.listener = std::move(*fd);
  own.port = local_address(own.listener.get()).port;
  for (Address& address : own.contact.addresses) address = address.with_port(own.port);
  return own;
}

Result<std::vector<Fd>> open_known(const Membership& m, const std::vector<HostPort>& root,
                                   const transport::Bounds& bounds) {
  if (!over_network(m)) return open_unix(m);
  std::vector<Fd> all;
  if (m.unique_id) {
    auto kept = take_made_listener(m.job);
    if (!kept.ok()) return kept.status();
    if (*kept) {
      all.push_back(std::move(*kept));
      return all;
    }
  }
  std::vector<uint16_t> anywhere;
  for (const HostPort& at : root) {
    if (std::find(anywhere.begin(), anywhere.end(), at.port) != anywhere.end()) continue;
    for (;;) {
      auto fd = m.unique_id ? listen_anywhere(at.port) : listen_known(at);
      if (fd.ok()) {
        if (local_address(fd->get()).any()) anywhere.push_back(at.port);
        all.push_back(std::move(*fd));
        break;
      }
      if (fd.status().code() != Code::state) return fd.status();
      if (bounds.aborted()) return Status(Code::aborted, "the communicator was aborted");
      if (bounds.deadline.passed()) {
        return Status(Code::timeout,
                      std::string(fd.status().text()) +
                          ": another job's rank 0, or a second rank 0 of this job? Try another port "
                          "(PLAIT_ROOT=HOST:PORT)");
      }
      const timespec nap{0, 20'000'000};
      ::nanosleep(&nap, nullptr);
    }
  }
  return all;
}

}  // namespace plait::bootstrap
