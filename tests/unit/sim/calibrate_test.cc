// Calibration: what is put into synthetic measurements comes out of them.
#include "sim/calibrate.h"

#include <cmath>
#include <random>

#include "rooms.h"
#include "sim/least_squares.h"

namespace plait::sim {
namespace {

using collectives::Collective;

std::vector<Measured> sizes_of(Collective collective, const char* way, int32_t ranks, uint64_t most) {
  std::vector<Measured> rows;
  for (uint64_t bytes = 8; bytes <= most; bytes *= 2)
    rows.push_back({collective, ranks, 0, bytes, way, true, 1});
  return rows;
}
std::vector<Measured> calls(int32_t ranks, uint64_t most) {
  std::vector<Measured> rows;
  for (const char* way : {"ring", "direct"})
    for (Measured& m : sizes_of(Collective::allreduce, way, ranks, most)) rows.push_back(std::move(m));
  for (Measured& m : sizes_of(Collective::broadcast, "star", ranks, most)) rows.push_back(std::move(m));
  return merged(std::move(rows));
}

// Gives rows the times that they have in a room, up to `noise` longer.
void measure(const Plan& plan, const Parameters& p, double noise, unsigned seed,
             std::vector<Measured>& rows) {
  const auto held = foretell(plan, p, rows);
  ASSERT_TRUE(held.ok()) << held.status().text();
  std::mt19937 random(seed);
  for (size_t i = 0; i < rows.size(); i++) {
    const double share = double(random() >> 1) * 0x1p-31;
    rows[i].seconds = (*held)[i].seconds * (1 + noise * share);
  }
}

Parameters ends() {
  Parameters p = default_parameters();
  p.hop = 0;
  p.endpoint.send = p.endpoint.recv = 3e-6;
  p.endpoint.send_byte = p.endpoint.recv_byte = 1e-10;
  p.endpoint.fold = 8e-11, p.endpoint.copy = 5e-11;
  return p;
}

TEST(Calibration, FindsWhatWasPutIn) {
  for (const char* text : {"2 hosts x 1 nics 1Gb/s 20us", "full 2 1Gb/s 40us"}) {
    auto rows = calls(2, 8 << 20);
    measure(plan_of(text), ends(), 0, 1, rows);
    std::string begin = text;  // another rate and latency
    begin = begin.substr(0, begin.find(" 1Gb/s"));
    const auto c = calibrate(plan_of(begin), default_parameters(), rows);
    ASSERT_TRUE(c.ok()) << c.status().text();
    const auto held = errors_of(c->rows, false);
    EXPECT_EQ(held.size(), 30u);
    EXPECT_LT(median(held), 0.01) << text;
    EXPECT_LT(*std::max_element(held.begin(), held.end()), 0.05) << text;
    const auto& room = *c->plan.room;
    const double rate = room.nics_per_host > 0 ? room.nic_bytes_per_s : room.factors[0].bytes_per_s;
    EXPECT_NEAR(rate, 1.25e8, 1.25e8 * 0.05) << text;
    EXPECT_EQ(c->parameters.cache, 0) << text;
  }
}

TEST(Calibration, FindsItBehindNoise) {
  for (unsigned seed = 1; seed <= 3; seed++) {
    auto rows = calls(4, 4 << 20);
    measure(plan_of("4 hosts x 1 nics 1Gb/s 20us"), ends(), 0.2, seed, rows);
    const auto c = calibrate(plan_of("4 hosts x 1 nics"), default_parameters(), rows);
    ASSERT_TRUE(c.ok()) << c.status().text();
    EXPECT_LT(median(errors_of(c->rows, false)), 0.08) << "seed " << seed;
    // A fifth of noise makes all of it a tenth slower.
    EXPECT_NEAR(c->plan.room->nic_bytes_per_s, 1.25e8 / 1.1, 1.25e8 * 0.1) << "seed " << seed;
  }
}

TEST(Calibration, FindsWhereCachesEnd) {
  Parameters p = ends();
  p.cache = double(1 << 19), p.far = 4e-10;
  p.endpoint.send = p.endpoint.recv = 1e-7;
  auto rows = calls(2, 16 << 20);
  measure(plan_of("full 2 20GB/s 200ns"), p, 0.02, 5, rows);
  const auto c = calibrate(plan_of("full 2"), default_parameters(), rows);
  ASSERT_TRUE(c.ok()) << c.status().text();
  EXPECT_GT(c->parameters.cache, 0);
  EXPECT_NEAR(c->parameters.far, p.far, p.far * 0.25);
  EXPECT_LT(median(errors_of(c->rows, false)), 0.05);
}

// What is written and read again is the same room.
TEST(Calibration, RoomsAreWrittenAsTheyWereSimulated) {
  auto rows = calls(2, 1 << 20);
  measure(plan_of("2 hosts x 1 nics 1Gb/s 20us"), ends(), 0.1, 9, rows);
  const auto c = calibrate(plan_of("2 hosts x 1 nics"), default_parameters(), rows);
  ASSERT_TRUE(c.ok()) << c.status().text();
  const auto again = read_plan(topology::write_room(*c->plan.room), "written");
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(*again->room, *c->plan.room);
  Parameters p;
  ASSERT_TRUE(read_parameters(to_json(c->parameters), "written", p).ok());
  const auto held = foretell(*again, p, rows);
  ASSERT_TRUE(held.ok()) << held.status().text();
  for (size_t i = 0; i < rows.size(); i++) EXPECT_EQ((*held)[i].seconds, c->rows[i].seconds);
}

TEST(Calibration, RefusesWhatItCannotFit) {
  auto rows = calls(2, 1 << 10);
  auto why = [&](const char* room) {
    const auto c = calibrate(plan_of(room), default_parameters(), rows);
    return c.ok() ? std::string() : std::string(c.status().text());
  };
  EXPECT_NE(why("2 hosts x 8 chips x 1 nics").find("links of one kind"), std::string::npos);
  EXPECT_NE(why("2 hosts x 8 chips x 1 nics; full 8").find("links of one kind"), std::string::npos);
  rows.back().way = "no such";
  EXPECT_NE(why("full 2").find("no such"), std::string::npos);
  rows.back() = rows.front(), rows.back().ranks = 3;
  EXPECT_NE(why("full 3").find("calibrate each apart"), std::string::npos);
  EXPECT_NE(why("full 1").find("2 ranks were measured"), std::string::npos);
  rows.resize(5);
  EXPECT_NE(why("full 2").find("too few"), std::string::npos);
}

TEST(Measured, RowsOfPlaitPerf) {
  const std::string row =
      R"({"collective":"broadcast","ranks":2,"dtype":"float32","op":null,"root":1,"bytes":64,"count":16,)"
      R"("in_place":false,"algorithm":"star","time_us_median":2.5})";
  auto rows = read_measured("[" + row + "," + row + "]", "rows.json");
  ASSERT_TRUE(rows.ok()) << rows.status().text();
  (*rows)[1].seconds = 7.5e-6;
  const auto one = merged(*rows);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_DOUBLE_EQ(one[0].seconds, 5e-6);
  EXPECT_EQ(one[0].root, 1);
  (*rows)[1].in_place = true;
  EXPECT_DOUBLE_EQ(merged(*rows)[0].seconds, 7.5e-6);
  for (const char* change : {"\"ranks\":2|\"ranks\":0", "\"root\":1|\"root\":2", "2.5|-1", "2.5|\"x\"",
                             "\"bytes\":64|\"bytes\":-1", "broadcast|gatherv", "\"star\"|null"}) {
    const std::string words = change, from = words.substr(0, words.find('|')),
                      to = words.substr(from.size() + 1);
    std::string broken = row;
    broken.replace(broken.find(from), from.size(), to);
    const auto refused = read_measured("[" + row + "," + broken + "]", "rows.json");
    ASSERT_FALSE(refused.ok()) << broken;
    EXPECT_EQ(refused.status().text().find("rows.json: row 2: "), 0u) << refused.status().text();
  }
  for (const char* text : {"", "{}", "[]", "[1]", "[{}]"})
    EXPECT_FALSE(read_measured(text, "f").ok()) << text;
}

// Rosenbrock's valley (1960), and a line with an outlier.
TEST(LeastSquares, GoesDownhill) {
  const auto valley = least_squares(
      {-1.2, 1},
      [](const Values& x) {
        return Result<Values>(Values{10 * (x[1] - x[0] * x[0]), 1 - x[0]});
      },
      100, 1e-7, 200);
  ASSERT_TRUE(valley.ok());
  EXPECT_NEAR(valley->at[0], 1, 1e-3);
  EXPECT_NEAR(valley->at[1], 1, 1e-3);
  const auto line = least_squares(
      {0},
      [](const Values& x) {
        Values r;
        for (int i = 1; i <= 9; i++) r.push_back(x[0] * i - (i == 5 ? 1000 : 3 * i));
        return Result<Values>(r);
      },
      0.1);
  ASSERT_TRUE(line.ok());
  EXPECT_NEAR(line->at[0], 3, 0.01);
}

}  // namespace
}  // namespace plait::sim
