// SVG: fabrics as dots and lines.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "documents/canvas.h"
#include "topology/picture.h"
#include "topology/show.h"

namespace plait::topology {
namespace {

using documents::Canvas;

// Dots at their coordinates: two dimensions as a grid, a third as grids beside each other; a ring as a
// circle.
class Dots {
 public:
  Dots(const Fabric& f, const std::vector<std::vector<uint32_t>>& rings, const std::vector<uint32_t>& job)
      : f_(f), rings_(rings), job_(job), in_job_(f.chips(), false) {
    for (const uint32_t c : job) in_job_[c] = true;
  }
  std::string run() {
    for (uint32_t c = 0; c < f_.chips(); c++) {
      at_.push_back(point(c));
      w_ = std::max(w_, at_.back().first + 40);
      h_ = std::max(h_, at_.back().second + 40);
    }
    const double height = h_ + 30;
    c_.add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} {1:.0f}\">",
        std::max(w_, 420.0), height);
    c_.add("{}", picture::kStyle);
    c_.add("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
    for (const auto& e : f_.edges()) line(e.a, e.b, "#c4c8cc", 1.5, 0);
    for (size_t k = 0; k < rings_.size(); k++) {
      for (size_t i = 0; i < rings_[k].size(); i++)
        line(rings_[k][i], rings_[k][(i + 1) % rings_[k].size()], documents::colour_of(uint32_t(k), 8), 3.5,
             0);
    }
    for (size_t i = 1; i < job_.size(); i++) job_line(job_[i - 1], job_[i]);
    if (job_.size() > 2) job_line(job_.back(), job_.front());
    for (uint32_t c = 0; c < f_.chips(); c++) dot(c);
    legend(h_ + 8);
    c_.add("</svg>");
    return c_.take();
  }

 private:
  static constexpr double kStep = 54;
  std::pair<double, double> point(uint32_t chip) const {
    const auto& factors = f_.lattice().factors();
    const bool round = factors.size() != 1 ? false : factors[0].kind != FactorKind::line;
    if (round || factors.empty()) {
      const double r = std::max(60.0, kStep * double(f_.chips()) / (2 * std::numbers::pi));
      const double turn = 2 * std::numbers::pi * chip / f_.chips() - std::numbers::pi / 2;
      return {40 + r + r * std::cos(turn), 40 + r + r * std::sin(turn)};
    }
    // The last two dimensions make a grid; those before lay grids side by side and below each other.
    double x = 40, y = 40, wide = kStep, high = kStep;
    for (size_t i = factors.size(), turn = 0; i-- > 0; turn++) {
      const double at = f_.lattice().coordinate(chip, i);
      double& size = turn % 2 == 0 ? wide : high;
      (turn % 2 == 0 ? x : y) += at * size;
      size *= factors[i].size;
      if (turn % 2 == 1) wide += 30, high += 30;
    }
    return {x, y};
  }
  // Links around the edge bow out, those that pass others bow a little.
  void line(uint32_t a, uint32_t b, std::string_view colour, double width, double shift) {
    const auto [ax, ay] = at_[std::min(a, b)];
    const auto [bx, by] = at_[std::max(a, b)];
    const double length = std::hypot(bx - ax, by - ay);
    const bool grid = f_.regular() && f_.lattice().factors().size() > 1;
    const double bow = (grid && length > 1.5 * kStep ? 14 + 0.12 * length : 0) + shift;
    const double mx = (ax + bx) / 2 - bow * (by - ay) / std::max(length, 1.0),
                 my = (ay + by) / 2 + bow * (bx - ax) / std::max(length, 1.0);
    c_.add(
        "<path d=\"M{:.1f} {:.1f} Q{:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"{}\"/>",
        ax, ay, mx, my, bx, by, colour, width);
  }
  void job_line(uint32_t a, uint32_t b) {
    if (f_.joined(a, b)) line(a, b, "#d0402a", 4, 0);
  }
  void dot(uint32_t c) {
    const auto [x, y] = at_[c];
    const std::string_view fill = !f_.up(c)       ? "#fff"
                                  : in_job_[c]    ? "#f2b0a4"
                                  : f_.is_free(c) ? "#cfe8cf"
                                                  : "#c9b49a";
    c_.add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"12\" fill=\"{}\" stroke=\"{}\"{}/>", x, y, fill,
           in_job_[c] ? "#d0402a" : "#667", f_.up(c) ? "" : " stroke-dasharray=\"3 2\"");
    c_.add("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small\" text-anchor=\"middle\">{}</text>", x, y + 3.2, c);
    if (!f_.up(c))
      c_.add(
          "<path d=\"M{0:.1f} {2:.1f} L{1:.1f} {3:.1f} M{0:.1f} {3:.1f} L{1:.1f} {2:.1f}\" stroke=\"#a33\"/>",
          x - 8, x + 8, y - 8, y + 8);
  }
  void legend(double y) {
    double x = 40;
    auto item = [&](std::string_view colour, std::string_view text) {
      c_.add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\" fill=\"{}\" stroke=\"#667\"/>", x, y, colour);
      c_.add("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + 10, y + 4, text);
      x += 30 + 7 * double(text.size());
    };
    item("#cfe8cf", "free");
    item("#c9b49a", "taken");
    item("#fff", "dead");
    if (!job_.empty()) item("#f2b0a4", "the job");
    for (size_t k = 0; k < rings_.size() && k < 8; k++)
      item(documents::colour_of(uint32_t(k), 8), fmt::format("ring {}", k));
  }

  const Fabric& f_;
  const std::vector<std::vector<uint32_t>>& rings_;
  const std::vector<uint32_t>& job_;
  std::vector<bool> in_job_;
  std::vector<std::pair<double, double>> at_;
  double w_ = 0, h_ = 0;
  Canvas c_;
};

}  // namespace

Result<std::string> to_svg(const Fabric& f, const std::vector<std::vector<uint32_t>>& rings,
                           const std::vector<uint32_t>& job) {
  if (f.chips() > kMostDrawn || f.chips() == 0) return picture::too_many(f.chips());
  return Dots(f, rings, job).run();
}

}  // namespace plait::topology
