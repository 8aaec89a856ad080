// Figures, the table and the JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "perf/pair/report.h"
#include "perf/pair/statistics.h"

namespace plait::perf::pair {
namespace {

TEST(PairLatency, OfKnownSamples) {
  std::vector<int64_t> samples;
  for (int64_t i = 1000; i >= 1; i--) samples.push_back(i * 1000);
  const LatencyRow row = latency_of(samples, 0.5);
  EXPECT_DOUBLE_EQ(row.min, 0.5);
  EXPECT_DOUBLE_EQ(row.max, 500);
  EXPECT_DOUBLE_EQ(row.typical, 250);
  EXPECT_DOUBLE_EQ(row.average, 250.25);
  EXPECT_DOUBLE_EQ(row.p99, 495);
  EXPECT_DOUBLE_EQ(row.p999, 499.5);
  EXPECT_NEAR(row.deviation, 144.34, 0.01);
}

TEST(PairLatency, OfOneSample) {
  std::vector<int64_t> one = {3000};
  const LatencyRow row = latency_of(one, 1);
  EXPECT_DOUBLE_EQ(row.min, 3);
  EXPECT_DOUBLE_EQ(row.p999, 3);
  EXPECT_DOUBLE_EQ(row.deviation, 0);
}

TEST(PairPace, AnEvenStream) {
  Pace pace(4, 0);
  for (int64_t i = 1; i <= 1'000'000; i++) pace.arrived(1, i * 1000);  // a message a microsecond
  const BandwidthRow row = pace.row(100);
  EXPECT_NEAR(row.messages_ps, 1e6, 1);
  EXPECT_NEAR(row.average_Bps, 1e8, 100);
  EXPECT_GE(row.peak_Bps, row.average_Bps);
  EXPECT_LE(row.peak_Bps, 1.001e8);
}

// News of messages come in bursts: the stream is no faster for that.
TEST(PairPace, BurstsOfNewsAreNoPeak) {
  Pace pace(64, 0);
  for (int64_t i = 1; i <= 10'000; i++) pace.arrived(64, i * 64'000 - (i % 2) * 60'000);
  EXPECT_LE(pace.row(1).peak_Bps, 1.07e6);
}

TEST(PairPace, AFasterStretchIsThePeak) {
  Pace pace(4, 0);
  int64_t now = 0;
  for (int i = 0; i < 10'000'000 && now < 1'000'000'000; i++)
    pace.arrived(1, now += now > 400'000'000 && now < 800'000'000 ? 1000 : 2000);
  EXPECT_GT(pace.row(1).peak_Bps, 0.93e6);
  EXPECT_LE(pace.row(1).peak_Bps, 1.001e6);
}

TEST(PairPace, WithoutAPeak) {
  Pace pace(4, 0, false);
  for (int64_t i = 1; i <= 1000; i++) pace.arrived(1, i * 1000);
  EXPECT_EQ(pace.count(), 1000u);
  EXPECT_EQ(pace.row(100).peak_Bps, 0);
  EXPECT_NEAR(pace.row(100).average_Bps, 1e8, 100);
  const BandwidthRow other = {3, 2, 1};
  EXPECT_EQ(together(other, other).peak_Bps, 6);
  EXPECT_EQ(together(other, BandwidthRow()).peak_Bps, 3);
  EXPECT_EQ(together(other, pace.row(100)).peak_Bps, 0) << "of one direction alone it would mislead";
}

TEST(PairPace, NothingArrived) {
  const BandwidthRow row = Pace(8, 5).row(100);
  EXPECT_EQ(row.peak_Bps, 0);
  EXPECT_EQ(row.messages_ps, 0);
}

Options options_of(Tool tool) {
  Options o;
  o.tool = tool;
  o.sizes = {65536};
  return o;
}

Row some_row() {
  Row row;
  row.bytes = 65536;
  row.iterations = 5000;
  row.bandwidth = {2 << 20, 1 << 20, 2.5e6};
  row.latency = {1, 9, 2, 3, 0.5, 7, 8, 1e5};
  return row;
}

std::string printed(const Options& options, const Row& row) {
  char* text = nullptr;
  size_t bytes = 0;
  std::FILE* to = open_memstream(&text, &bytes);
  const Report report(options, to);
  report.columns();
  report.row(row);
  std::fclose(to);
  std::string all(text, bytes);
  std::free(text);
  return all;
}

TEST(PairReport, BandwidthHasTheColumnsOfPerftest) {
  Options o = options_of({Operation::write, Measure::bandwidth});
  EXPECT_EQ(printed(o, some_row()),
            " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
            " 65536      5000           2.00               1.00                2.500000\n");
  o.gbits = true;
  const std::string gbits = printed(o, some_row());
  EXPECT_NE(gbits.find("BW peak[Gb/sec]    BW average[Gb/sec]"), gbits.npos) << gbits;
  EXPECT_NE(gbits.find(" 0.02 "), gbits.npos) << gbits;
}

TEST(PairReport, LatencyHasTheColumnsOfPerftest) {
  const std::string all = printed(options_of({Operation::send, Measure::latency}), some_row());
  EXPECT_EQ(all.substr(0, all.find('\n')),
            " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
            "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]");
  EXPECT_NE(all.find(" 65536  5000           1.00           9.00         2.00               3.00 "), all.npos)
      << all;
}

TEST(PairReport, NothingButANumber) {
  Options o = options_of({Operation::write, Measure::bandwidth});
  o.output = Output::bandwidth;
  EXPECT_EQ(printed(o, some_row()), "1.000000\n");
  o.output = Output::message_rate;
  EXPECT_EQ(printed(o, some_row()), "2.500000\n");
  o = options_of({Operation::read, Measure::latency});
  o.output = Output::latency;
  EXPECT_EQ(printed(o, some_row()), "3.000000\n");
}

TEST(PairReport, LessThanWasAskedForIsSaid) {
  Options o = options_of({Operation::write, Measure::bandwidth});
  EXPECT_EQ(shortfall(o, some_row()), "");
  o.least_bandwidth = 1, o.least_mpps = 2.5;
  EXPECT_EQ(shortfall(o, some_row()), "");
  o.least_mpps = 3;
  EXPECT_EQ(shortfall(o, some_row()), "65536 bytes: MsgRate is 2.500000 Mpps, less than 3 (-y)");
  o.gbits = true;
  EXPECT_EQ(shortfall(o, some_row()), "65536 bytes: BW average is 0.01 Gb/sec, less than 1 (-w)");
}

TEST(PairReport, JsonOfOneSizeAndOfAll) {
  Options o = options_of({Operation::write, Measure::bandwidth});
  auto json =
      nlohmann::json::parse(json_of(o, {"tcp:lo", "TCP, plain", "a", "b\xff", 128, 64}, {some_row()}));
  EXPECT_EQ(json["test_info"]["Device"], "tcp:lo");
  EXPECT_EQ(json["test_info"]["BW_unit"], "MiB/sec");
  EXPECT_EQ(json["results"]["MsgSize"], 65536);
  EXPECT_EQ(json["results"]["BW_peak"], 2.0);
  EXPECT_EQ(json["results"]["BW_average"], 1.0);
  EXPECT_EQ(json["results"]["MsgRate"], 2.5);
  EXPECT_TRUE(json["results"]["wrong_bytes"].is_null());
  o.sizes = {2, 4};
  o.validate = true;
  json = nlohmann::json::parse(json_of(o, {}, {some_row(), some_row()}));
  ASSERT_EQ(json["results"].size(), 2u);
  EXPECT_EQ(json["results"][1]["wrong_bytes"], 0);
  json = nlohmann::json::parse(json_of(options_of({Operation::read, Measure::latency}), {}, {some_row()}));
  EXPECT_EQ(json["results"]["t_typical"], 2.0);
  EXPECT_EQ(json["results"]["percentile_99.9"], 8.0);
}

TEST(PairReport, AFileThatCannotBeWrittenIsNamed) {
  const Status status = write_json("/no/such/folder/x", options_of({}), {}, {});
  EXPECT_NE(status.text().find("/no/such/folder/x"), std::string_view::npos) << status.text();
}

}  // namespace
}  // namespace plait::perf::pair
