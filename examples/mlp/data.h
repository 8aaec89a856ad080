// Images and what they show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mlp {

struct Images {
  size_t pixels = 0;           // of an image
  std::vector<float> ink;      // of each pixel, 0 to about 1, image by image
  std::vector<uint8_t> shown;  // the class of each

  size_t count() const { return shown.size(); }
  const float* image(size_t i) const { return &ink[i * pixels]; }
};

struct Data {
  size_t classes = 10;
  Images train, test;
};

// "digits": 1797 handwritten digits, every third for the test. "strokes": 12,000 generated ones, and 10,000
// for the test, so that half a point of accuracy shows. Ends the program with a sentence when there is no
// such set.
Data load(const std::string& name);

}  // namespace mlp
