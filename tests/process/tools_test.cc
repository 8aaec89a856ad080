// What holds of every tool that is installed: its help, its page of the manual, what completes it, and how it
// answers wrong use.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "support/command.h"

namespace plait::test {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string text_of(const std::string& file) {
  std::ifstream in(required("PLAIT_SOURCE") + "/" + file);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<std::string> tools() {
  const char* paths = std::getenv("PLAIT_TOOLS");
  std::vector<std::string> all;
  std::istringstream in(paths == nullptr ? "" : paths);
  for (std::string path; std::getline(in, path, ':');) all.push_back(path);
  return all;
}

class Tool : public testing::TestWithParam<std::string> {
 protected:
  const std::string name_ = std::filesystem::path(GetParam()).filename();
  bool pair() const { return name_.starts_with("plait_"); }

  static Outcome call(std::vector<std::string> words) {
    words.insert(words.begin(), GetParam());
    return run({words, {}, {"RANK", "WORLD_SIZE", "PLAIT_JOB"}, {}});
  }
  // Those that the help names.
  static std::set<std::string> options() {
    const std::string help = call({"--help"}).out, text = help.substr(0, help.find("Examples:"));
    const std::regex option("(?:^|[ ,(\\n])(--[A-Za-z][A-Za-z_-]*|-[A-Za-z](?![A-Za-z0-9]))");
    std::set<std::string> all;
    for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at)
      all.insert((*at)[1]);
    return all;
  }
  // The page, as it reads.
  std::string page() const {
    std::string text = text_of("man/" + name_ + ".1");
    if (text.starts_with(".so man1/")) {
      std::istringstream words(text.substr(9));
      std::string other;
      words >> other;
      text = text_of("man/" + other);
    }
    text = std::regex_replace(text, std::regex("\\\\f[A-Z]"), " ");
    text = std::regex_replace(text, std::regex("\n\\.B[IR]? "), "\n");
    std::erase(text, '\\');
    return text;
  }
  // Says what is wrong, and where there is help.
  void expect_refused(const std::vector<std::string>& words, const std::string& part) const {
    const Outcome o = call(words);
    EXPECT_TRUE(o.status == 1 || o.status == 2) << o.status;
    EXPECT_EQ(o.out, "");
    EXPECT_TRUE(o.err.starts_with(name_ + ": ")) << o.err;
    EXPECT_TRUE(contains(o.err, part)) << o.err;
    EXPECT_TRUE(contains(o.err, "\nTry: " + name_ + " --help\n")) << o.err;
  }
};

TEST_P(Tool, HelpFitsAScreenAndShowsThreeExamples) {
  const Outcome o = call({"--help"});
  EXPECT_EQ(o.status, 0) << o.err;
  const auto all = lines(o.out);
  EXPECT_LE(all.size(), 40u);
  int examples = 0;
  for (const std::string& line : all) {
    EXPECT_LE(line.size(), 100u) << line;
    examples += line.starts_with("  ") && contains(line, name_ + " ") ? 1 : 0;
  }
  EXPECT_GE(examples, 3) << o.out;
}

TEST_P(Tool, ThePageHasEveryOptionOfTheHelp) {
  const std::string text = page();
  for (const char* section :
       {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES", "SEE ALSO"})
    EXPECT_TRUE(contains(text, std::string("\n.SH ") + section + "\n")) << section;
  EXPECT_TRUE(contains(text, name_)) << text;
  const auto all = options();
  EXPECT_GE(all.size(), 2u);
  for (const std::string& option : all)
    EXPECT_TRUE(std::regex_search(text, std::regex("[^A-Za-z_-]" + option + "(?![A-Za-z_-])"))) << option;
}

TEST_P(Tool, EveryOptionOfTheHelpIsCompleted) {
  const std::string script = "source \"$PLAIT_SOURCE/packaging/completions/" +
                             std::string(pair() ? "plait_write_bw" : "plait-run") + "\"; " +
                             (pair() ? "_plait_pair " : "_plait_tool ") + GetParam() +
                             " - x; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const Outcome o = run({{"bash", "-c", script}, {}, {}, {}});
  const auto completed = lines(o.out);
  const std::set<std::string> known(completed.begin(), completed.end());
  for (const std::string& option : options())
    EXPECT_TRUE(known.contains(option) || (pair() && (option == "-h" || option == "-V"))) << option << o.err;
}

TEST_P(Tool, AnUnknownOptionIsNamed) {
  std::vector<std::string> words = {"--nonsense"};
  if (name_ == "icl-info") words = {"emu:/x", "--nonsense"};
  if (name_ == "icl-ping") words = {"emu:/x", "0", "1", "--nonsense"};
  expect_refused(words, "--nonsense");
}

// An option with a number, where the tool has one.
TEST_P(Tool, ANumberThatIsNoneIsNamed) {
  for (const char* option : {"-n", "--timeout", "--rank"})
    if (options().contains(option)) {
      std::vector<std::string> words = {option, "xyz"};
      if (name_ == "icl-ping") words.insert(words.begin(), {"emu:/x", "0", "1"});
      expect_refused(words, "xyz");
    }
}

// But where that is a use: a server that waits, or the map of this machine.
TEST_P(Tool, WithoutWordsItSaysWhatIsMissing) {
  if (pair() || name_ == "plait-topo") return;
  expect_refused({}, "");
}

INSTANTIATE_TEST_SUITE_P(All, Tool, testing::ValuesIn(tools()), [](const auto& one) {
  std::string name = std::filesystem::path(one.param).filename();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace plait::test
