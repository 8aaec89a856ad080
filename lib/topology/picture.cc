// SVG: machines as boxes in boxes, fabrics as dots and lines.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "documents/canvas.h"
#include "topology/show.h"
#include "topology/units.h"

namespace plait::topology {
namespace {

using documents::Canvas;
using documents::escaped;

constexpr const char* kStyle =
    "<style>text{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif;font-size:11px;fill:#223}"
    ".title{font-size:14px;font-weight:bold}.small{font-size:9px;fill:#556}.label{font-weight:bold}</style>";

std::string_view fill_of(const Node& n) {
  if (n.dead) return "#d9d9d9";
  if (n.taken) return "#f3dcc0";
  switch (n.kind) {
    case Kind::chip:
      return "#cfe8cf";
    case Kind::nic:
      return "#cfdcf5";
    case Kind::network_switch:
    case Kind::fabric_switch:
      return "#e6d8f2";
    case Kind::core:
      return "#ffffff";
    case Kind::cache:
      return "#f4f4f0";
    case Kind::numa:
      return "#fbeedd";
    case Kind::bridge:
    case Kind::pci_switch:
      return "#eef3ee";
    case Kind::package:
      return "#f1f1f1";
    default:
      return "#fafafa";
  }
}

// Boxes laid out in rows about as wide as high.
class Boxes {
 public:
  explicit Boxes(const Graph& g) : g_(g), box_(g.nodes().size()) {}

  std::string run() {
    for (const Node& n : g_.nodes()) {
      for (const std::string& l : lines_of(n))
        longest_[size_t(n.kind)] = std::max(longest_[size_t(n.kind)], l.size());
    }
    for (NodeId id = uint32_t(g_.nodes().size()); id-- > 0;) measure(id);
    place(0, kMargin, kMargin);
    const double arcs = links_need();
    const Box& all = box_[0];
    c_.add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} {1:.0f}\">",
        all.w + 2 * kMargin, all.h + 2 * kMargin + arcs);
    c_.add("{}", kStyle);
    c_.add("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
    for (NodeId id = 0; id < g_.nodes().size(); id++) draw(id);
    links();
    c_.add("</svg>");
    return c_.take();
  }

 private:
  static constexpr double kMargin = 12, kGap = 7, kLine = 14, kTop = 20;
  struct Box {
    double x = 0, y = 0, w = 0, h = 0;
    std::vector<std::pair<double, double>> at;  // of its children, within it
    std::vector<std::string> lines;
  };

  static std::vector<std::string> lines_of(const Node& n) {
    std::vector<std::string> lines{n.name};
    if (n.pci && n.name.find(to_string(*n.pci)) == std::string::npos) lines.push_back(to_string(*n.pci));
    if (n.port_bytes_per_s > 0) lines.push_back(show_bit_rate(n.port_bytes_per_s));
    if (n.bytes_per_s > 0) lines.push_back(show_rate(n.bytes_per_s) + " up");
    if (n.dead) lines.push_back("dead");
    if (n.taken) lines.push_back("taken");
    return lines;
  }

  void measure(NodeId id) {
    Box& b = box_[id];
    b.lines = lines_of(g_.node(id));
    const auto children = g_.children_of(id);
    if (children.empty()) {  // those of a kind are as wide, so that alike machines look alike
      b.w = 14 + 6.6 * double(longest_[size_t(g_.node(id).kind)]);
      b.h = 8 + kLine * double(b.lines.size());
      return;
    }
    // A container has one line.
    std::string line;
    for (const std::string& l : b.lines) line += (line.empty() ? "" : ", ") + l;
    b.lines = {line};
    double area = 0, widest = 14 + 6.6 * double(line.size());
    for (const NodeId c : children) {
      area += (box_[c].w + kGap) * (box_[c].h + kGap);
      widest = std::max(widest, box_[c].w + 2 * kGap);
    }
    // Devices behind a switch in a row, so that arcs between them can be told apart.
    const double aspect = g_.node(id).kind == Kind::pci_switch ? 12 : 2.4;
    const double width = std::max(widest, std::sqrt(area * aspect) + 2 * kGap);
    double x = kGap, y = kTop, row = 0;
    for (const NodeId c : children) {
      if (x + box_[c].w + kGap > width && x > kGap) x = kGap, y += row + kGap, row = 0;
      b.at.emplace_back(x, y);
      x += box_[c].w + kGap;
      row = std::max(row, box_[c].h);
      b.w = std::max(b.w, x);
    }
    b.w = std::max(b.w, 14 + 6.6 * double(line.size()));
    b.h = y + row + kGap;
  }
  void place(NodeId id, double x, double y) {
    box_[id].x = x;
    box_[id].y = y;
    const auto children = g_.children_of(id);
    for (size_t i = 0; i < children.size(); i++)
      place(children[i], x + box_[id].at[i].first, y + box_[id].at[i].second);
  }
  void draw(NodeId id) {
    const Box& b = box_[id];
    c_.add(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" fill=\"{}\" "
        "stroke=\"#889\"/>",
        b.x, b.y, b.w, b.h, fill_of(g_.node(id)));
    for (size_t i = 0; i < b.lines.size(); i++)
      c_.add("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", b.x + 6, b.y + 14 + kLine * double(i),
             i > 0 ? " class=\"small\"" : "", escaped(b.lines[i]));
  }

  // Arcs below for links: between chips green, of the network blue. Only so many say something.
  bool drawable() const { return !g_.links().empty() && g_.links().size() <= 300; }
  double links_need() const { return drawable() ? 46 : 24; }
  void links() {
    const double below = box_[0].y + box_[0].h + 18;
    if (!drawable()) {
      if (!g_.links().empty())
        c_.add("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small\">{} links, which are not drawn</text>",
               kMargin, below, g_.links().size());
      return;
    }
    for (const Link& l : g_.links()) {
      const Box &a = box_[l.a], &b = box_[l.b];
      const double ax = a.x + a.w / 2, ay = a.y + a.h, bx = b.x + b.w / 2, by = b.y + b.h;
      const double sag = 14 + std::min(60.0, 0.12 * std::hypot(bx - ax, by - ay));
      c_.add(
          "<path d=\"M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
          "stroke-opacity=\"0.55\" stroke-width=\"{:.1f}\"><title>{} to {}: {} x {}</title></path>",
          ax, ay, ax, ay + sag, bx, by + sag, bx, by, l.kind == LinkKind::network ? "#3060c0" : "#2a8a3a",
          1 + 0.4 * std::min(l.count, 6u), escaped(g_.node(l.a).name), escaped(g_.node(l.b).name), l.count,
          show_rate(l.forward_bytes_per_s / l.count));
    }
    c_.add("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small\">green: links between chips; blue: network</text>",
           kMargin, below + 22);
  }

  const Graph& g_;
  std::array<size_t, kKinds> longest_{};
  std::vector<Box> box_;
  Canvas c_;
};

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
    c_.add("{}", kStyle);
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

Status too_many(size_t count) {
  return {Code::unsupported, fmt::format("{} nodes: {} are the most of a drawing", count, kMostDrawn)};
}

}  // namespace

Result<std::string> to_svg(const Graph& g) {
  if (g.nodes().size() > kMostDrawn) return too_many(g.nodes().size());
  return Boxes(g).run();
}

Result<std::string> to_svg(const Fabric& f, const std::vector<std::vector<uint32_t>>& rings,
                           const std::vector<uint32_t>& job) {
  if (f.chips() > kMostDrawn || f.chips() == 0) return too_many(f.chips());
  return Dots(f, rings, job).run();
}

}  // namespace plait::topology
