// A run as a picture: what each rank did when, and how full links were.
#include <algorithm>
#include <cmath>

#include "documents/canvas.h"
#include "sim/report.h"

namespace plait::sim {

namespace {

using documents::Canvas;
using documents::escaped;

constexpr int32_t kMostRankRows = 48;
constexpr size_t kMostLinks = 12, kColumns = 1000;
constexpr double kLeft = 90, kTop = 84, kRow = 16;
constexpr const char *kWork = "#2f6db3", *kMove = "#f0b95b", *kIdle = "#eef0f3";

// What was under way in each column of a row.
struct Row {
  std::vector<bool> work = std::vector<bool>(kColumns), move = std::vector<bool>(kColumns);
};

class Picture {
 public:
  explicit Picture(const Report& r)
      : r_(r), ranks_(r.question.ranks), rows_(size_t(std::min(ranks_, kMostRankRows))) {
    for (const Slice& s : r.outcome.slices) paint(s);
  }

  std::string run() {
    std::vector<std::pair<double, uint32_t>> links;
    for (uint32_t i = 0; i < r_.outcome.links.size(); i++) {
      const double could = r_.network->link(i).capacity * r_.outcome.seconds;
      if (could > 0 && r_.outcome.links[i].bytes > 0)
        links.push_back({-r_.outcome.links[i].bytes / could, i});
    }
    std::sort(links.begin(), links.end());
    if (links.size() > kMostLinks) links.resize(kMostLinks);
    const double below = kTop + kRow * double(rows_.size()) + 40,
                 height = below + 34 + 20 * double(links.size());
    c_.add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" "
        "font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">",
        kLeft + kColumns + 40, height);
    c_.add("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
    head();
    for (size_t i = 0; i < rows_.size(); i++) row(i);
    axis(kTop + kRow * double(rows_.size()));
    if (!links.empty()) bars(links, below);
    c_.add("</svg>");
    return c_.take();
  }

 private:
  double seconds() const { return std::max(r_.outcome.seconds, 1e-30); }
  int32_t rank_of(size_t row) const { return int32_t(int64_t(row) * ranks_ / int64_t(rows_.size())); }

  void paint(const Slice& s) {
    const auto row = size_t((int64_t{s.rank} * int64_t(rows_.size()) + ranks_ - 1) / ranks_);
    if (row >= rows_.size() || rank_of(row) != s.rank) return;
    auto column = [&](double t) {
      return std::clamp(t / seconds() * double(kColumns), 0.0, double(kColumns));
    };
    auto& bits = s.kind == Slice::Kind::flight ? rows_[row].move : rows_[row].work;
    if (s.end <= s.begin) return;
    const auto from = size_t(column(s.begin)), to = size_t(std::ceil(column(s.end)));
    for (size_t i = from; i < std::min(to, kColumns); i++) bits[i] = true;
  }

  void head() {
    c_.add("<text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"600\">{} {}, {}: {}</text>",
           escaped(r_.way), name_of(r_.question.collective), size_text(r_.bytes),
           r_.outcome.stuck.empty()
               ? time_text(r_.outcome.seconds) + ", busbw " + rate_text(bus_bandwidth(r_))
               : std::string("never ends"));
    std::string room = std::to_string(ranks_) + " ranks in " + r_.room;
    for (const std::string& what : r_.what_if) room += ", " + what;
    c_.add("<text x=\"16\" y=\"46\" fill=\"#555\">{}</text>", escaped(room));
    double x = 16;
    for (auto [colour, text] : {std::pair(kWork, "core at work"), std::pair(kMove, "own messages moving"),
                                std::pair(kIdle, "neither")}) {
      c_.add(
          "<rect x=\"{}\" y=\"58\" width=\"14\" height=\"12\" rx=\"2\" fill=\"{}\"/><text x=\"{}\" "
          "y=\"68\">{}</text>",
          x, colour, x + 20, text);
      x += 170;
    }
    if (r_.outcome.slices_cut)
      c_.add("<text x=\"{}\" y=\"68\" fill=\"#a33\">the timeline is cut: too many steps</text>", x);
  }

  void row(size_t i) {
    const double y = kTop + kRow * double(i);
    c_.add("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"11\">rank {}</text>", kLeft - 8, y + 11,
           rank_of(i));
    c_.add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>", kLeft, y, kColumns, kRow - 3,
           kIdle);
    runs(rows_[i].move, y, kRow - 3, kMove);
    runs(rows_[i].work, y + 3, kRow - 9, kWork);
  }

  void runs(const std::vector<bool>& bits, double y, double height, const char* colour) {
    for (size_t i = 0; i < bits.size();) {
      size_t end = i;
      while (end < bits.size() && bits[end] == bits[i]) end++;
      if (bits[i])
        c_.add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>", kLeft + double(i), y,
               end - i, height, colour);
      i = end;
    }
  }

  void axis(double y) {
    for (int i = 0; i <= 4; i++) {
      const double x = kLeft + double(kColumns) * i / 4;
      c_.add("<line x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#999\" stroke-width=\"0.6\"/>", x,
             kTop - 2, y + 4);
      c_.add("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\" font-size=\"11\">{}</text>", x,
             y + 17, time_text(r_.outcome.seconds * i / 4));
    }
  }

  void bars(const std::vector<std::pair<double, uint32_t>>& links, double y) {
    c_.add("<text x=\"16\" y=\"{}\" font-weight=\"600\">Busiest links, of their limits</text>", y + 8);
    for (auto [share, link] : links) {
      y += 20;
      c_.add("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"11\">{}</text>", kLeft + 130, y + 11,
             escaped(name_of(*r_.network, link)));
      c_.add("<rect x=\"{}\" y=\"{}\" width=\"600\" height=\"13\" fill=\"{}\"/>", kLeft + 140, y, kIdle);
      c_.add("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"13\" fill=\"{}\"/>", kLeft + 140, y,
             std::min(600.0, -share * 600), kMove);
      c_.add("<text x=\"{}\" y=\"{}\" font-size=\"11\">{:.0f} %</text>", kLeft + 750, y + 11, -share * 100);
    }
  }

  const Report& r_;
  const int32_t ranks_;
  std::vector<Row> rows_;
  Canvas c_;
};

}  // namespace

std::string to_svg(const Report& report) { return Picture(report).run(); }

}  // namespace plait::sim
