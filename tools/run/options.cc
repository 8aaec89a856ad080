#include "tools/run/options.h"

#include <algorithm>

#include "tools/command_line.h"

namespace plait::run {
namespace {

constexpr int kMaxRanks = 4096;
constexpr double kMaxSeconds = 1e7;

constexpr const char* kHelp =
    R"(plait-run: starts N ranks of a program on this machine and ends them together.

Usage: plait-run -n N [OPTIONS] PROGRAM [ARGUMENTS...]

  -n, --ranks N        how many ranks, 1 to 4096 (default 1)
  -o, --output R,R...  show stdout of these ranks only (stderr is always shown)
  --no-prefix          no "[rank] " before each line (also: --prefix none)
  --timeout SECONDS    end all ranks after this time; exit status 124
  --grace SECONDS      from SIGTERM to SIGKILL, when ranks must end (default 5)
  -k, --keep-going     let the other ranks go on when one fails
  --dump FOLDER        keep the ranks' flight records there (docs/debugging.md)
  -h, --help           this text
  --version            the version

Each rank gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK,
MASTER_ADDR and MASTER_PORT as from torchrun, and PLAIT_JOB, PLAIT_SECRET_FILE
and PLAIT_DUMP. Rank 0 reads stdin. The first rank to fail ends the others; its
status is that of plait-run (128 + N when signal N killed it). Then, and after
--timeout or kill -USR1, plait-run says where the ranks' operations differ.

Examples:
  plait-run -n 4 plait-perf allreduce -b 8 -e 64M -f 8
  plait-run -n 2 --output 0 --no-prefix python3 train.py --epochs 1
  plait-run -n 8 --timeout 600 -- ./my_test --verbose
)";

// What CLI11 cannot say about `o`, or an empty string.
std::string check(const Options& o) {
  if (o.command.empty()) return "no program given; write it after the options: plait-run -n 4 ./program";
  const std::string& program = o.command.front();
  if (program.empty()) return "the program's name is empty";
  for (int rank : o.output) {
    if (rank < 0 || rank >= o.ranks) {
      return "--output " + std::to_string(rank) + ": there is no such rank; ranks are 0 to " +
             std::to_string(o.ranks - 1);
    }
  }
  return {};
}

// Everything from the first word that is no option of ours on belongs to the program. Finds it, so that CLI11
// sees only what is ours and "plait-run -n 2 prog -n 5" means what it says.
int find_program(int argc, char** argv) {
  static const char* const takes_value[] = {"-n",       "--ranks",   "-o",      "--output",
                                            "--prefix", "--timeout", "--grace", "--dump"};
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--" || word.empty() || word[0] != '-') return i;
    if (std::find(std::begin(takes_value), std::end(takes_value), word) != std::end(takes_value)) ++i;
  }
  return argc;
}

}  // namespace

bool Options::shows(int rank) const {
  return output.empty() || std::find(output.begin(), output.end(), rank) != output.end();
}

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  std::string prefix = "rank";
  bool no_prefix = false;
  CLI::App app;
  app.add_option("-n,--ranks", o.ranks)->check(CLI::Range(1, kMaxRanks));
  app.add_option("-o,--output", o.output)->delimiter(',');
  app.add_option("--prefix", prefix)->check(CLI::IsMember({"rank", "none"}));
  app.add_flag("--no-prefix", no_prefix);
  app.add_option("--timeout", o.timeout_s)->check(CLI::Range(0.0, kMaxSeconds));
  app.add_option("--grace", o.grace_s)->check(CLI::Range(0.0, kMaxSeconds));
  app.add_flag("-k,--keep-going", o.keep_going);
  app.add_option("--dump", o.dump);

  int program = std::min(find_program(argc, argv), argc);
  parsed.exit_status = tools::parse(app, program, argv, {"plait-run", kHelp}, [&] {
    if (program < argc && std::string(argv[program]) == "--") ++program;
    o.command.assign(argv + program, argv + argc);
    o.prefix = prefix == "rank" && !no_prefix;
    if (const std::string wrong = check(o); !wrong.empty()) throw tools::Mistake(wrong);
  });
  return parsed;
}

}  // namespace plait::run
