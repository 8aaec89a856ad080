// Helpers of the tests: programs of all ranks, from the table or from a function.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/machine/symbolic.h"

namespace plait::collectives {

inline const Algorithm& algorithm(Collective collective, std::string_view name) {
  const Algorithm* found = find_algorithm(collective, name);
  if (found == nullptr) throw std::invalid_argument(std::string(name));
  return *found;
}

inline std::vector<Program> programs_of(const Algorithm& algorithm, int n, bool in_place, int root = 0) {
  std::vector<Program> programs;
  programs.reserve(size_t(n));
  for (int r = 0; r < n; r++) programs.push_back(algorithm.build(n, r, root, in_place));
  return programs;
}

// Programs of `collective`, as `append` writes them.
using Append = std::function<void(Builder& b, const Group& g)>;
inline std::vector<Program> programs_of(Collective collective, int n, uint32_t chunks, bool in_place,
                                        const Append& append) {
  std::vector<Program> programs;
  for (int r = 0; r < n; r++) {
    Builder b(collective, n, r, 0, chunks);
    append(b, world(n, r));
    auto program = b.finish(in_place);
    EXPECT_TRUE(program.ok()) << program.status().text();
    if (program.ok()) programs.push_back(std::move(*program));
  }
  return programs;
}

// That the programs are refused with a sentence that holds each of `parts`.
inline void expect_refused(const Proof& proof, std::initializer_list<std::string_view> parts) {
  ASSERT_FALSE(proof.status.ok());
  for (std::string_view part : parts) {
    EXPECT_NE(proof.status.text().find(part), std::string_view::npos)
        << proof.status.text() << "\nlacks: " << part;
  }
}

inline std::string text_of(const Program& program) {
  std::string text;
  for (const Step& step : program.steps) text += describe(step) + "\n";
  return text;
}

}  // namespace plait::collectives
