// Written by hand: it has to fit a screen and show examples.
#include "perf/pair/options.h"

namespace plait::perf::pair {
namespace {

constexpr const char* kUsage =
    R"(NAME: measures WHAT between two processes, with the options of perftest.

Usage: NAME [OPTIONS]          the server: waits for a client
       NAME [OPTIONS] HOST     the client of the server on HOST

  -d DEVICE       shm; tcp, tcp:eth0; rxe1, mlx5_0 (RDMA, as verbs:rxe1); ofi:tcp; ucx:tcp;
                  icl:0/2, chips 0 and 2 of a pod (default: the first RDMA device, else tcp)
  -p PORT         of the server, for what both agree on (default 18515)
  -s BYTES, -a    a message (default SIZE); all sizes from 2 to 2^23
  -n COUNT, -D S  messages of each size (default COUNT); or for S seconds
)";

constexpr const char* kBandwidth =
    R"(  -t N, -l N      messages under way (default 128), and posted together (1)
  -q N            connections (default 1)
  -b, --reversed  both directions at once; the server sends
  -w MIN, -y MIN  status 1 where BW average, or MsgRate, is less
  -N, --report_gbits  no peak; 10^9 bits a second, not MiB
  --run_infinitely  a row each -D seconds (default 5), until it is interrupted
)";

constexpr const char* kWriteBandwidth =
    "  -Q N            so many writes tell together that they arrived (default 1)\n";
constexpr const char* kSend =
    "  -r N            receives posted (default: as many messages as may be under way)\n";

constexpr const char* kLatency =
    R"(  -H, -U          every result: sorted, unsorted
  --latency_gap N  microseconds between one and the next
)";

constexpr const char* kRest =
    R"(  -e              sleep until something happens instead of polling
  -x N, -R, -T N  verbs: GID index, connect by rdma_cm, traffic class; also -I, -i, -m, -S, -u,
                  --tclass, --retry_count, --odp, --disable_pcie_relaxed
  --data_validation, --perform_warm_up   bytes are checked; some messages before
  --output KIND   nothing but that number of each row: NUMBERS
  --out_json, --out_json_file FILE   the report as JSON, too (perftest_out.json)
  --timeout S, --wait S   without a sign of the other (30); a server for its client (3600)
MEANING
The options of both sides must be alike. Status 1: failed, or bytes were wrong.

Examples:
  NAME -d shm & NAME -d shm localhost
  NAME -d mlx5_0 -x 3 & ssh b NAME -d mlx5_0 -x 3 a
  NAME -d tcp:eth0 -a --data_validation HOST
)";

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::string meaning_of(Tool tool) {
  if (tool.bandwidth())
    return "A message counts once it has arrived. BW peak: of the best stretch of 16 times -t messages.";
  if (tool.operation == Operation::read) return "Times are of a whole read.";
  return "Times are half of there and back.";
}

}  // namespace

std::string help_of(Tool tool) {
  const bool bandwidth = tool.bandwidth();
  std::string text = std::string(kUsage) + (bandwidth ? kBandwidth : kLatency);
  if (bandwidth && tool.operation == Operation::write) text += kWriteBandwidth;
  if (tool.operation == Operation::send) text += kSend;
  text += kRest;
  replace(text, "NUMBERS", bandwidth ? "bandwidth, message_rate" : "latency");
  replace(text, "default COUNT",
          bandwidth && tool.operation == Operation::write ? "default 5000" : "default 1000");
  replace(text, "default SIZE", bandwidth ? "default 65536" : "default 2");
  replace(text, "WHAT", title_of(tool));
  replace(text, "MEANING", meaning_of(tool));
  replace(text, "NAME", name_of(tool));
  return text;
}

}  // namespace plait::perf::pair
