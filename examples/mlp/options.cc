#include "mlp/options.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace mlp {
namespace {

constexpr const char* kHelp =
    R"(mlp: trains a small network on several processes that average their gradients.

Usage: plait-run -n N mlp [OPTIONS]

  --data SET        digits (8x8, handwritten, the default) or strokes (12x12,
                    generated)
  --hidden N,N...   neurons of each hidden layer (default 1024,1024)
  --epochs N        passes over the training images (default 10)
  --batch N         images of a step, of all processes together (default 64)
  --rate R          learning rate of the first step; falls evenly to 0
                    (default 0.05)
  --momentum M      of the gradient (default 0.9)
  --seed N          of the first weights and the order of images (default 1)
  --codec TEXT      compress gradients: int8, topk:ratio=0.01, ... (default no)
  --algorithm NAME  of the allreduce (default: plait chooses)
  --deterministic   the same bits in every run; losses are hexadecimal
  --out FILE        write losses, accuracy and times there as JSON
  -h, --help        this text

Examples:
  plait-run -n 2 --output 0 mlp --epochs 5
  plait-run -n 4 --output 0 mlp --data strokes --codec int8 --out int8.json
  mlp --hidden 256 --seed 7                      # one process alone
)";

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "mlp: %s; --help lists the options\n", why.c_str());
  std::exit(2);
}

// A number in [least, most] that is all of `text`.
double number(const std::string& option, const std::string& text, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= least && value <= most))
    refuse(option + " " + text + ": not a number that fits");
  return value;
}

size_t whole(const std::string& option, const std::string& text, double most) {
  const double value = number(option, text, 1, most);
  if (value != std::floor(value)) refuse(option + " " + text + ": not a whole number");
  return static_cast<size_t>(value);
}

std::vector<size_t> widths(const std::string& option, const std::string& text) {
  constexpr size_t kMaxLayers = 16;
  std::vector<size_t> all;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    all.push_back(whole(option, text.substr(begin, end - begin), 65536));
    begin = end + 1;
  }
  if (all.size() > kMaxLayers) refuse(option + " " + text + ": more than 16 layers");
  return all;
}

}  // namespace

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) refuse(option + " needs a value");
      return argv[i];
    };
    if (option == "-h" || option == "--help") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    } else if (option == "--data") {
      o.data = value();
    } else if (option == "--hidden") {
      o.hidden = widths(option, value());
    } else if (option == "--epochs") {
      o.epochs = whole(option, value(), 1e6);
    } else if (option == "--batch") {
      o.batch = whole(option, value(), 1e6);
    } else if (option == "--rate") {
      o.rate = static_cast<float>(number(option, value(), 0, 1e3));
    } else if (option == "--momentum") {
      o.momentum = static_cast<float>(number(option, value(), 0, 1));
    } else if (option == "--seed") {
      o.seed = whole(option, value(), 1e15);
    } else if (option == "--codec") {
      o.codec = value();
    } else if (option == "--algorithm") {
      o.algorithm = value();
    } else if (option == "--deterministic") {
      o.deterministic = true;
    } else if (option == "--out") {
      o.out = value();
    } else {
      refuse(option + ": no such option");
    }
  }
  return o;
}

}  // namespace mlp
