// Both sides in one process, over domains that spoil bytes: what is wrong is counted, and nothing else is.
#include "perf/pair/measure.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "transport/hooks/fault.h"
#include "transport/tcp/tcp.h"

namespace plait::perf::pair {
namespace {

using transport::hooks::Fault;
using transport::hooks::FaultDomain;
using transport::hooks::FaultPlan;

std::unique_ptr<transport::Domain> domain(uint64_t spoiled) {
  transport::tcp::Options options;
  options.addresses = {*parse_ip("127.0.0.1")};
  FaultPlan plan;
  if (spoiled != 0) plan.rules.push_back({.fault = Fault::corrupt, .nth = spoiled});
  return std::make_unique<FaultDomain>(std::move(transport::tcp::make_domain(options).value()), plan);
}

Result<Row> side(const Options& options, Control& control, uint64_t spoiled) {
  auto session = Session::open(options, domain(spoiled), false, control);
  if (!session.ok()) return session.status();
  Result<Row> last = Status(Code::state, "");
  for (const size_t bytes : options.sizes) {
    if (options.warm_up) {
      const Length length = warm_up_of(**session);
      const Status warm = options.tool.bandwidth() ? measure_bandwidth(**session, bytes, length, {}).status()
                                                   : measure_latency(**session, bytes, length).status();
      if (!warm.ok()) return warm;
    }
    if (options.tool.bandwidth()) {
      last = measure_bandwidth(**session, bytes, length_of(options), [](const Row&) { return Status(); });
    } else {
      auto measured = measure_latency(**session, bytes, length_of(options));
      if (!measured.ok()) return measured.status();
      last = measured->row;
    }
    if (!last.ok()) return last;
  }
  const Status parted = (*session)->part();
  return parted.ok() ? last : parted;
}

struct Both {
  Result<Row> server = Status(Code::state, ""), client = Status(Code::state, "");
};

// `spoiled`: this transfer of the client's; 0: none.
Both measure(Options options, uint64_t spoiled) {
  Both both;
  std::promise<uint16_t> listening;
  auto port = listening.get_future();
  std::thread server([&] {
    auto control = Control::serve(0, {}, 20, [&](uint16_t p) { listening.set_value(p); });
    if (control.ok() && (*control)->greet(hello_of(options, "tcp", "tcp"), 20).ok())
      both.server = side(options, **control, 0);
  });
  auto control = Control::dial("127.0.0.1", port.get(), {}, 20);
  if (control.ok() && (*control)->greet(hello_of(options, "tcp", "tcp"), 20).ok())
    both.client = side(options, **control, spoiled);
  server.join();
  return both;
}

Options options_of(Operation operation, Measure measure) {
  Options o;
  o.tool = {operation, measure};
  o.sizes = {2, 3000, 70000};
  o.iterations = 50;
  o.depth = o.tool.bandwidth() ? 8 : 1;
  o.validate = true;
  o.timeout_s = 20;
  return o;
}

class Measured : public testing::TestWithParam<std::tuple<Operation, Measure>> {};

TEST_P(Measured, SoundBytesAreSound) {
  Options o = options_of(std::get<0>(GetParam()), std::get<1>(GetParam()));
  if (o.tool.bandwidth()) o.qps = 3, o.post_list = 2, o.bidirectional = true;
  const Both both = measure(o, 0);
  ASSERT_TRUE(both.server.ok() && both.client.ok())
      << both.server.status().text() << " / " << both.client.status().text();
  EXPECT_EQ(both.client->wrong, 0u);
  EXPECT_EQ(both.client->iterations, o.iterations * o.qps);
  EXPECT_EQ(both.client->bytes, 70000u);
  if (o.tool.bandwidth()) {
    EXPECT_EQ(encode(*both.client), encode(*both.server));
  }
}

TEST_P(Measured, ForATime) {
  Options o = options_of(std::get<0>(GetParam()), std::get<1>(GetParam()));
  o.seconds = 1;
  o.events = true;
  o.sizes = {70000};
  const Both both = measure(o, 0);
  ASSERT_TRUE(both.server.ok() && both.client.ok())
      << both.server.status().text() << " / " << both.client.status().text();
  EXPECT_GT(both.client->iterations, 0u);
  EXPECT_EQ(both.client->wrong, 0u);
}

TEST_P(Measured, ReversedAndWarm) {
  Options o = options_of(std::get<0>(GetParam()), std::get<1>(GetParam()));
  o.reversed = o.tool.bandwidth();
  o.warm_up = o.no_peak = true;
  o.rx_depth = 3;
  const Both both = measure(o, 0);
  ASSERT_TRUE(both.server.ok() && both.client.ok())
      << both.server.status().text() << " / " << both.client.status().text();
  EXPECT_EQ(both.client->iterations, o.iterations);
  EXPECT_EQ(both.client->wrong, 0u);
  EXPECT_EQ(both.client->bandwidth.peak_Bps, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Measured,
                         testing::Combine(testing::Values(Operation::write, Operation::read, Operation::send),
                                          testing::Values(Measure::bandwidth, Measure::latency)),
                         [](const auto& one) {
                           return name_of({std::get<0>(one.param), std::get<1>(one.param)}).substr(6);
                         });

// However many tell together, lists are posted together, or messages are checked: all of them arrive.
TEST(PairMoments, WritesThatTellTogether) {
  for (const bool validate : {false, true})
    for (const uint32_t seconds : {0u, 1u})
      for (const auto& [every, list] : {std::pair(7u, 1u), {8u, 1u}, {8u, 8u}, {5u, 3u}}) {
        if (seconds != 0 && every != 7) continue;
        Options o = options_of(Operation::write, Measure::bandwidth);
        o.sizes = {3000};
        o.validate = validate, o.seconds = seconds, o.news_every = every, o.post_list = list, o.qps = 2;
        const Both both = measure(o, 0);
        ASSERT_TRUE(both.server.ok() && both.client.ok())
            << both.server.status().text() << " / " << both.client.status().text();
        if (seconds == 0) {
          EXPECT_EQ(both.client->iterations, 100u) << every << "/" << list;
        }
        EXPECT_EQ(both.client->wrong, 0u);
      }
}

// (Of sends, a spoiled transfer may be one of the link's own.)
TEST(PairSpoiled, AByteIsCountedOnBothSides) {
  for (const Operation operation : {Operation::write, Operation::read})
    for (const Measure measured : {Measure::bandwidth, Measure::latency}) {
      Options o = options_of(operation, measured);
      o.sizes = {5000};
      const Both both = measure(o, 20);
      ASSERT_TRUE(both.server.ok() && both.client.ok())
          << both.server.status().text() << " / " << both.client.status().text();
      EXPECT_EQ(both.client->wrong, 1u) << name_of(o.tool);
      EXPECT_EQ(both.server->wrong, 1u) << name_of(o.tool);
    }
}

TEST(PairPattern, EveryByteCounts) {
  Bytes bytes(1003);
  fill(bytes, 3, 7);
  EXPECT_EQ(count_wrong(bytes, 3, 7), 0u);
  EXPECT_GT(count_wrong(bytes, 3, 8), 900u);
  EXPECT_GT(count_wrong(bytes, 2, 7), 900u);
  for (size_t i = 0; i < bytes.size(); i++) {
    bytes[i] ^= std::byte(1);
    EXPECT_EQ(count_wrong(bytes, 3, 7), 1u) << i;
    bytes[i] ^= std::byte(1);
  }
  EXPECT_GT(count_wrong(Bytes(1003), 3, 7), 900u);
}

}  // namespace
}  // namespace plait::perf::pair
