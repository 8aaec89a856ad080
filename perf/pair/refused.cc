#include "perf/pair/refused.h"

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
constexpr const char* kGpu = "no transport reaches memory of GPUs yet: memory is the host's";
constexpr const char* kRate =
    "messages leave as fast as they can; TCP can be held back (-d 'tcp?pacing=100M', in bytes a second)";
constexpr const char* kPorts = "name both ports as rails: -d verbs:mlx5_0/1,verbs:mlx5_0/2";
constexpr const char* kWhere = "-d says which device or interface, -i which port, -x which GID";

struct Refusal {
  bool (*of)(Tool);  // which tools refuse it
  tools::Refused option;
};
constexpr Refusal kRefused[] = {
    {latency, {"-b,--bidirectional", false, kOneWay}},
    {latency, {"-t,--tx-depth", true, kOneWay}},
    {latency, {"-l,--post_list", true, kOneWay}},
    {latency, {"-q,--qp", true, kOneWay}},
    {latency, {"-Q,--cq-mod", true, kOneWay}},
    {latency, {"-N,--noPeak", false, "latency has no peak"}},
    {latency, {"-w,--limit_bw", true, "latency is measured, not bandwidth"}},
    {latency, {"-y,--limit_msgrate", true, "latency is measured, not the rate of messages"}},
    {latency, {"--report_gbits", false, "latency is measured, not bandwidth"}},
    {latency,
     {"--run_infinitely", false, "latency is measured for a number of messages (-n) or a time (-D)"}},
    {latency, {"--reversed", false, "latency is of both ways"}},
    {bandwidth, {"-H,--report-histogram", false, "single results are those of latency"}},
    {bandwidth, {"-U,--report-unsorted", false, "single results are those of latency"}},
    {bandwidth, {"--latency_gap", true, "it is for latency"}},
    {no_send, {"-r,--rx-depth", true, kNoReceives}},
    {no_write_bandwidth,
     {"-Q,--cq-mod", true, "each read or message tells of its own end; only writes tell together"}},
    {all,
     {"-C,--report-cycles", false, "times are microseconds: cycles mean nothing where the clock changes"}},
    {all, {"-f,--margin", true, "all of the time counts (-D); --perform_warm_up moves something before"}},
    {all, {"-g,--mcg", false, kMulticast}},
    {all, {"-M,--MGID", true, kMulticast}},
    {all, {"-L,--hop_limit", true, "packets may take 64 hops"}},
    {all, {"-o,--outs", true, "as many reads as may be under way (-t), or as the device has room for"}},
    {all, {"-O,--dualport", false, kPorts}},
    {all, {"--report-per-port", false, kPorts}},
    {all, {"-X,--vector", true, "events come by the transport's own choice (-e)"}},
    {all,
     {"-W,--report-counters", true, "read /sys/class/infiniband/DEVICE/ports/1/counters before and after"}},
    {all, {"-z,--com_rdma_cm", false, "both sides agree over TCP; -R connects by rdma_cm"}},
    {all, {"--cpu_util", false, "time(1) tells what a process used"}},
    {all, {"--log_dci_streams", true, kReliable}},
    {all, {"--log_active_dci_streams", true, kReliable}},
    {all, {"--use-srq", false, "receives are those of one connection"}},
    {all, {"--inline_recv", true, "receives are not inline"}},
    {all,
     {"--recv_post_list", true, "receives are posted one by one, as they are needed (-r says how many)"}},
    {all, {"--aes_xts", false, kCrypto}},
    {all, {"--encrypt_on_tx", false, kCrypto}},
    {all, {"--sig_before", false, kCrypto}},
    {all, {"--aes_block_size", true, kCrypto}},
    {all, {"--data_enc_keys_number", true, kCrypto}},
    {all, {"--kek_path", true, kCrypto}},
    {all, {"--credentials_path", true, kCrypto}},
    {all, {"--data_enc_key_app_path", true, kCrypto}},
    {all, {"--dlid", true, "the other side tells where it is"}},
    {all, {"--dont_xchg_versions", false, "both sides must know that they speak alike"}},
    {all, {"--force-link", true, kWhere}},
    {all, {"--ipv6", false, kWhere}},
    {all, {"--source_ip", true, "-d tcp:ADDRESS, or PLAIT_IFACE, says where connections leave from"}},
    {all, {"--pkey_index", true, "connections are in the partition of index 0"}},
    {all, {"--use_cuda", true, kGpu}},
    {all, {"--use_cuda_bus_id", true, kGpu}},
    {all, {"--use_rocm", true, kGpu}},
    {all, {"--mmap", true, kMemory}},
    {all, {"--mmap-offset", true, kMemory}},
    {all, {"--use_hugepages", false, kMemory}},
    {all, {"--mr_per_qp", false, "one registration serves all connections"}},
    {all, {"--use_old_post_send", false, "transfers are posted by the newest call that the device has"}},
    {all, {"--report-both", false, "the figures of -b are the sum of both ways"}},
    {all, {"--wait_destroy", true, "both sides let go as soon as all is measured"}},
    {all, {"--burst_size", true, kRate}},
    {all, {"--typical_pkt_size", true, kRate}},
    {all, {"--rate_limit", true, kRate}},
    {all, {"--rate_units", true, kRate}},
    {all, {"--rate_limit_type", true, kRate}},
};

}  // namespace

std::vector<tools::Refused> refused_by(Tool tool) {
  std::vector<tools::Refused> all;
  for (const Refusal& row : kRefused)
    if (row.of(tool)) all.push_back(row.option);
  return all;
}

}  // namespace plait::perf::pair
