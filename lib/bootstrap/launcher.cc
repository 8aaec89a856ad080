#include "bootstrap/launcher.h"

#include <unistd.h>

#include <charconv>
#include <optional>

#include "base/address.h"
#include "base/hash.h"
#include "bootstrap/hostlist.h"
#include "bootstrap/resolve.h"

namespace plait::bootstrap {
namespace {

// A variable that is set.
struct Variable {
  std::string name, value;
  std::string text() const { return name + "=" + value.substr(0, 200); }
};

std::optional<Variable> one(const Lookup& lookup, std::string_view name) {
  const std::string key(name);
  const char* value = lookup(key.c_str());
  if (value == nullptr || *value == 0) return std::nullopt;
  return Variable{key, value};
}

// Calls `visit` with each part of `text` between `separator`s until it says that it is enough.
template <class Visit>
void each(std::string_view text, char separator, Visit visit) {
  for (bool more = true; more;) {
    const size_t end = text.find(separator);
    if (visit(text.substr(0, end))) return;
    more = end != text.npos;
    text.remove_prefix(more ? end + 1 : 0);
  }
}

// The first of "A|B" that is set.
std::optional<Variable> first(const Lookup& lookup, const char* names) {
  std::optional<Variable> found;
  if (names == nullptr) return found;
  each(names, '|', [&](std::string_view name) { return (found = one(lookup, name)).has_value(); });
  return found;
}

Result<int64_t> number(const Variable& v, int64_t least, int64_t most) {
  int64_t value = 0;
  const char* end = v.value.data() + v.value.size();
  auto [stop, error] = std::from_chars(v.value.data(), end, value);
  if (error == std::errc() && stop == end && value >= least && value <= most) return value;
  return Status(Code::invalid, v.text() + " is not a whole number from " + std::to_string(least) + " to " +
                                   std::to_string(most));
}

// What a row's variables say.
struct Row {
  const Launcher* launcher;
  std::optional<Variable> rank, size, local_rank, local_size, nodes;
  bool complete() const { return rank && size; }
};

Row read_row(const Launcher& l, const Lookup& lookup) {
  Row row{&l,
          first(lookup, l.rank),
          first(lookup, l.size),
          first(lookup, l.local_rank),
          first(lookup, l.local_size),
          first(lookup, l.nodes)};
  if (l.marker != nullptr && !first(lookup, l.marker)) row.rank = row.size = std::nullopt;
  return row;
}

// A number into *to, if there is one; -1 otherwise.
Status read(const std::optional<Variable>& v, int64_t least, int64_t most, int64_t* to) {
  *to = -1;
  if (!v) return {};
  auto value = number(*v, least, most);
  if (!value.ok()) return value.status();
  *to = *value;
  return {};
}

struct Numbers {
  int64_t rank = -1, size = -1, local_rank = -1, local_size = -1, nodes = -1;
};

Result<Numbers> numbers_of(const Row& row) {
  Numbers n;
  PLAIT_TRY(read(row.size, 1, kMostRanks, &n.size));
  PLAIT_TRY(read(row.rank, 0, kMostRanks - 1, &n.rank));
  PLAIT_TRY(read(row.local_rank, 0, kMostRanks - 1, &n.local_rank));
  PLAIT_TRY(read(row.local_size, 1, kMostRanks, &n.local_size));
  PLAIT_TRY(read(row.nodes, 1, kMostRanks, &n.nodes));
  const char* counts_nodes = ": it seems to count hosts, and must count ranks";
  if (n.local_size > n.size) {
    return Status(Code::invalid, row.size->text() + " is below " + row.local_size->text() + counts_nodes);
  }
  if (n.nodes > n.size) return Status(Code::invalid, row.size->text() + " is below " + row.nodes->text());
  if (n.rank >= n.size) {
    return Status(Code::invalid, row.rank->text() + " is not below " + row.size->text() +
                                     ": ranks count from 0, and the size counts ranks, not hosts");
  }
  if (n.local_size > 0 && n.local_rank >= n.local_size) {
    return Status(Code::invalid, row.local_rank->text() + " is not below " + row.local_size->text());
  }
  return n;
}

// Only one of a pair is set, and no other launcher explains it.
Status half_a_pair(const Lookup& lookup) {
  for (const Launcher& l : launchers()) {
    const Row row = read_row(l, lookup);
    if (row.rank.has_value() == row.size.has_value()) continue;
    const Variable& set = row.rank ? *row.rank : *row.size;
    const bool shared = !row.rank && l.own_hosts;  // WORLD_SIZE: its own row says it
    if (shared) continue;
    return {Code::invalid,
            set.text() + " is set, " + (row.rank ? l.size : l.rank) + " is not: " + l.name + " sets both"};
  }
  return {};
}

// A WORLD_SIZE that was exported for something else, beside the launcher that started this rank.
Status stray_world_size(const Lookup& lookup, const Row& chosen, const Numbers& n) {
  const auto world = one(lookup, "WORLD_SIZE");
  if (!world) return {};
  const bool chosen_by_it = chosen.size->name == "WORLD_SIZE";
  auto said = number(*world, 1, kMostRanks);
  if (!chosen_by_it) {
    const bool pair = one(lookup, "RANK").has_value();  // a whole pair of another level is nobody's mistake
    if (pair || (said.ok() && *said == n.size)) return {};
    return {Code::invalid, world->text() + " contradicts " + chosen.size->text() + " (" +
                               chosen.launcher->name +
                               "): it must count ranks; unset it, or set it to the number of ranks"};
  }
  const auto nodes = first(lookup, "SLURM_STEP_NUM_NODES|SLURM_NNODES"),
             tasks = first(lookup, "SLURM_STEP_NUM_TASKS|SLURM_NTASKS");
  if (chosen.launcher->marker != nullptr || !nodes || !tasks) return {};
  if (nodes->value != world->value || tasks->value == world->value) return {};
  return {Code::invalid, world->text() + " equals " + nodes->text() + " while " + tasks->text() +
                             ": it counts hosts, and must count ranks"};
}

Result<std::string> job_name(const Lookup& lookup, const Launcher& l) {
  if (const auto job = one(lookup, "PLAIT_JOB")) {
    if (job->value.size() > 200) return Status(Code::invalid, "PLAIT_JOB is longer than 200 bytes");
    return job->value;
  }
  std::string name;
  if (l.job == nullptr) return name;
  each(l.job, '+', [&](std::string_view names) {
    const auto piece = first(lookup, std::string(names).c_str());
    if (piece) name += (name.empty() ? "" : "/") + piece->value;
    return false;
  });
  return name.substr(0, 200);
}

// A host where rank 0 is, by the launcher. nullopt: it names none.
Result<std::optional<Variable>> root_host(const Lookup& lookup, const Launcher& l, bool spread) {
  if (auto host = first(lookup, l.root_host)) {
    auto address = parse_ip(host->value);
    if (spread && ((address.ok() && address->loopback()) || host->value == "localhost")) {
      return Status(Code::invalid,
                    host->text() +
                        " cannot be reached from other hosts, and the ranks are on several: "
                        "set it to a name or address of rank 0's host, or PLAIT_ROOT=HOST:PORT");
    }
    return std::optional(host);
  }
  auto list = first(lookup, l.node_list);
  if (!list) return std::optional<Variable>();
  auto hosts = expand_hosts(list->value, 1);
  if (!hosts.ok()) return Status(Code::invalid, list->name + ": " + std::string(hosts.status().text()));
  list->value = hosts->front();
  return std::optional(list);
}

Status find_root(const Lookup& lookup, const Launcher& l, const Numbers& n, Launch& launch) {
  const bool one_host = n.size == 1 || n.nodes == 1 || n.local_size == n.size;
  const bool spread = !one_host && (n.nodes > 1 || n.local_size > 0 || l.own_hosts);
  if (one_host) return {};
  auto host = root_host(lookup, l, spread);
  if (!host.ok()) return host.status();
  if (!host->has_value()) {
    if (!spread) return {};
    return {Code::invalid, std::string(l.name) + " started " + std::to_string(n.size) +
                               " ranks on several hosts and does not say "
                               "where rank 0 is: give all ranks PLAIT_ROOT=HOST:PORT, say PLAIT_ROOT=node1:" +
                               std::to_string(root_port(launch.job))};
  }
  if (launch.job.empty()) {
    return {Code::invalid, std::string(l.name) +
                               " gives the job no name, which the port of rank 0 is made from: give "
                               "all ranks the same PLAIT_JOB, or PLAIT_ROOT=HOST:PORT"};
  }
  const bool v6 = (*host)->value.find(':') != std::string::npos && (*host)->value.front() != '[';
  launch.root =
      (v6 ? "[" + (*host)->value + "]" : (*host)->value) + ":" + std::to_string(root_port(launch.job));
  launch.root_source = (*host)->name;
  auto sound = parse_host_port(launch.root);
  if (!sound.ok()) return {Code::invalid, (*host)->name + ": " + std::string(sound.status().text())};
  return {};
}

Result<Launch> launch_of(const Lookup& lookup, const Row& row) {
  auto n = numbers_of(row);
  if (!n.ok()) return n.status();
  PLAIT_TRY(stray_world_size(lookup, row, *n));
  Launch launch;
  launch.source = row.launcher->name;
  launch.rank = int32_t(n->rank);
  launch.size = int32_t(n->size);
  launch.local_rank = int32_t(n->local_rank);
  launch.local_size = int32_t(n->local_size);
  auto job = job_name(lookup, *row.launcher);
  if (!job.ok()) return job.status();
  launch.job = std::move(*job);
  const auto given = one(lookup, "PLAIT_ROOT");
  if (!given) {
    PLAIT_TRY(find_root(lookup, *row.launcher, *n, launch));
    return launch;
  }
  auto places = parse_host_ports(given->value);
  if (!places.ok()) return Status(Code::invalid, "PLAIT_ROOT: " + std::string(places.status().text()));
  launch.root = given->value;
  launch.root_source = given->name;
  if (launch.job.empty()) launch.job = given->value.substr(0, 200);
  return launch;
}

}  // namespace

Result<Launch> detect(const Lookup& lookup) {
  for (const Launcher& l : launchers()) {
    const Row row = read_row(l, lookup);
    if (row.complete()) return launch_of(lookup, row);
  }
  PLAIT_TRY(half_a_pair(lookup));
  Launch alone;
  if (const auto job = one(lookup, "PLAIT_JOB")) alone.job = job->value;
  return alone;
}

uint16_t root_port(std::string_view job) noexcept { return uint16_t(20'000 + fnv1a(job) % 10'000); }

std::string parent_job() { return "parent-" + std::to_string(::getppid()); }

}  // namespace plait::bootstrap
