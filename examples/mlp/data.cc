#include "mlp/data.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "mlp/strokes.h"

// The build says where the file lies; without it, the program is started beside it.
#ifndef MLP_DIGITS
#define MLP_DIGITS "digits.txt"
#endif

namespace mlp {
namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "mlp: %s\n", why.c_str());
  std::exit(1);
}

constexpr size_t kPixels = 64;
constexpr const char* kLevels = "0123456789abcdefg";

// "7 00004...": the class, then a character a pixel. False: `line` is none.
bool add_image(const std::string& line, Images& images) {
  if (line.size() != 2 + kPixels || line[0] < '0' || line[0] > '9' || line[1] != ' ') return false;
  for (size_t i = 0; i < kPixels; ++i) {
    const size_t level = std::string_view(kLevels).find(line[2 + i]);
    if (level == std::string_view::npos) return false;
    images.ink.push_back(static_cast<float>(level) / 16);
  }
  images.shown.push_back(static_cast<uint8_t>(line[0] - '0'));
  return true;
}

Data digits(const std::string& path) {
  constexpr size_t kTestEvery = 3;
  Data data;
  data.train.pixels = data.test.pixels = kPixels;
  std::ifstream file(path);
  size_t read = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (!add_image(line, ++read % kTestEvery == 0 ? data.test : data.train))
      give_up(path + ": image " + std::to_string(read) + " is none");
  }
  if (data.test.count() == 0)
    give_up(path + ": there are no images; the file lies beside the example's source");
  return data;
}

}  // namespace

Data load(const std::string& name) {
  if (name == "digits") return digits(MLP_DIGITS);
  if (name == "strokes") return {.train = draw_strokes(12000, 1), .test = draw_strokes(10000, 2)};
  give_up("--data " + name + ": there is no such set; there are digits and strokes");
}

}  // namespace mlp
