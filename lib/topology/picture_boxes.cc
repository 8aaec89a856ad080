// SVG: machines as boxes in boxes.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "documents/canvas.h"
#include "topology/picture.h"
#include "topology/show.h"
#include "topology/units.h"

namespace plait::topology {
namespace {

using documents::Canvas;
using documents::escaped;

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
    c_.add("{}", picture::kStyle);
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

}  // namespace

Status picture::too_many(size_t count) {
  return {Code::unsupported, fmt::format("{} nodes: {} are the most of a drawing", count, kMostDrawn)};
}

Result<std::string> to_svg(const Graph& g) {
  if (g.nodes().size() > kMostDrawn) return picture::too_many(g.nodes().size());
  return Boxes(g).run();
}

}  // namespace plait::topology
