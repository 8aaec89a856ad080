#include "perf/plot.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "documents/canvas.h"

namespace plait::perf {
namespace {

using documents::Canvas;

constexpr double kWidth = 470, kHeight = 300;       // of a panel's field
constexpr double kLeft = 64, kTop = 64, kGap = 84;  // around them
constexpr double kLegendLine = 20;

// A logarithmic axis between powers of its base, and where its values lie in `pixels`.
class Axis {
 public:
  Axis(double base, double least, double most, double pixels) : base_(base), pixels_(pixels) {
    first_ = std::floor(std::log(least) / std::log(base) + kSlack);
    last_ = std::max(std::ceil(std::log(most) / std::log(base) - kSlack), first_ + 1);
  }
  double at(double value) const {
    return (std::log(value) / std::log(base_) - first_) / (last_ - first_) * pixels_;
  }
  // As many as there is room for.
  std::vector<double> ticks(double room) const {
    const double each = std::max(1.0, std::ceil((last_ - first_) * room / pixels_));
    std::vector<double> all;
    for (double power = first_; power <= last_; power += each) all.push_back(std::pow(base_, power));
    return all;
  }

 private:
  static constexpr double kSlack = 1e-9;  // logarithms of powers are whole but for this
  double base_, pixels_, first_ = 0, last_ = 1;
};

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{:g}{}", bytes, kUnits[unit]);
}

struct Panel {
  const char* title;
  double Curve::Point::*value;
  const char* unit;
};
constexpr Panel kPanels[] = {{"time of a call (us)", &Curve::Point::us, "us"},
                             {"bus bandwidth (GB/s)", &Curve::Point::bus_GBps, "GB/s"}};

// The least and the most of a value that is above 0; false: there is none.
bool range_of(const std::vector<Curve>& curves, double Curve::Point::*value, double& least, double& most) {
  least = most = 0;
  for (const Curve& curve : curves) {
    for (const Curve::Point& point : curve.points) {
      const double one = point.*value;
      if (!(one > 0)) continue;
      least = least > 0 ? std::min(least, one) : one;
      most = std::max(most, one);
    }
  }
  return most > 0;
}

void draw_axes(Canvas& to, const Panel& panel, const Axis& x, const Axis& y) {
  to.add("<text class=\"title\" x=\"0\" y=\"-14\">{}</text>", panel.title);
  for (double tick : y.ticks(34)) {
    const double at = kHeight - y.at(tick);
    to.add(
        "<path class=\"grid\" d=\"M0 {0:.1f}H{1}\"/><text x=\"-8\" y=\"{2:.1f}\" "
        "text-anchor=\"end\">{3:g}</text>",
        at, kWidth, at + 4, tick);
  }
  for (double tick : x.ticks(42)) {
    const double at = x.at(tick);
    to.add(
        "<path class=\"grid\" d=\"M{0:.1f} 0V{1}\"/><text x=\"{0:.1f}\" y=\"{2}\" "
        "text-anchor=\"middle\">{3}</text>",
        at, kHeight, kHeight + 18, bytes_text(tick));
  }
  to.add("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">bytes</text>", kWidth, kHeight + 34);
}

void draw_curve(Canvas& to, const Panel& panel, const Axis& x, const Axis& y, const Curve& curve,
                const std::string& colour) {
  std::string path;
  for (const Curve::Point& point : curve.points) {
    const double value = point.*panel.value;
    if (!(value > 0)) continue;
    const double at = x.at(point.bytes), height = kHeight - y.at(value);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at, height);
    to.add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}, {} B: {} {}</title></circle>",
           at, height, colour, documents::escaped(curve.name), point.bytes, number(value), panel.unit);
  }
  to.add("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>", path, colour);
}

std::string colour_of(const std::vector<Curve>& curves, size_t i) {
  return documents::colour_of(uint32_t(i), uint32_t(curves.size()));
}

