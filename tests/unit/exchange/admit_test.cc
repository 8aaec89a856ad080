// Nothing runs that was not proved.
#include <unistd.h>

#include <cstdio>

#include "unit/exchange/sets.h"

namespace plait::collectives::exchange {
namespace {

ProgramSet ring(int n = 3) { return build_set(*find_algorithm(Collective::allreduce, "ring"), n, 0); }

class File {
 public:
  explicit File(const std::string& text) {
    const int fd = ::mkstemp(path_.data());
    EXPECT_GE(fd, 0);
    EXPECT_EQ(::write(fd, text.data(), text.size()), ssize_t(text.size()));
    ::close(fd);
  }
  ~File() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "program.XXXXXX";
};

TEST(Admit, EveryAlgorithmIsWhatTheTableSays) {
  for (const Algorithm& algorithm : algorithms()) {
    for (int n : {2, 3, 5, 8}) {
      if (!algorithm.accepts(n)) continue;
      SCOPED_TRACE(testing::Message() << algorithm.name << " " << name_of(algorithm.collective) << ", " << n);
      ProgramSet set = build_set(algorithm, n, 0);
      for (auto& programs : set.programs) {
        for (Program& p : programs) p.min_credits = 1, p.rank_order = false;
      }
      const auto admitted = admit(std::move(set));
      ASSERT_TRUE(admitted.ok()) << admitted.status().text();
      for (bool in_place : {false, true}) {
        EXPECT_TRUE(admitted->fits(algorithm.collective, n, 0, in_place));
        EXPECT_EQ(admitted->min_credits(in_place), algorithm.min_credits[in_place]);
        // The table says what holds for any number of ranks; a few may keep their order all the same.
        EXPECT_TRUE(admitted->rank_order(in_place) || !algorithm.rank_order);
        EXPECT_EQ(admitted->program(n - 1, in_place).rank, n - 1);
      }
    }
  }
}

TEST(Admit, FitsOneCallOnly) {
  const auto star = admit(build_set(*find_algorithm(Collective::broadcast, "star"), 3, 1));
  ASSERT_TRUE(star.ok());
  EXPECT_TRUE(star->fits(Collective::broadcast, 3, 1, true));
  EXPECT_FALSE(star->fits(Collective::broadcast, 3, 0, true));
  EXPECT_FALSE(star->fits(Collective::broadcast, 4, 1, true));
  EXPECT_FALSE(star->fits(Collective::allreduce, 3, 1, true));
  ProgramSet half = ring();
  half.programs[1].clear();
  const auto out_of_place = admit(std::move(half));
  ASSERT_TRUE(out_of_place.ok());
  EXPECT_TRUE(out_of_place->fits(Collective::allreduce, 3, 2, false));  // there is no root
  EXPECT_FALSE(out_of_place->fits(Collective::allreduce, 3, 0, true));
}

TEST(Admit, NothingAtAll) { expect_refused(admit(ProgramSet{}), "", "a program set without programs"); }

// A program that is well formed and does something else: refused with the line of the step that the proof
// names.
TEST(Admit, NamesTheLine) {
  std::string text = to_json(ring());
  const std::string part =
      "\"src\": \"input[1]\", \"dst\": \"output[1]\"";  // step 1 of rank 0 keeps its own value
  const size_t found = text.find(part);
  ASSERT_NE(found, std::string::npos);
  text.replace(text.rfind("recv_reduce", found), 11, "recv");
  text.replace(text.find(part), part.size(), "\"dst\": \"output[1]\"");
  auto set = from_json(text, "a.json");
  ASSERT_TRUE(set.ok()) << set.status().text();
  const auto refused = admit(std::move(*set));
  ASSERT_FALSE(refused.ok());
  const std::string_view why = refused.status().text();
  EXPECT_EQ(why.substr(0, 7), "a.json:") << why;
  unsigned line = 0, rank = 9, step = 9;
  EXPECT_EQ(std::sscanf(why.data(), "a.json:%u: rank %u step %u", &line, &rank, &step), 3) << why;
  auto again = from_json(text, "a.json");
  EXPECT_EQ(line, again->origin.lines[0][rank][step]);
}

// Each rank passes on what it has received, and neither begins.
TEST(Admit, Deadlocks) {
  ProgramSet set = build_set(*find_algorithm(Collective::allgather, "ring"), 2, 0);
  set.programs[1].clear();
  for (Program& p : set.programs[0]) {
    const uint32_t other = 1 - uint32_t(p.rank);
    p.steps.clear();
    p.steps.push_back({.op = Op::recv, .peer = int32_t(other), .dst = place(Buffer::output, 0), .count = 1});
    p.steps.push_back({.op = Op::send, .peer = int32_t(other), .src = place(Buffer::output, 0), .count = 1});
    ASSERT_EQ(derive_dependencies(p), "");
  }
  expect_refused(admit(std::move(set)), "", "deadlock with 1 credits a stream");
}

TEST(Admit, Files) {
  const File json(to_json(ring())), xml(ring_allreduce(3, 1, 1).text()), blank("  \n"), wrong("{\n}");
  const auto first = admit_file(json.path());
  ASSERT_TRUE(first.ok()) << first.status().text();
  EXPECT_EQ(first->set.name, "ring");
  const auto second = admit_file(xml.path());
  ASSERT_TRUE(second.ok()) << second.status().text();
  EXPECT_EQ(second->set.name, "test");
  expect_refused(admit_file(blank.path()), blank.path() + ":1: ", "not JSON");
  expect_refused(admit_file(wrong.path()), wrong.path() + ":2: ", "without 'variants'");
  expect_refused(admit_file(json.path(), {.bytes = 100}), json.path(), "is longer than 0 MiB");
  expect_refused(admit_file("/nowhere/at.all"), "cannot open /nowhere/at.all", "No such file", Code::system);
  expect_refused(admit_file(testing::TempDir()), testing::TempDir(), "is a folder");
}

TEST(Admit, WritesWhole) {
  const File file("");
  ASSERT_TRUE(write_file(file.path(), "all of it\n").ok());
  const auto text = read_file(file.path(), 100);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "all of it\n");
  EXPECT_FALSE(write_file("/nowhere/at.all", "x").ok());
  EXPECT_FALSE(write_file("/dev/full", "x").ok());
}

}  // namespace
}  // namespace plait::collectives::exchange
