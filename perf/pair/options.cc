#include "perf/pair/options.h"

#include <algorithm>

#include "base/option_text.h"
#include "perf/pair/refused.h"
#include "tools/command_line.h"

namespace plait::perf::pair {
namespace {

using tools::Mistake;

struct Raw {  // as written on the command line
  std::string size, output, connection = "RC";
  bool all = false, cpu_freq = false, json = false, on_demand_paging = false, strict_order = false;
  uint32_t gid_index = 0, inline_bytes = 0, mtu = 0, service_level = 0, traffic_class = 0, timeout = 0,
           retries = 0;
};

constexpr uint32_t kMost32 = 0x7fffffff;

void add_common(CLI::App& app, Options& o, Raw& raw) {
  app.add_option("host", o.server);
  app.add_option("-d,--ib-dev", o.device);
  app.add_option("-p,--port", o.port)->check(CLI::Range(0, 65535));
  app.add_option("-s,--size", raw.size);
  app.add_flag("-a,--all", raw.all)->excludes("-s");
  app.add_option("-n,--iters", o.iterations)->check(CLI::Range(uint64_t{1}, kMostIterations));
  app.add_option("-D,--duration", o.seconds)->check(CLI::Range(1u, 86400u * 365))->excludes("-n");
  app.add_flag("-e,--events", o.events);
  app.add_flag("-F,--CPU-freq", raw.cpu_freq);
  app.add_option("-c,--connection", raw.connection);
  app.add_flag("--data_validation", o.validate);
  app.add_flag("--perform_warm_up", o.warm_up);
  app.add_option("--output", raw.output);
  app.add_flag("--out_json", raw.json);
  app.add_option("--out_json_file", o.json);
  app.add_option("--timeout", o.timeout_s)->check(CLI::Range(0.1, 1e6));
  app.add_option("--wait", o.wait_s)->check(CLI::Range(0.1, 1e9));
}

void add_measure(CLI::App& app, Options& o) {
  if (o.tool.operation == Operation::send)
    app.add_option("-r,--rx-depth", o.rx_depth)->check(CLI::Range(1u, kMost32));
  if (!o.tool.bandwidth()) {
    app.add_flag("-H,--report-histogram", o.histogram);
    app.add_flag("-U,--report-unsorted", o.unsorted);
    app.add_option("--latency_gap", o.gap_us)->check(CLI::Range(0u, 1'000'000u));
    return;
  }
  app.add_flag("-b,--bidirectional", o.bidirectional);
  app.add_option("-t,--tx-depth", o.depth)->check(CLI::Range(1u, 4096u));
  app.add_option("-l,--post_list", o.post_list)->check(CLI::Range(1u, 4096u));
  app.add_option("-q,--qp", o.qps)->check(CLI::Range(1u, kMostQps));
  if (o.tool.operation == Operation::write)
    app.add_option("-Q,--cq-mod", o.news_every)->check(CLI::Range(1u, 4096u));
  app.add_flag("-N,--noPeak", o.no_peak);
  app.add_option("-w,--limit_bw", o.least_bandwidth)->check(CLI::Range(0.0, 1e12));
  app.add_option("-y,--limit_msgrate", o.least_mpps)->check(CLI::Range(0.0, 1e12));
  app.add_flag("--reversed", o.reversed);
  app.add_flag("--report_gbits", o.gbits);
  app.add_flag("--run_infinitely", o.infinite)->excludes("-n");
}

void add_verbs(CLI::App& app, Options& o, Raw& raw) {
  app.add_option("-x,--gid-index", raw.gid_index)->check(CLI::Range(0u, 255u));
  app.add_flag("-R,--rdma_cm", o.verbs.rdma_cm);
  app.add_option("-I,--inline_size", raw.inline_bytes)->check(CLI::Range(0u, kMost32));
  app.add_option("-m,--mtu", raw.mtu)->check(CLI::Range(256u, 4096u));
  auto* tos = app.add_option("-T,--tos", raw.traffic_class)->check(CLI::Range(0u, 255u));
  app.add_option("--tclass", raw.traffic_class)->check(CLI::Range(0u, 255u))->excludes(tos);
  app.add_option("--retry_count", raw.retries)->check(CLI::Range(0u, 7u));
  app.add_flag("--odp", raw.on_demand_paging);
  app.add_flag("--disable_pcie_relaxed", raw.strict_order);
  app.add_option("-S,--sl", raw.service_level)->check(CLI::Range(0u, 15u));
  app.add_option("-u,--qp-timeout", raw.timeout)->check(CLI::Range(1u, 31u));
  app.add_option("-i,--ib-port", o.verbs.ib_port)->check(CLI::Range(1u, 255u));
}

// Collects what verbs is to be asked for, and by which options.
void settle_verbs(const CLI::App& app, const Raw& raw, VerbsOptions& verbs) {
  auto take = [&](const char* flag, const std::string& pair) {
    if (app.count(flag) == 0) return;
    if (!pair.empty()) verbs.text += (verbs.text.empty() ? "" : "+") + pair;
    verbs.flags += std::string(verbs.flags.empty() ? "" : ", ") + flag;
  };
  take("-x", "gid_index=" + std::to_string(raw.gid_index));
  take("-R", "connect=cm");
  take("-I", "inline=" + std::to_string(raw.inline_bytes));
  take("-m", "mtu=" + std::to_string(raw.mtu));
  take("-S", "service_level=" + std::to_string(raw.service_level));
  take("-T", "traffic_class=" + std::to_string(raw.traffic_class));
  take("--tclass", "traffic_class=" + std::to_string(raw.traffic_class));
  take("-u", "timeout=" + std::to_string(raw.timeout));
  take("--retry_count", "retries=" + std::to_string(raw.retries));
  take("--odp", "on_demand_paging=1");
  take("--disable_pcie_relaxed", "relaxed_ordering=0");
  take("-i", "");
}

size_t size_of(const std::string& text) {
  const auto size = option_number(text, 1, kMostBytes);
  if (!size)
    throw Mistake("-s " + text + ": a message has 1 byte to 1G; K, M and G stand for 2^10, 2^20, 2^30");
  return size_t(*size);
}

void settle_sizes(Options& o, const Raw& raw) {
  if (raw.all) {
    for (size_t size = 2; size <= size_t{1} << 23; size *= 2) o.sizes.push_back(size);
  } else {
    o.sizes.push_back(!raw.size.empty() ? size_of(raw.size) : o.tool.bandwidth() ? 65536 : 2);
  }
}

void settle_length(Options& o) {
  if (o.infinite && o.reversed)
    throw Mistake("--run_infinitely ends with the client, which sends: leave out --reversed");
  if (o.reversed && o.bidirectional) throw Mistake("-b is both ways: leave out --reversed");
  if (o.infinite && o.sizes.size() > 1)
    throw Mistake("--run_infinitely measures one size: give -s instead of -a");
  if (o.infinite && o.seconds == 0) o.seconds = 5;
  if ((o.histogram || o.unsorted) && o.seconds != 0)
    throw Mistake("-H and -U print every result: give a number of them (-n), not -D");
  if (o.iterations == 0) o.iterations = o.tool == Tool{Operation::write, Measure::bandwidth} ? 5000 : 1000;
  if (!o.tool.bandwidth() && o.iterations > kMostSamples)
    throw Mistake("-n " + std::to_string(o.iterations) + ": each result is kept, " +
                  std::to_string(kMostSamples) + " at most; -D measures as long as you like");
}

void settle_output(Options& o, const std::string& text) {
  if (text.empty()) return;
  const bool rate = text == "message_rate";
  o.output = text == "bandwidth" ? Output::bandwidth : rate ? Output::message_rate : Output::latency;
  if (o.tool.bandwidth() ? rate || text == "bandwidth" : text == "latency") return;
  throw Mistake("--output " + text + ": " + name_of(o.tool) + " has " +
                (o.tool.bandwidth() ? "bandwidth and message_rate" : "latency"));
}

// What must fit under way on a connection.
void settle_depths(const CLI::App& app, Options& o) {
  if (!o.tool.bandwidth()) o.depth = 1;
  o.depth_given = o.tool.bandwidth() && app.count("-t") != 0;
  if (o.tool.operation == Operation::send && std::max(o.depth, o.rx_depth) > kMostSends)
    throw Mistake((o.depth > kMostSends ? "-t " : "-r ") + std::to_string(std::max(o.depth, o.rx_depth)) +
                  ": at most " + std::to_string(kMostSends) + " messages are under way or waited for");
  if (o.post_list > o.depth)
    throw Mistake("-l " + std::to_string(o.post_list) + " is more than the " + std::to_string(o.depth) +
                  " messages under way (-t)");
  if (o.news_every > o.depth)
    throw Mistake("-Q " + std::to_string(o.news_every) + " is more than the " + std::to_string(o.depth) +
                  " messages under way (-t)");
}

void settle(const CLI::App& app, Options& o, const Raw& raw) {
  if (raw.connection != "RC") throw Mistake("-c " + raw.connection + ": connections are reliable ones, RC");
  if (o.port == 0 && !o.is_server()) throw Mistake("-p 0 is for a server: it says which port it got");
  settle_sizes(o, raw);
  settle_length(o);
  settle_verbs(app, raw, o.verbs);
  if (raw.json && o.json.empty()) o.json = "perftest_out.json";
  settle_output(o, raw.output);
  settle_depths(app, o);
}

}  // namespace

Parsed parse(Tool tool, int argc, const char* const* argv) {
  Parsed parsed;
  Raw raw;
  parsed.options.tool = tool;
  CLI::App app;
  add_common(app, parsed.options, raw);
  add_measure(app, parsed.options);
  add_verbs(app, parsed.options, raw);
  const auto refused = refused_by(tool);
  tools::add_refused(app, refused);
  const tools::About about{name_of(tool), help_of(tool), 2, "-V,--version"};
  parsed.exit_status = tools::parse(app, argc, argv, about, [&] {
    tools::check_refused(app, refused, "perftest");
    settle(app, parsed.options, raw);
  });
  return parsed;
}

}  // namespace plait::perf::pair