void draw_panel(Canvas& to, const Panel& panel, const std::vector<Curve>& curves) {
  double fewest = 0, most = 0, least = 0, highest = 0;
  if (!range_of(curves, &Curve::Point::bytes, fewest, most)) return;
  if (!range_of(curves, panel.value, least, highest)) return;
  const Axis x(2, fewest, most, kWidth), y(10, least, highest, kHeight);
  draw_axes(to, panel, x, y);
  for (size_t i = 0; i < curves.size(); ++i) draw_curve(to, panel, x, y, curves[i], colour_of(curves, i));
}

void draw_legend(Canvas& to, const std::vector<Curve>& curves) {
  for (size_t i = 0; i < curves.size(); ++i) {
    const double y = double(i) * kLegendLine;
    to.add("<path d=\"M0 {0}H24\" stroke=\"{1}\" stroke-width=\"3\"/><text x=\"32\" y=\"{2}\">{3}</text>", y,
           colour_of(curves, i), y + 4, documents::escaped(curves[i].name));
  }
}

// What tells this row's curve from others'.
std::string name_of(const Row& row, bool several_types, bool several_ops, bool several_roots) {
  std::string name = row.in_place ? "in place" : "out of place";
  if (several_types) name += std::string(", ") + row.dtype->name;
  if (several_ops) name += std::string(", ") + row.op->name;
  if (several_roots) name += ", root " + std::to_string(row.root);
  return name;
}

}  // namespace

std::vector<Curve> curves_of(const std::vector<Row>& rows, const std::string& rival) {
  const auto differ = [&](auto what) {
    return std::ranges::any_of(rows, [&](const Row& row) { return row.*what != rows.front().*what; });
  };
  const bool types = differ(&Row::dtype), ops = differ(&Row::op), roots = differ(&Row::root);
  std::vector<Curve> curves;
  const auto add = [&](const std::string& name, const Row& row, double us, double bus_GBps) {
    auto curve = std::ranges::find(curves, name, &Curve::name);
    if (curve == curves.end()) curve = curves.insert(curves.end(), Curve{name, {}});
    curve->points.push_back({double(row.bytes), us, bus_GBps});
  };
  for (const Row& row : rows) {
    if (row.bytes == 0) continue;
    const std::string name = name_of(row, types, ops, roots);
    add(rival.empty() ? name : "plait, " + name, row, row.median_us, row.bus_GBps());
    if (row.rival_us) add(rival + ", " + name, row, *row.rival_us, row.bus_GBps() / *row.ratio());
  }
  return curves;
}

std::string plot(const std::string& title, const std::vector<Curve>& curves) {
  std::vector<Curve> shown;
  std::ranges::copy_if(curves, std::back_inserter(shown), [](const Curve& c) { return !c.points.empty(); });
  const double width = kLeft + 2 * kWidth + kGap + kLeft / 2;
  const double height = kTop + kHeight + 60 + double(shown.size()) * kLegendLine;
  Canvas to;
  to.add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">",
         width, height);
  to.add(
      "<style>text{{font:12px "
      "sans-serif;fill:#333}}.title{{font-weight:bold}}.grid{{stroke:#ddd;fill:none}}</style>");
  to.add("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>");
  to.add("<text x=\"{}\" y=\"24\" style=\"font-size:15px;font-weight:bold\">{}</text>", kLeft,
         documents::escaped(title));
  double left = kLeft;
  for (const Panel& panel : kPanels) {
    to.add("<g transform=\"translate({} {})\">", left, kTop);
    draw_panel(to, panel, shown);
    to.close();
    left += kWidth + kGap;
  }
  to.add("<g transform=\"translate({} {})\">", kLeft, kTop + kHeight + 54);
  draw_legend(to, shown);
  to.close();
  to.add("</svg>");
  return to.take();
}

bool write_plot(const std::string& path, const std::vector<Row>& rows, const std::string& rival) {
  std::string title;
  if (!rows.empty()) {
    const Row& row = rows.front();
    title = std::string(row.collective->name) + " of " + std::to_string(row.ranks) + " ranks over " +
            row.transport + (rival.empty() ? "" : ", beside " + rival);
  }
  std::ofstream file(path);
  file << plot(title, curves_of(rows, rival));
  file.close();
  if (!file) std::fprintf(stderr, "plait-perf: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
  return bool(file);
}

}  // namespace plait::perf
