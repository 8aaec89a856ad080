// What a picture is drawn with: SVG text, colours of chunks, labels.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace plait::documents {

// "#3366aa" of a chunk: hues as far apart as the number of chunks allows, all about equally dark.
std::string colour_of(uint32_t chunk, uint32_t chunks);

// Fit to stand in XML, whatever it is.
std::string escaped(std::string_view text);

class Canvas {
 public:
  template <class... Args>
  Canvas& add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
    return *this;
  }
  // A group with a tooltip, until close().
  void open(std::string_view css_class, std::string_view tooltip) {
    add("<g class=\"{}\"><title>{}</title>", css_class, escaped(tooltip));
  }
  void close() { add("</g>"); }
  // A rounded label around (x, y); filled, or white with a coloured edge.
  void label(double x, double y, std::string_view text, std::string_view colour, bool filled);
  std::string take() { return std::move(out_); }

  // How wide a label with this text is.
  static double width_of(std::string_view text) noexcept { return 10 + 6.2 * double(text.size()); }

 private:
  std::string out_;
};

}  // namespace plait::documents
