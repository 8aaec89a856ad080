#include "documents/canvas.h"

#include <algorithm>
#include <cmath>

namespace plait::documents {

std::string colour_of(uint32_t chunk, uint32_t chunks) {
  // Neighbours in a ring of chunks shall not look alike: few hues, in two shades.
  const uint32_t hues = std::min(chunks, 8u);
  const double hue = std::fmod(214.0 + 360.0 * double(chunk % hues) / double(hues), 360.0);
  const bool yellowish = hue > 40 && hue < 190;  // looks brighter than it is
  const double lightness = (yellowish ? 0.36 : 0.50) - ((chunk / hues) % 2 == 1 ? 0.13 : 0.0),
               saturation = 0.62;
  // From hue, saturation, lightness to red, green, blue.
  auto channel = [&](double offset) {
    const double k = std::fmod(offset + hue / 30.0, 12.0);
    const double value = lightness - saturation * std::min(lightness, 1 - lightness) *
                                         std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    return int(std::lround(255 * value));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(8), channel(4));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 32 ? '?' : c;
    }
  }
  return out;
}

void Canvas::label(double x, double y, std::string_view text, std::string_view colour, bool filled) {
  const double width = width_of(text);
  add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\" rx=\"8\" fill=\"{}\" stroke=\"{}\" "
      "stroke-width=\"1.5\"/>",
      x - width / 2, y - 8, width, filled ? colour : "#fff", colour);
  add("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"label\" style=\"fill:{}\">{}</text>", x, y + 3.8,
      filled ? "#fff" : colour, escaped(text));
}

}  // namespace plait::documents
