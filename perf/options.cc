#include "perf/options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "perf/rival/started.h"
#include "perf/show_config.h"
#include "tools/command_line.h"

namespace plait::perf {
namespace {

constexpr const char* kHelp =
    R"(plait-perf: times a collective and checks every element. Run it under plait-run.

Usage: plait-perf COLLECTIVE [OPTIONS]
COLLECTIVE: allreduce, reduce, reduce_scatter, allgather, broadcast, gather,
  scatter, alltoall, barrier; with uneven counts: reduce_scatterv, allgatherv,
  gatherv, scatterv, alltoallv

  -b SIZE -e SIZE  from and to this many bytes; K, M, G (default 8 to 64M)
  -f N, -i SIZE    each size N times the one before (default 8), or SIZE more
  -n N, -w N, -c N iterations timed (default 20), before these (5), checked (1)
  -d TYPE,...      int8, uint8, int32, uint32, int64, uint64, float16, bfloat16,
                   float32 (default), float64, float8_e4m3, float8_e5m2; or all
  -o OP,...        sum (default), prod, min, max, avg; or all
  -r RANK          root (default 0); all: a row for each
  -R 0, 1 or 2     memory: plain, of plait_mem_alloc (default), plain registered
  -A ALGORITHM     not plait's choice; --mixed-memory: odd ranks' is plain
  -T SEC, -t N     deadline of a call; ranks as threads in each process
  --plan, --explain  persistent plans; all that could run: predicted, measured
  --regret         plait's choice by the best of these
  -a 0 to 3, -I    rank 0's time, mean, least, most (3, default); calls' spread
  -J, --json FILE  writes the rows; --plot FILE.svg draws them
  --compare mpi    (or gloo) takes turns with plait; ratio: its time by plait's
  --codec int8     allreduce by a codec: time, bytes, error; with --compare none
  --show-config    the PLAIT_* variables, and where each value comes from
time: median of the iterations. Status 1: wrong or failed.

Examples:
  plait-run -n 4 plait-perf allreduce -b 8 -e 64M -f 8
  plait-run -n 2 plait-perf allgather -b 1M -e 1M -d bfloat16 -R 0 -J rows.json
  plait-run -n 3 plait-perf reduce_scatter -t 2 -b 4K -e 64K -i 4K -d all -o all
)";

constexpr tools::Refused kRefused[] = {
    {"-g,--ngpus", true, "memory is that of processors; -t makes ranks of threads"},
    {"-p,--parallel_init", true, "ranks meet in plait_comm_create, all at once"},
    {"-m,--agg_iters", true, "each call is timed by itself, short ones in batches of plait's choice"},
    {"-N,--run_cycles", true, "-n says how many iterations; a shell's loop repeats all of it"},
    {"-z,--blocking", true, "each call is waited for"},
    {"-G,--cudagraph", true, "there is no GPU; --plan measures persistent plans"},
    {"-C,--report_cputime", true, "time(1) tells what processes used"},
    {"-D,--device_implementation", true, "there is no GPU"},
};

struct Raw {  // as written on the command line
  std::string collective, first = "8", last = "64M", step, dtypes = "float32", ops = "sum", root = "0";
  double factor = 8;
  int memory = 1, whose = 3;
  bool explain = false, regret = false;
};

using tools::Mistake;

size_t size_or_throw(const char* option, const std::string& text) {
  if (auto size = parse_size(text)) return *size;
  throw Mistake(std::string(option) + " " + text + ": not a size; write bytes, or K, M, G: 8, 64K, 1.5M");
}

std::vector<size_t> sizes(const Raw& raw, bool last_given) {
  size_t first = size_or_throw("-b", raw.first), last = size_or_throw("-e", raw.last);
  if (!last_given) last = std::max(last, first);
  if (last < first) throw Mistake("-e " + raw.last + " is less than -b " + raw.first);
  size_t step = raw.step.empty() ? 0 : size_or_throw("-i", raw.step);
  if (!raw.step.empty() && step == 0) throw Mistake("-i 0 never gets further; give a step of 1 or more");
  if (step == 0 && raw.factor <= 1) throw Mistake("-f must be more than 1");
  constexpr size_t kMost = 100000;
  std::vector<size_t> all;
  for (size_t size = first; size < last;) {
    all.push_back(size);
    if (all.size() > kMost) throw Mistake("more than 100000 sizes; use a larger step (-i) or factor (-f)");
    size = step != 0 ? size + step : std::max(size + 1, size_t(double(size) * raw.factor));
  }
  all.push_back(last);  // whatever the step: who asks for 64M wants to see 64M
  return all;
}

// The entries of a list such as "sum,max", or all of them.
template <class T, class Find>
std::vector<const T*> named(const std::string& list, std::span<const T> all, Find find, const char* what) {
  std::vector<const T*> found;
  if (list == "all") {
    for (const T& one : all) found.push_back(&one);
    return found;
  }
  for (const std::string& name : CLI::detail::split(list, ',')) {
    const T* one = find(name);
    if (one == nullptr) {
      std::string known;
      for (const T& t : all) known += std::string(known.empty() ? "" : ", ") + t.name;
      throw Mistake("'" + name + "' is no " + what + "; there are: " + known + ", all");
    }
    found.push_back(one);
  }
  return found;
}

void add_options(CLI::App& app, Options& o, Raw& raw) {
  constexpr int kMany = 1'000'000;
  app.add_option("collective", raw.collective);
  app.add_option("-b,--minbytes", raw.first);
  app.add_option("-e,--maxbytes", raw.last);
  auto* factor = app.add_option("-f,--stepfactor", raw.factor);
  app.add_option("-i,--stepbytes", raw.step)->excludes(factor);
  app.add_option("-n,--iters", o.iterations)->check(CLI::Range(1, kMany));
  app.add_option("-w,--warmup_iters", o.warmup)->check(CLI::Range(0, kMany));
  app.add_option("-c,--check", o.checks)->check(CLI::Range(0, kMany));
  app.add_option("-d,--datatype", raw.dtypes);
  app.add_option("-o,--op", raw.ops);
  app.add_option("-r,--root", raw.root);
  app.add_flag("--plan", o.plan);
  app.add_option("-R,--memory", raw.memory)->check(CLI::Range(0, 2));
  app.add_flag("--mixed-memory", o.mixed_memory);
  auto* algorithm = app.add_option("-A,--algorithm", o.algorithm);
  auto* explain = app.add_flag("--explain", raw.explain)->excludes(algorithm);
  app.add_flag("--regret", raw.regret)->excludes(algorithm)->excludes(explain);
  app.add_option("-T,--timeout", o.timeout_s)->check(CLI::Range(0.0, 1e7));
  app.add_option("-t,--threads", o.threads)->check(CLI::Range(1, 1024));
  app.add_option("-J,--json", o.json);
  app.add_option("--plot", o.plot);
  app.add_option("--compare", o.rival);
  app.add_option("--codec", o.codec)->excludes(explain);
  app.add_option("-a,--average", raw.whose)->check(CLI::Range(0, 3));
  app.add_flag("-I,--iterations", o.iterations_shown);
}

void settle_root(Options& o, const Raw& raw) {
  o.all_roots = raw.root == "all" && o.collective->has_root;
  if (raw.root == "all") return;
  const char* end = raw.root.data() + raw.root.size();
  const auto [at, error] = std::from_chars(raw.root.data(), end, o.root);
  if (error != std::errc() || at != end || o.root < 0)
    throw Mistake("-r " + raw.root + ": not a rank; write a number, or all");
}

void settle_rival(const Options& o) {
  const std::string known = rival::names(), what = "--compare " + o.rival + ": ";
  const std::vector<std::string> all = CLI::detail::split(known, ',');
  if (known.empty()) throw Mistake(what + "this plait-perf was built where there was neither MPI nor Gloo");
  if (std::ranges::none_of(all, [&](std::string one) { return CLI::detail::trim(one) == o.rival; }))
    throw Mistake(what + "there are: " + known);
  if (o.mode != Mode::time || o.whose != Whose::slowest)
    throw Mistake(what + "not with --explain, --regret or -a");
  const bool plain = o.dtypes.size() == 1 && o.ops.size() == 1 &&
                     std::string_view(o.dtypes[0]->name) == "float32" &&
                     (!o.collective->reduces || std::string_view(o.ops[0]->name) == "sum");
  if (!plain || o.collective->uneven) throw Mistake(what + "of float32, sums and even blocks only");
}

void settle_codec(Options& o) {
  const std::string what = "--codec " + o.codec + ": ";
  if (!o.rival.empty() && o.rival != "none") throw Mistake(what + "goes with --compare none");
  if (std::string_view(o.collective->name) != "allreduce") throw Mistake(what + "measured with allreduce");
  const bool sums = o.ops.size() == 1 && (o.ops[0]->id == PLAIT_SUM || o.ops[0]->id == PLAIT_AVG);
  if (o.dtypes.size() != 1 || std::string_view(o.dtypes[0]->name) != "float32" || !sums)
    throw Mistake(what + "measured with float32, and -o sum or avg");
  if (o.plan || o.iterations_shown || !o.plot.empty() || o.mode != Mode::time)
    throw Mistake(what + "goes with none of --plan, -I, --plot, --regret");
  o.mode = Mode::coded;
}

void settle(Options& o, const Raw& raw, bool last_given) {
  if (raw.collective.empty()) throw Mistake(std::string("which collective? One of: ") + collective_names());
  o.collective = find_collective(raw.collective);
  if (o.collective == nullptr) {
    throw Mistake("'" + raw.collective + "' is no collective; there are: " + collective_names());
  }
  o.sizes = o.collective->moves_data() ? sizes(raw, last_given) : std::vector<size_t>{0};
  o.dtypes = named(raw.dtypes, all_dtypes(), find_dtype, "type");
  o.ops = named(raw.ops, all_ops(), find_op, "operation");
  if (!o.collective->reduces) o.ops.resize(1);
  if (!o.collective->moves_data()) o.dtypes.resize(1);
  o.memory = Memory(raw.memory);
  o.whose = Whose(raw.whose);
  o.mode = raw.explain ? Mode::explain : raw.regret ? Mode::regret : Mode::time;
  if (!o.codec.empty()) {
    settle_codec(o);
  } else if (!o.rival.empty()) {
    settle_rival(o);
  }
  if (o.mode != Mode::time && o.mode != Mode::coded && (o.plan || o.iterations_shown || !o.plot.empty()))
    throw Mistake((o.plan               ? "--plan"
                   : o.iterations_shown ? "-I"
                                        : "--plot") +
                  std::string(" does not go with --explain or --regret"));
  settle_root(o, raw);
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Raw raw;
  bool config = false;
  CLI::App app;
  app.add_flag("--show-config", config);
  add_options(app, parsed.options, raw);
  tools::add_refused(app, kRefused);
  parsed.exit_status = tools::parse(app, argc, argv, {"plait-perf", kHelp}, [&] {
    tools::check_refused(app, kRefused, "nccl-tests");
    if (!config) settle(parsed.options, raw, app.count("-e") != 0);
  });
  if (!parsed.exit_status && config) {
    show_config();
    parsed.exit_status = 0;
  }
  return parsed;
}

}  // namespace plait::perf
