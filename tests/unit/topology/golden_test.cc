// Machines and rooms on record (tests/golden/): all that is said of each, against what stands beside it, so
// that a change of any answer is a diff to read. PLAIT_WRITE_GOLDEN=1 writes what is said now.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "documents/text_file.h"
#include "topology/report.h"
#include "topology/rings.h"
#include "topology/show.h"
#include "topology/trees.h"

namespace plait::topology {
namespace {

constexpr size_t kMostBytes = 1 << 24;

std::string said_of(const Map& map, const std::string& text) {
  std::string said;
  auto section = [&](const std::string& name, const std::string& body) {
    said += "== " + name + "\n" + body;
  };
  if (map.room) section("room", describe(*map.room) + "\n");
  const auto graph = map.graph();
  section("tree", graph.ok() ? show_tree(*graph, 60) : std::string(graph.status().text()) + "\n");
  section("levels", report_levels(map));
  section("nics", report_nics(map));
  const auto fabric = map.fabric();
  if (fabric.ok() && !(fabric->edges().empty() && !fabric->switched)) {
    section("rings", report_rings(map));
    section("trees", report_trees(map));
  }
  if (map.room) section("dims", report_dimensions(map));
  // "golden: place ring 8" in a comment of the file.
  static const std::regex kPlace("golden: place (ring|line|connected|[0-9x]+) ?([0-9]*)");
  for (std::sregex_iterator at(text.begin(), text.end(), kPlace), end; at != end; ++at) {
    const auto job = parse_job((*at)[1].str(), uint32_t(std::atoi((*at)[2].str().c_str())));
    if (!job.ok() || !fabric.ok()) {
      ADD_FAILURE() << (*at)[0];
      continue;
    }
    const Placement p = place(*fabric, *job);
    EXPECT_EQ(p.found ? check_place(*fabric, *job, p.chips) : "", "");
    section("place " + describe(*job), report_place(*fabric, *job, p));
  }
  return said;
}

#ifdef PLAIT_SANITIZED
constexpr uint64_t kTries = 10'000;  // of what was searched above, with all its tries
#else
constexpr uint64_t kTries = 200'000;
#endif

// Whatever the answers are, rings and trees are some.
void check_answers(const Map& map) {
  const auto fabric = map.fabric();
  if (!fabric.ok() || (fabric->edges().empty() && !fabric->switched)) return;
  EXPECT_EQ(check_rings(*fabric, rings(*fabric, kTries).cycles), "");
  EXPECT_EQ(check_trees(*fabric, double_tree(*fabric)), "");
}

TEST(Golden, AllThatIsSaidOfMachines) {
  namespace fs = std::filesystem;
  const bool writes = std::getenv("PLAIT_WRITE_GOLDEN") != nullptr;
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(PLAIT_GOLDEN)) {
    if (entry.path().extension() == ".expected") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto text = documents::read_file(entry.path(), kMostBytes);
    ASSERT_TRUE(text.ok()) << text.status().text();
    const auto map = read_map(*text, entry.path().filename());
    ASSERT_TRUE(map.ok()) << map.status().text();
    const std::string expected = entry.path().string() + ".expected", said = said_of(*map, *text);
    check_answers(*map);
    count++;
    if (writes) {
      ASSERT_TRUE(documents::write_file(expected, said).ok());
      continue;
    }
    const auto before = documents::read_file(expected, kMostBytes);
    ASSERT_TRUE(before.ok()) << before.status().text();
    EXPECT_EQ(said, *before);
  }
  EXPECT_GE(count, 15u);
}

}  // namespace
}  // namespace plait::topology
