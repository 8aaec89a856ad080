#include "perf/nccl/options.h"

#include <charconv>

#include "perf/nccl/checks.h"
#include "tools/command_line.h"

namespace plait::nccl_drive {
namespace {

constexpr const char* kHelp =
    R"(nccl-net-drive: drives a network plugin of NCCL as NCCL does, without a GPU.

Usage: nccl-net-drive PLUGIN [OPTIONS]
PLUGIN: a path, a file lib*.so, or NAME of libnccl-net-NAME.so

Says of each point of the contract: pass, FAIL or not exercised. Every check is
a process of its own; what hangs or crashes is told with the call it did so in.
  --point N,...      only these points, 1 to 15
  --list             what is checked, point by point
  --net-version V    8 to 12: the table that is used (default: the newest)
  --device N         a device of the plugin (default 0)
  --virtual N        a virtual device, of the first N (2 to 8)
  --timeout SEC      deadline of each wait (default 10)

  --script SEED      random operations, checked against a model
  --count N          as many scripts, of the seeds from SEED on (default 1)

  --measure          half round trips and bandwidth between two processes
  --sizes LIST       bytes; K, M (default 8,64,512,4K,32K,256K,1M,4M,16M,64M)
  --windows LIST     messages in flight, 1 to 32 (default 1,4,32)
  --comms N          as many connections at once (default 1)
  --rounds N         of which the median is told (default 5)
  --plain            and plain sockets in the same rounds, with the ratio

  --json             the result as JSON
  -h, --help         this text; --version: the version
Status 1: a point is not kept, or no byte moved; 2: wrong use.

Examples:
  nccl-net-drive ./libnccl-net-plait.so
  nccl-net-drive plait --virtual 2 --script 1 --count 1000
  nccl-net-drive /opt/lib/libnccl-net.so --measure --plain --sizes 8,4K,1M
)";

using tools::Mistake;

std::optional<size_t> parse_size(const std::string& text) {
  size_t size = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc() || size > size_t{1} << 30) return std::nullopt;
  const std::string unit(at, end);
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (shift < 0 || size << shift > size_t{1} << 30) return std::nullopt;
  return size << shift;
}

std::vector<size_t> sizes(const std::string& list) {
  std::vector<size_t> all;
  for (const std::string& text : CLI::detail::split(list, ',')) {
    const auto size = parse_size(text);
    if (!size || *size == 0)
      throw Mistake("--sizes " + text + ": not a size; write bytes, or K, M, up to 1G: 8,64K,1M");
    all.push_back(*size);
  }
  return all;
}

void add_options(CLI::App& app, Options& o, std::string& size_list) {
  constexpr int kMany = 1'000'000'000;
  app.add_option("plugin", o.job.plugin);
  app.add_option("--point", o.points)->delimiter(',')->check(CLI::Range(1, kPoints));
  app.add_option("--net-version", o.job.version)->check(CLI::Range(kOldest, kNewest));
  auto* device = app.add_option("--device", o.job.device)->check(CLI::Range(0, 1 << 20));
  app.add_option("--virtual", o.job.joined)->check(CLI::Range(2, 8))->excludes(device);
  app.add_option("--timeout", o.job.seconds)->check(CLI::Range(0.1, 3600.0));
  auto* script = app.add_option("--script", o.seed);
  app.add_option("--count", o.count)->check(CLI::Range(1, kMany))->needs(script);
  app.add_option("--sizes", size_list);
  app.add_option("--windows", o.measure.windows)->delimiter(',')->check(CLI::Range(1, nccl::max_requests));
  app.add_option("--comms", o.measure.comms)->check(CLI::Range(1, 64));
  app.add_option("--rounds", o.measure.rounds)->check(CLI::Range(1, 1000));
  app.add_flag("--plain", o.measure.plain);
  app.add_flag("--json", o.json);
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  bool list = false, measure = false;
  std::string size_list;
  CLI::App app;
  app.add_flag("--list", list);
  app.add_flag("--measure", measure);
  add_options(app, o, size_list);
  parsed.exit_status = tools::parse(app, argc, argv, {"nccl-net-drive", kHelp}, [&] {
    if (!size_list.empty()) o.measure.sizes = sizes(size_list);
    if (measure && app.count("--script") != 0) throw Mistake("--measure or --script, not both");
    o.mode = list                         ? Mode::list
             : measure                    ? Mode::measure
             : app.count("--script") != 0 ? Mode::script
                                          : Mode::check;
    if (o.job.plugin.empty() && !list)
      throw Mistake("which plugin? Its path, or NAME of libnccl-net-NAME.so");
  });
  return parsed;
}

}  // namespace plait::nccl_drive
