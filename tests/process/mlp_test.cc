// examples/mlp: several processes train what one alone does, and --deterministic keeps its promise.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "process/perf.h"

namespace plait::test {
namespace {

const Words kSmall = {"--hidden", "48,24", "--epochs", "4"};

Outcome train_alone(const Words& words) {
  return run({Words{required("PLAIT_MLP")} + words, {}, {"RANK", "WORLD_SIZE", "PLAIT_JOB"}, {}});
}

Outcome train(int ranks, const Words& words) {
  return run(
      {Words{required("PLAIT_RUN"), "--no-prefix", "-n", std::to_string(ranks), required("PLAIT_MLP")} +
           words,
       {},
       {},
       {}},
      120);
}

// Of each epoch.
std::vector<double> losses(const std::string& out) {
  std::vector<double> all;
  for (const std::string& line : lines(out)) {
    const size_t at = line.find("loss ");
    if (at != std::string::npos) all.push_back(strtod(line.c_str() + at + 5, nullptr));
  }
  return all;
}

nlohmann::json read(const Folder& folder) {
  std::ifstream file(folder.file());
  return nlohmann::json::parse(file, nullptr, false);
}

TEST(Mlp, LearnsAndIsTheSameEveryTime) {
  const Words words = kSmall + Words{"--deterministic"};
  const Outcome first = train(2, words);
  ASSERT_EQ(first.status, 0) << first.err;
  const std::vector<double> loss = losses(first.out);
  ASSERT_EQ(loss.size(), 4u) << first.out;
  for (size_t i = 1; i < loss.size(); ++i) EXPECT_LT(loss[i], loss[i - 1]);
  EXPECT_LT(loss.back(), loss.front() / 3);
  EXPECT_TRUE(contains(first.out, "loss 0x1.")) << first.out;

  for (const Words& algorithm :
       {Words{}, Words{"--algorithm", "direct"}, Words{"--algorithm", "all_to_all"}}) {
    const Outcome again = train(2, words + algorithm);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(again.out, first.out);
  }
  EXPECT_NE(train(2, words + Words{"--seed", "2"}).out, first.out);
}

// Ranks share the same batches out: sums are formed in another order, and nothing else differs.
TEST(Mlp, SeveralProcessesTrainWhatOneDoes) {
  const Outcome one = train_alone(kSmall);
  ASSERT_EQ(one.status, 0) << one.err;
  const std::vector<double> expected = losses(one.out);
  ASSERT_EQ(expected.size(), 4u) << one.out;
  for (int ranks : {2, 4}) {
    const Outcome several = train(ranks, kSmall);
    ASSERT_EQ(several.status, 0) << several.err;
    const std::vector<double> loss = losses(several.out);
    ASSERT_EQ(loss.size(), expected.size()) << several.out;
    for (size_t i = 0; i < loss.size(); ++i) EXPECT_NEAR(loss[i], expected[i], 1e-3 * expected[i]) << i;
  }
}

TEST(Mlp, WritesItsResult) {
  const Folder folder;
  const Outcome o = train(2, kSmall + Words{"--out", folder.file()});
  ASSERT_EQ(o.status, 0) << o.err;
  const nlohmann::json result = read(folder);
  EXPECT_EQ(result["ranks"], 2);
  EXPECT_EQ(result["parameters"], 65 * 48 + 49 * 24 + 25 * 10);
  EXPECT_EQ(result["steps"], 4 * (1198 / 64));
  EXPECT_EQ(result["codec"]["calls"], 0);
  ASSERT_EQ(result["epochs"].size(), 4u);
  const auto& last = result["epochs"][3];
  EXPECT_NEAR(last["loss"].get<double>(), losses(o.out).back(), 1e-5);
  EXPECT_GT(last["accuracy"].get<double>(), 0.8);
  EXPECT_LE(last["accuracy"].get<double>(), 1.0);
  EXPECT_LE(last["waited"].get<double>(), last["seconds"].get<double>());
}

// It learns about as well from about a quarter of the bytes.
TEST(Mlp, TrainsWithACodec) {
  const Folder folder;
  const Outcome plain = train(2, kSmall),
                coded = train(2, kSmall + Words{"--codec", "int8:use=always", "--out", folder.file()});
  ASSERT_EQ(plain.status, 0) << plain.err;
  ASSERT_EQ(coded.status, 0) << coded.err;
  EXPECT_NE(coded.out, plain.out);
  EXPECT_NEAR(losses(coded.out).back(), losses(plain.out).back(), 0.1 * losses(plain.out).back());
  const nlohmann::json codec = read(folder)["codec"];
  EXPECT_EQ(codec["calls"], 6 * 4 * (1198 / 64));
  EXPECT_EQ(codec["plain_calls"], 0);
  EXPECT_LT(3 * codec["wire_bytes"].get<double>(), codec["value_bytes"].get<double>());
}

TEST(Mlp, SaysWhatItCannotDo) {
  const auto refused = [](const Outcome& o, const std::string& why) {
    EXPECT_NE(o.status, 0);
    EXPECT_TRUE(contains(o.err, why)) << o.err;
  };
  refused(train(2, {"--batch", "63"}), "--batch 63 is no multiple of the number of ranks");
  refused(train(2, kSmall + Words{"--codec", "no_such_codec"}), "plait_plan_allreduce");
  refused(train(2, kSmall + Words{"--algorithm", "no_such_algorithm"}), "no_such_algorithm");
  refused(train_alone({"--batch", "2000"}), "more than there are training images");
  refused(train_alone({"--hidden", "4,,3"}), "--hidden");
  refused(train_alone({"--data", "faces"}), "there are digits and strokes");
  refused(train_alone({"--epochs"}), "--epochs needs a value");
  refused(train_alone({"--speed", "1"}), "--speed: no such option");
}

// compare.py runs all of it in a network of its own, and makes a table and a picture.
TEST(Mlp, CodecsAreCompared) {
  if (run({{"unshare", "--net", "ip", "link"}, {}, {}, {}}).status != 0)
    GTEST_SKIP() << "network namespaces cannot be made here";
  char name[] = "/tmp/plait-mlp-test-XXXXXX";
  const std::string folder = mkdtemp(name);
  const Outcome o = run({{"python3", required("PLAIT_MLP_COMPARE"), "--mlp", required("PLAIT_MLP"), "--run",
                          required("PLAIT_RUN"), "--out", folder, "--hidden", "48", "--epochs", "2",
                          "--seeds", "2", "--codecs", "int8;no_such_codec"},
                         {{"PYTHONDONTWRITEBYTECODE", "1"}},
                         {},
                         {}},
                        120);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "\n| none | ")) << o.out;
  EXPECT_TRUE(contains(o.out, "\n| `int8` | ")) << o.out;
  EXPECT_TRUE(contains(o.out, "no codec \"no_such_codec\"")) << o.out;
  std::ifstream picture(folder + "/curves.svg");
  const std::string svg(std::istreambuf_iterator<char>(picture), {});
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << svg;
  EXPECT_TRUE(contains(svg, ">int8</text>") && !contains(svg, "no_such_codec")) << svg;
  std::filesystem::remove_all(folder);
}

TEST(Mlp, Help) { expect_help(train_alone({"--help"}), "mlp", 1); }

}  // namespace
}  // namespace plait::test
