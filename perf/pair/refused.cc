#include "perf/pair/refused.h"

#include <CLI/CLI.hpp>

namespace plait::perf::pair {
namespace {

bool all(Tool) { return true; }
bool latency(Tool t) { return !t.bandwidth(); }
bool bandwidth(Tool t) { return t.bandwidth(); }
bool no_send(Tool t) { return t.operation != Operation::send; }
bool no_write_bandwidth(Tool t) { return t.operation != Operation::write && t.bandwidth(); }

constexpr const char* kOneWay = "latency is of one message at a time, on one connection, to and fro";
constexpr const char* kNoReceives =
    "nobody receives what is written or read; it is for plait_send_bw and plait_send_lat";
constexpr const char* kCrypto =
    "no encryption in devices; TCP encrypts by TLS (-d 'tcp?tls=1' with PLAIT_SECRET_FILE)";
constexpr const char* kReliable = "connections are reliable ones (RC), which have no such thing";
constexpr const char* kMulticast = "a connection has two ends: nothing is sent to a multicast group";
constexpr const char* kMemory = "memory is of this process, in pages of the kernel's choice";
constexpr const char* kRate =
    "messages leave as fast as they can; TCP can be held back (-d 'tcp?pacing=100M', in bytes a second)";
constexpr const char* kPorts = "name both ports as rails: -d verbs:mlx5_0/1,verbs:mlx5_0/2";
constexpr const char* kWhere = "-d says which device or interface, -i which port, -x which GID";

constexpr Refused kRefused[] = {
    {"-b,--bidirectional", false, latency, kOneWay},
    {"-t,--tx-depth", true, latency, kOneWay},
    {"-l,--post_list", true, latency, kOneWay},
    {"-q,--qp", true, latency, kOneWay},
    {"-Q,--cq-mod", true, latency, kOneWay},
    {"-N,--noPeak", false, latency, "latency has no peak"},
    {"-w,--limit_bw", true, latency, "latency is measured, not bandwidth"},
    {"-y,--limit_msgrate", true, latency, "latency is measured, not the rate of messages"},
    {"--report_gbits", false, latency, "latency is measured, not bandwidth"},
    {"--run_infinitely", false, latency, "latency is measured for a number of messages (-n) or a time (-D)"},
    {"--reversed", false, latency, "latency is of both ways"},
    {"-H,--report-histogram", false, bandwidth, "single results are those of latency"},
    {"-U,--report-unsorted", false, bandwidth, "single results are those of latency"},
    {"--latency_gap", true, bandwidth, "it is for latency"},
    {"-r,--rx-depth", true, no_send, kNoReceives},
    {"-Q,--cq-mod", true, no_write_bandwidth,
     "each read or message tells of its own end; only writes tell together"},
    {"-C,--report-cycles", false, all, "times are microseconds: cycles mean nothing where the clock changes"},
    {"-f,--margin", true, all, "all of the time counts (-D); --perform_warm_up moves something before"},
    {"-g,--mcg", false, all, kMulticast},
    {"-M,--MGID", true, all, kMulticast},
    {"-L,--hop_limit", true, all, "packets may take 64 hops"},
    {"-o,--outs", true, all, "as many reads as may be under way (-t), or as the device has room for"},
    {"-O,--dualport", false, all, kPorts},
    {"--report-per-port", false, all, kPorts},
    {"-X,--vector", true, all, "events come by the transport's own choice (-e)"},
    {"-W,--report-counters", true, all,
     "read /sys/class/infiniband/DEVICE/ports/1/counters before and after"},
    {"-z,--com_rdma_cm", false, all, "both sides agree over TCP; -R connects by rdma_cm"},
    {"--cpu_util", false, all, "time(1) tells what a process used"},
    {"--log_dci_streams", true, all, kReliable},
    {"--log_active_dci_streams", true, all, kReliable},
    {"--use-srq", false, all, "receives are those of one connection"},
    {"--inline_recv", true, all, "receives are not inline"},
    {"--recv_post_list", true, all, "receives are posted one by one, as they are needed (-r says how many)"},
    {"--aes_xts", false, all, kCrypto},
    {"--encrypt_on_tx", false, all, kCrypto},
    {"--sig_before", false, all, kCrypto},
    {"--aes_block_size", true, all, kCrypto},
    {"--data_enc_keys_number", true, all, kCrypto},
    {"--kek_path", true, all, kCrypto},
    {"--credentials_path", true, all, kCrypto},
    {"--data_enc_key_app_path", true, all, kCrypto},
    {"--dlid", true, all, "the other side tells where it is"},
    {"--dont_xchg_versions", false, all, "both sides must know that they speak alike"},
    {"--force-link", true, all, kWhere},
    {"--ipv6", false, all, kWhere},
    {"--source_ip", true, all, "-d tcp:ADDRESS, or PLAIT_IFACE, says where connections leave from"},
    {"--pkey_index", true, all, "connections are in the partition of index 0"},
    {"--mmap", true, all, kMemory},
    {"--mmap-offset", true, all, kMemory},
    {"--use_hugepages", false, all, kMemory},
    {"--mr_per_qp", false, all, "one registration serves all connections"},
    {"--use_old_post_send", false, all, "transfers are posted by the newest call that the device has"},
    {"--report-both", false, all, "the figures of -b are the sum of both ways"},
    {"--wait_destroy", true, all, "both sides let go as soon as all is measured"},
    {"--burst_size", true, all, kRate},
    {"--typical_pkt_size", true, all, kRate},
    {"--rate_limit", true, all, kRate},
    {"--rate_units", true, all, kRate},
    {"--rate_limit_type", true, all, kRate},
};

}  // namespace

std::span<const Refused> refused_options() { return kRefused; }

void add_refused(CLI::App& app, Tool tool) {
  for (const Refused& r : kRefused) {
    if (!r.of(tool)) continue;
    if (r.takes_value)
      app.add_option(r.names)->expected(1);
    else
      app.add_flag(r.names);
  }
}

std::string refusal(const CLI::App& app, Tool tool) {
  for (const Refused& r : kRefused) {
    const std::string names = r.names, first = names.substr(0, names.find(','));
    if (!r.of(tool) || app.count(first) == 0) continue;
    return first + " of perftest is not taken: " + r.why;
  }
  return {};
}

}  // namespace plait::perf::pair
