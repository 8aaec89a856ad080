// What the tests of plait-perf share: it runs under plait-run or alone, and its table is cut into words.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <vector>

#include "support/command.h"

namespace plait::test {

using Words = std::vector<std::string>;

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Outcome alone(const Words& words) {
  return run({Words{required("PLAIT_PERF")} + words, {}, {"RANK", "WORLD_SIZE", "PLAIT_JOB"}, {}});
}

inline Outcome ranks(int n, const Words& words) {
  return run(
      {Words{required("PLAIT_RUN"), "--no-prefix", "-n", std::to_string(n), required("PLAIT_PERF")} + words,
       {},
       {},
       {}},
      120);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The rows of the table, cut into words.
inline std::vector<Words> rows(const std::string& out) {
  std::vector<Words> all;
  for (const std::string& line : lines(out)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    all.push_back(words);
  }
  return all;
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/plait-perf-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() {
    unlink(file().c_str());
    rmdir(path_.c_str());
  }
  std::string file() const { return path_ + "/rows.json"; }

 private:
  std::string path_;
};

inline const Words kShort = {"-n", "2", "-w", "1"};

}  // namespace plait::test
