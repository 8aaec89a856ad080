// What the command line asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mlp {

struct Options {
  std::string data = "digits";
  std::vector<size_t> hidden = {1024, 1024};
  size_t epochs = 10;
  size_t batch = 64;  // samples of a step, of all ranks together
  uint64_t seed = 1;
  float rate = 0.05f, momentum = 0.9f;
  std::string codec;      // of the gradients; empty: none
  std::string algorithm;  // of the allreduce; empty: plait chooses
  bool deterministic = false;
  std::string out;  // where the result goes as JSON; empty: nowhere
};

// Ends the program after --help, and with a sentence when an option makes no sense.
Options parse(int argc, char** argv);

}  // namespace mlp
