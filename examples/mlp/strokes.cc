#include "mlp/strokes.h"

#include <algorithm>
#include <cmath>

#include "mlp/random.h"

namespace mlp {
namespace {

struct Point {
  float x, y;
};
using Line = std::vector<Point>;

constexpr size_t kSide = 12;

// The digits, y downwards, around (0, 0).
const std::vector<Line> kFigures = {
    {{0, -.8f}, {-.45f, -.45f}, {-.45f, .45f}, {0, .8f}, {.45f, .45f}, {.45f, -.45f}, {0, -.8f}},
    {{-.3f, -.45f}, {.1f, -.8f}, {.1f, .8f}},
    {{-.45f, -.5f}, {0, -.8f}, {.45f, -.45f}, {-.45f, .8f}, {.5f, .8f}},
    {{-.45f, -.7f}, {.1f, -.8f}, {.4f, -.4f}, {-.1f, -.05f}, {.45f, .4f}, {0, .8f}, {-.45f, .65f}},
    {{.2f, .8f}, {.2f, -.8f}, {-.5f, .3f}, {.5f, .3f}},
    {{.4f, -.8f}, {-.4f, -.8f}, {-.4f, -.1f}, {.2f, -.15f}, {.45f, .3f}, {.1f, .8f}, {-.45f, .7f}},
    {{.3f, -.8f}, {-.3f, -.2f}, {-.4f, .4f}, {0, .8f}, {.4f, .4f}, {.1f, 0}, {-.35f, .2f}},
    {{-.45f, -.8f}, {.45f, -.8f}, {-.1f, .8f}},
    {{0, -.05f},
     {-.35f, -.45f},
     {0, -.8f},
     {.35f, -.45f},
     {0, -.05f},
     {-.4f, .4f},
     {0, .8f},
     {.4f, .4f},
     {0, -.05f}},
    {{.35f, -.3f}, {-.1f, 0}, {-.4f, -.4f}, {0, -.8f}, {.35f, -.5f}, {.3f, .1f}, {-.1f, .8f}},
};

// How far `p` is from the stroke between two points.
float distance(Point p, Point from, Point to) {
  const float dx = to.x - from.x, dy = to.y - from.y;
  const float along = ((p.x - from.x) * dx + (p.y - from.y) * dy) / (dx * dx + dy * dy + 1e-9f);
  const float at = std::clamp(along, 0.0f, 1.0f);
  return std::hypot(p.x - from.x - at * dx, p.y - from.y - at * dy);
}

Line shaken(Line line, Random& random) {
  const float turn = 0.15f * random.normal(), shear = 0.15f * random.normal();
  const float width = random.uniform(0.7f, 1.1f), height = random.uniform(0.75f, 1.05f);
  const Point shift = {0.1f * random.normal(), 0.1f * random.normal()};
  for (Point& p : line) {
    const float x = width * (p.x + 0.08f * random.normal()) + shear * p.y;
    const float y = height * (p.y + 0.08f * random.normal());
    p = {std::cos(turn) * x - std::sin(turn) * y + shift.x,
         std::sin(turn) * x + std::cos(turn) * y + shift.y};
  }
  return line;
}

// One image, behind those in `ink`.
void draw(const Line& line, Random& random, std::vector<float>& ink) {
  const float pen = random.uniform(0.08f, 0.2f), edge = 0.12f, noise = 0.15f;
  for (size_t i = 0; i < kSide * kSide; ++i) {
    const auto place = [](size_t at) { return (static_cast<float>(at) + 0.5f) * 2 / kSide - 1; };
    float nearest = 9;
    for (size_t k = 1; k < line.size(); ++k)
      nearest = std::min(nearest, distance({place(i % kSide), place(i / kSide)}, line[k - 1], line[k]));
    ink.push_back(std::clamp((pen + edge - nearest) / edge, 0.0f, 1.0f) + noise * random.normal());
  }
}

}  // namespace

Images draw_strokes(size_t count, uint64_t seed) {
  Random random(seed);
  Images images;
  images.pixels = kSide * kSide;
  images.ink.reserve(count * images.pixels);
  for (size_t i = 0; i < count; ++i) {
    const size_t digit = i % kFigures.size();
    draw(shaken(kFigures[digit], random), random, images.ink);
    images.shown.push_back(static_cast<uint8_t>(digit));
  }
  return images;
}

}  // namespace mlp
