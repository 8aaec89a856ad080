#include "calls.h"

#include <spdlog/fmt/fmt.h>

#include <exception>
#include <memory>

#include "base/log.h"
#include "costs.h"

namespace plait::nccl::tuner::calls {
namespace {

constexpr size_t kMostRanks = 1 << 24;
constexpr int kMostRows = 64;  // of a table, and columns: NCCL has 7 and 3

// Of one communicator.
struct Context {
  Logger logger = nullptr;
  std::unique_ptr<Costs> costs;  // null: nothing to say
};

void tell(Logger logger, LogLevel level, const std::string& text) noexcept {
  if (logger != nullptr)
    logger(level, log_init | log_tuning, "plait", 0, "TUNER/plait: %s", text.c_str());
  else
    log::line(level == LogLevel::warn ? log::Level::warn : log::Level::info, "NCCL's tuner: {}", text);
}

NcclResult result_of(const Status& status) noexcept {
  switch (status.code()) {
    case Code::ok:
      return NcclResult::success;
    case Code::invalid:
      return NcclResult::invalid_argument;
    case Code::unsupported:
      return NcclResult::invalid_usage;
    case Code::memory:
    case Code::system:
      return NcclResult::system_error;
    default:
      return NcclResult::internal_error;
  }
}

// What allocates may throw.
template <class F>
NcclResult guard(Logger logger, const char* call, F&& f) noexcept {
  try {
    const Status status = f();
    if (!status.ok()) tell(logger, LogLevel::warn, fmt::format("{}: {}", call, status.text()));
    return result_of(status);
  } catch (const std::exception&) {  // no memory, which text would need, too
    return NcclResult::system_error;
  }
}

// Why every table stays as NCCL made it; empty: it does not.
std::string nothing_to_say(size_t nodes, const NvlDomainsV5* domains) {
  if (nodes == 1) return "one node";
  if (domains != nullptr && domains->domains == 1) return "one domain of NVLink";
  return {};
}

Status check(void** context, size_t ranks, size_t nodes) {
  if (context == nullptr) return {Code::invalid, "the place for the context is null"};
  if (nodes < 1 || ranks < nodes || ranks > kMostRanks)
    return {Code::invalid, fmt::format("{} ranks on {} nodes: there is no such communicator", ranks, nodes)};
  return {};
}

Status start(Context& context, size_t ranks, size_t nodes, const TunerConstantsV5* constants) {
  const auto network = read_network();
  if (!network.ok() && network.status().code() == Code::unsupported) {
    tell(context.logger, LogLevel::info, fmt::format("NCCL's costs stay: {}", network.status().text()));
    return {};
  }
  if (!network.ok()) return network.status();
  const Hosts hosts{int32_t(nodes), int32_t(ranks)};
  context.costs = std::make_unique<Costs>(Model(*network, overheads(constants), hosts));
  tell(context.logger, LogLevel::info,
       fmt::format("{} nodes, {} ranks; between nodes {}", nodes, ranks, network->about));
  return {};
}

}  // namespace

NcclResult init(void** context, size_t ranks, size_t nodes, Logger logger, const NvlDomainsV5* domains,
                const TunerConstantsV5* constants) noexcept {
  return guard(logger, "init", [&]() -> Status {
    PLAIT_TRY(check(context, ranks, nodes));
    auto made = std::make_unique<Context>();
    made->logger = logger;
    const std::string why = nothing_to_say(nodes, domains);
    if (why.empty())
      PLAIT_TRY(start(*made, ranks, nodes, constants));
    else
      tell(logger, LogLevel::info, "NCCL's costs stay: " + why);
    *context = made.release();
    return {};
  });
}

NcclResult get_coll_info(void* context, int32_t function, size_t bytes, int operations, float** table,
                         int algorithms, int protocols, int /*registered*/, int* /*channels*/) noexcept {
  auto* mine = static_cast<Context*>(context);
  if (mine == nullptr || table == nullptr || algorithms < 0 || protocols < 0 || algorithms > kMostRows ||
      protocols > kMostRows)
    return NcclResult::invalid_argument;
  const auto collective = collective_of(function);
  if (mine->costs == nullptr || !collective) return NcclResult::success;
  return guard(mine->logger, "getCollInfo", [&]() -> Status {
    const auto times = mine->costs->times(*collective, bytes, operations);
    if (!times.ok()) return times.status();
    put_costs(*times, Table(reinterpret_cast<float*>(table), algorithms, protocols));
    return {};
  });
}

NcclResult finalize(void* context) noexcept {
  delete static_cast<Context*>(context);
  return NcclResult::success;
}

}  // namespace plait::nccl::tuner::calls
