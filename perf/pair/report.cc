#include "perf/pair/report.h"

#include <algorithm>
#include <utility>

#include "perf/pair/measure.h"

namespace plait::perf::pair {
namespace {

double unit_of(const Options& o) { return o.gbits ? 1e9 / 8 : 1 << 20; }
const char* unit_name(const Options& o) { return o.gbits ? "Gb/sec" : "MiB/sec"; }

const char* on(bool value) { return value ? "ON" : "OFF"; }

// One item of the banner.
void item(std::FILE* to, const char* name, const std::string& value) {
  std::fprintf(to, " %-16s: %s\n", name, value.c_str());
}

}  // namespace

std::string shortfall(const Options& o, const Row& row) {
  char text[200] = "";
  const double bandwidth = row.bandwidth.average_Bps / unit_of(o), rate = row.bandwidth.messages_ps / 1e6;
  if (bandwidth < o.least_bandwidth)
    std::snprintf(text, sizeof text, "%llu bytes: BW average is %.2f %s, less than %g (-w)",
                  static_cast<unsigned long long>(row.bytes), bandwidth, unit_name(o), o.least_bandwidth);
  else if (rate < o.least_mpps)
    std::snprintf(text, sizeof text, "%llu bytes: MsgRate is %.6f Mpps, less than %g (-y)",
                  static_cast<unsigned long long>(row.bytes), rate, o.least_mpps);
  return text;
}

const char* Report::line() const noexcept {
  return "---------------------------------------------------------------------------------------\n";
}

void Report::waiting(uint16_t port) const {
  if (options_.output == Output::report)
    std::fputs(
        "\n************************************\n* Waiting for client to connect... *\n"
        "************************************\n",
        to_);
  if (options_.port == 0) item(to_, "Port", std::to_string(port));
  std::fflush(to_);
}

void Report::banner(const Setup& s) const {
  if (options_.output != Output::report) return;
  std::fprintf(to_, "%s                    %s Test\n", line(), title_of(options_.tool).c_str());
  item(to_, "Device", s.device);
  item(to_, "Number of qps", std::to_string(options_.qps));
  if (options_.tool.bandwidth()) {
    item(to_, "TX depth", std::to_string(s.depth));
    if (options_.news_every > 1) item(to_, "CQ Moderation", std::to_string(options_.news_every));
    if (options_.post_list > 1) item(to_, "Post List", std::to_string(options_.post_list));
    if (options_.bidirectional) item(to_, "Bidirectional", "ON");
    if (options_.reversed) item(to_, "Reversed", "ON");
  }
  if (options_.rx_depth != 0) item(to_, "RX depth", std::to_string(options_.rx_depth));
  if (options_.warm_up) item(to_, "Warm up", "ON");
  item(to_, "Events", on(options_.events));
  if (options_.validate) item(to_, "Data validation", "ON, and what it takes is in the figures");
  item(to_, "Max inline data", std::to_string(s.inline_bytes) + "[B]");
  item(to_, "rdma_cm QPs", on(options_.verbs.rdma_cm));
  item(to_, "Data ex. method", s.control);
  std::fputs(line(), to_);
  std::fprintf(to_, " local address: %s\n remote address: %s\n%s", s.local.c_str(), s.remote.c_str(), line());
  std::fflush(to_);
}

void Report::columns() const {
  if (options_.output != Output::report) return;
  if (options_.tool.bandwidth()) {
    const char* unit = unit_name(options_);
    std::fprintf(to_, " #bytes     #iterations    BW peak[%s]    BW average[%s]   MsgRate[Mpps]\n", unit,
                 unit);
  } else if (options_.seconds != 0) {
    std::fputs(" #bytes        #iterations       t_avg[usec]    tps average\n", to_);
  } else {
    std::fputs(
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]  "
        " "
        "99% percentile[usec]   99.9% percentile[usec]\n",
        to_);
  }
  std::fflush(to_);
}

// What --output asks for.
void Report::number(const Row& row) const {
  const double value = options_.output == Output::bandwidth ? row.bandwidth.average_Bps / unit_of(options_)
                       : options_.output == Output::message_rate ? row.bandwidth.messages_ps / 1e6
                                                                 : row.latency.average;
  std::fprintf(to_, "%f\n", value);
  std::fflush(to_);
}

void Report::row(const Row& row) const {
  if (options_.output != Output::report) return number(row);
  using Number = unsigned long long;
  const LatencyRow& l = row.latency;
  if (options_.tool.bandwidth()) {
    const double unit = unit_of(options_);
    std::fprintf(to_, " %-10llu %-14llu %-16.2f   %-18.2f  %-.6f\n", Number(row.bytes),
                 Number(row.iterations), row.bandwidth.peak_Bps / unit, row.bandwidth.average_Bps / unit,
                 row.bandwidth.messages_ps / 1e6);
  } else if (options_.seconds != 0) {
    std::fprintf(to_, " %-13llu %-17llu %-14.2f %-.2f\n", Number(row.bytes), Number(row.iterations),
                 l.average, l.per_second);
  } else {
    std::fprintf(to_, " %-6llu %-14llu %-14.2f %-12.2f %-18.2f %-14.2f %-15.2f %-22.2f %-.2f\n",
                 Number(row.bytes), Number(row.iterations), l.min, l.max, l.typical, l.average, l.deviation,
                 l.p99, l.p999);
  }
  std::fflush(to_);
}

void Report::samples(std::vector<int64_t> samples) const {
  if (!options_.histogram && !options_.unsorted) return;
  if (!options_.unsorted) std::sort(samples.begin(), samples.end());
  std::fputs("#, usec\n", to_);
  const double share = share_of(options_.tool.operation);
  for (size_t i = 0; i < samples.size(); i++)
    std::fprintf(to_, "%zu, %g\n", i + 1, double(samples[i]) * share / 1e3);
}

void Report::end(uint64_t wrong) const {
  if (options_.output != Output::report) return;
  std::fputs(line(), to_);
  if (options_.validate)
    std::fprintf(to_, " Wrong bytes     : %llu %s\n", static_cast<unsigned long long>(wrong),
                 wrong == 0 ? "OK" : "FAILED");
  std::fflush(to_);
}

}  // namespace plait::perf::pair
