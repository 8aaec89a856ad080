#include "tools/tune/options.h"

#include <algorithm>

#include "perf/options.h"
#include "tools/command_line.h"

namespace plait::tune {
namespace {

constexpr const char* kHelp =
    R"(plait-tune: measures the algorithms of collectives and writes the file that
PLAIT_TUNING names, by which communicators then choose. Run it under plait-run
or mpirun, with the ranks and hosts that will use the file.

Usage: plait-tune [COLLECTIVE...] -o FILE [OPTIONS]
       plait-tune --combine FILE... -o FILE
COLLECTIVE: allreduce, reduce, reduce_scatter, allgather, broadcast, gather,
  scatter, alltoall, barrier (default: all of them)

  -o FILE          to write; rank 0 writes it, all at once
  -b SIZE -e SIZE  from and to this many bytes; K, M, G (default 8 to 64M)
  -f N             each size N times the one before (default 2)
  -n N             rounds in which the algorithms take turns (default 7)
  --merge          keep what FILE has for other collectives and ranks
  --combine        no measuring: medians of what files of one machine have,
                   those of several launches or of several numbers of ranks
Status 1: failed; nothing is written then. Status 2: a wrong use.

Examples:
  plait-run -n 8 plait-tune -o host.json
  plait-run -n 4 plait-tune allreduce broadcast -o host.json --merge
  plait-tune --combine first.json second.json third.json -o host.json
  PLAIT_TUNING=host.json plait-run -n 8 plait-perf allreduce --explain
)";

using tools::Mistake;

struct Raw {  // as written on the command line
  std::vector<std::string> words;
  std::string first = "8", last = "64M";
  double factor = 2;
  bool combine = false;
};

size_t size_or_throw(const char* option, const std::string& text) {
  if (auto size = perf::parse_size(text)) return *size;
  throw Mistake(std::string(option) + " " + text + ": not a size; write bytes, or K, M, G: 8, 64K, 1.5M");
}

std::vector<size_t> sizes(const Raw& raw) {
  const size_t first = size_or_throw("-b", raw.first), last = size_or_throw("-e", raw.last);
  if (first == 0) throw Mistake("-b 0: there is nothing to choose by; 1 at least");
  if (last < first) throw Mistake("-e " + raw.last + " is less than -b " + raw.first);
  if (!(raw.factor >= 1.25)) throw Mistake("-f must be 1.25 or more");
  std::vector<size_t> all;
  for (size_t size = first; size < last; size = std::max(size + 1, size_t(double(size) * raw.factor)))
    all.push_back(size);
  all.push_back(last);
  return all;
}

std::vector<const perf::Collective*> collectives(const std::vector<std::string>& names) {
  std::vector<const perf::Collective*> found;
  for (const std::string& name : names) {
    const perf::Collective* one = perf::find_collective(name);
    if (one == nullptr || one->uneven)
      throw Mistake("'" + name + "' is no collective to tune; see plait-tune --help");
    if (std::find(found.begin(), found.end(), one) != found.end())
      throw Mistake("'" + name + "' is named twice");
    found.push_back(one);
  }
  return found;
}

void settle(Options& o, const Raw& raw) {
  if (o.out.empty()) throw Mistake("-o FILE is missing: where to write");
  if (raw.combine) {
    if (raw.words.empty()) throw Mistake("--combine needs the files to combine");
    if (o.merge) throw Mistake("--merge is for measuring; name the file among those to combine");
    o.combine = raw.words;
    return;
  }
  const std::vector<std::string> all = {"allreduce", "reduce",  "reduce_scatter", "allgather", "broadcast",
                                        "gather",    "scatter", "alltoall",       "barrier"};
  o.collectives = collectives(raw.words.empty() ? all : raw.words);
  o.sizes = sizes(raw);
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  Raw raw;
  CLI::App app;
  app.add_option("words", raw.words);
  app.add_option("-o,--output", o.out);
  app.add_option("-b,--minbytes", raw.first);
  app.add_option("-e,--maxbytes", raw.last);
  app.add_option("-f,--stepfactor", raw.factor);
  app.add_option("-n,--rounds", o.rounds)->check(CLI::Range(1, 10'000));
  app.add_flag("--merge", o.merge);
  app.add_flag("--combine", raw.combine);
  parsed.exit_status = tools::parse(app, argc, argv, {"plait-tune", kHelp}, [&] { settle(o, raw); });
  return parsed;
}

}  // namespace plait::tune
