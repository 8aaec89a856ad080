// plait-run: starts the ranks of a job on this machine.
#include <cstdio>
#include <string>

#include "tools/run/collect.h"
#include "tools/run/job.h"
#include "tools/run/options.h"
#include "tools/run/supervise.h"

int main(int argc, char** argv) {
  plait::run::Parsed parsed = plait::run::parse(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  plait::run::Job job;
  plait::run::Collector collector;
  std::string error;
  if (!job.create(parsed.options.ranks, error) || !collector.create(parsed.options.dump, job.name, error)) {
    std::fprintf(stderr, "plait-run: %s\n", error.c_str());
    return 1;
  }
  job.dump = collector.prefix();
  return plait::run::Supervisor(parsed.options, job, collector).run();
}
