#include "collectives/exchange/svg.h"

#include <algorithm>
#include <map>

#include "collectives/cells.h"
#include "documents/canvas.h"

namespace plait::collectives::exchange {

using documents::Canvas;
using documents::colour_of;
using documents::escaped;

namespace {

constexpr double kLeft = 158, kTop = 112, kColumn = 104, kRight = 128, kBottom = 74;
constexpr uint32_t kMostSquares = 16;  // chunks shown as squares beside a row

constexpr const char* kStyle = R"(<style>
text { font-family: "Inter", "Helvetica Neue", "DejaVu Sans", Arial, sans-serif; fill: #1f2733 }
.title { font-size: 20px; font-weight: 700 }
.subtitle { font-size: 12.5px; fill: #5b6675 }
.rank { font-size: 13px; font-weight: 600 }
.small { font-size: 10.5px; fill: #7a8594 }
.label { font-size: 10.5px; font-weight: 700; text-anchor: middle }
.middle { text-anchor: middle }
.wire { fill: none; stroke-width: 1.8; stroke-linecap: round }
.halo { fill: none; stroke: #fff; stroke-width: 4.5; stroke-linecap: round; opacity: 0.75 }
</style>)";

// "3", "0-3", "0,2,4": the chunks of the message of steps [first, end), short.
std::string short_chunks(const Program& p, uint32_t first, uint32_t end) {
  std::string text;
  for (uint32_t i = first; i < end; i++) {
    const Step& s = p.steps[i];
    if (i > first + 2) return text + ",…";
    text += i > first ? "," : "";
    text += s.count == 1 ? fmt::format("{}", s.chunk) : fmt::format("{}-{}", s.chunk, s.chunk + s.count - 1);
  }
  return text;
}

const char* dashes(uint32_t lane) noexcept {
  constexpr const char* kDashes[] = {"", " stroke-dasharray=\"7 5\"", " stroke-dasharray=\"2 5\"",
                                     " stroke-dasharray=\"9 4 2 4\""};
  return kDashes[std::min(lane, 3u)];
}

class Picture {
 public:
  Picture(const ProgramSet& set, bool in_place, const Rounds& rounds)
      : set_(set),
        programs_(set.programs[in_place]),
        rounds_(rounds),
        in_place_(in_place),
        n_(int32_t(programs_.size())) {
    row_ = n_ <= 8 ? 78 : 62;
  }

  std::string run() {
    const double width = std::max({x(rounds_.count()) + kRight, 560.0, 48 + 6.9 * double(subtitle().size())}),
                 height = y(n_ - 1) + row_ / 2 + kBottom;
    c_.add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" "
        "role=\"img\">",
        width, height);
    c_.add("<title>{}</title>", escaped(heading()));
    c_.add("{}", kStyle);
    c_.add("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
    c_.add("<text x=\"24\" y=\"38\" class=\"title\">{}</text>", escaped(heading()));
    c_.add("<text x=\"24\" y=\"60\" class=\"subtitle\">{}</text>", subtitle());
    grid();
    for (const Program& p : programs_) wires(p);
    for (const Program& p : programs_) marks(p);
    legend(y(n_ - 1) + row_ / 2 + 44);
    c_.add("</svg>");
    return c_.take();
  }

 private:
  double x(uint32_t round) const { return kLeft + kColumn * round; }
  double y(int32_t rank) const { return kTop + row_ * (rank + 0.5); }
  double sent_x(uint32_t round, const std::string& text) const {
    return x(round) + 8 + Canvas::width_of(text) / 2;
  }
  double received_x(uint32_t round) const { return x(round) + kColumn - 14; }
  std::string colour(uint32_t chunk) const { return colour_of(chunk, set_.chunks()); }

  std::string heading() const { return fmt::format("{} {}", set_.name, name_of(set_.collective)); }
  std::string subtitle() const {
    const Program& p = programs_.front();
    std::string text =
        fmt::format("{} rank{}, {}, {} chunk{} · {} round{}, {} messages", n_, n_ == 1 ? "" : "s",
                    in_place_ ? "in place" : "out of place", p.chunks, p.chunks == 1 ? "" : "s",
                    rounds_.count(), rounds_.count() == 1 ? "" : "s", rounds_.messages());
    if (rooted(set_.collective)) text += fmt::format(" · root {}", set_.root);
    text += p.min_credits == 0 ? " · fits unbuffered delivery" : " · each stream buffers one message";
    if (reduces(set_.collective)) text += p.rank_order ? " · keeps rank order" : " · not in rank order";
    return text;
  }

  void grid() {
    const double top = kTop - 6, bottom = y(n_ - 1) + row_ / 2;
    for (uint32_t k = 0; k < rounds_.count(); k++) {
      c_.add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>", x(k), top,
             kColumn, bottom - top, k % 2 == 0 ? "#f4f6f9" : "#fafbfc");
      c_.add("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small middle\">{}{}</text>", x(k) + kColumn / 2,
             top - 8, k == 0 ? "round " : "", k + 1);
    }
    c_.add(
        "<text x=\"96\" y=\"{0:.1f}\" class=\"small\">input</text><text x=\"{1:.1f}\" y=\"{0:.1f}\" "
        "class=\"small\">output</text>",
        top - 8, x(rounds_.count()) + 18);
    for (int32_t r = 0; r < n_; r++) {
      c_.add("<text x=\"24\" y=\"{:.1f}\" class=\"rank\">rank {}</text>", y(r) + 4.5, r);
      c_.add("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ccd3dc\" stroke-width=\"1.5\"/>", kLeft - 12, y(r),
             x(rounds_.count()) + 12);
      squares(96, y(r), r, true);
      squares(x(rounds_.count()) + 18, y(r), r, false);
    }
  }

  // The chunks that a rank begins or ends with, four a row.
  void squares(double left, double middle, int32_t rank, bool input) {
    const uint32_t chunks = set_.chunks();
    const Range own = input ? input_of(set_.collective, n_, rank, set_.root, chunks)
                            : output_of(set_.collective, n_, rank, set_.root, chunks);
    if (chunks > kMostSquares) {
      c_.add("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small\">{}</text>", left, middle + 4,
             own.count == 0        ? ""
             : own.count == chunks ? "all"
                                   : fmt::format("{}-{}", own.first, own.end() - 1));
      return;
    }
    const uint32_t across = std::min(chunks, 4u), down = (chunks + across - 1) / across;
    for (uint32_t k = 0; k < chunks; k++) {
      const bool there = k >= own.first && k < own.end();
      c_.add(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"9\" height=\"9\" rx=\"2\" fill=\"{}\" stroke=\"{}\"{}/>",
          left + 12 * (k % across), middle - 6 * down + 1.5 + 12 * (k / across),
          there && !input ? colour(k) : "#fff", there ? colour(k) : "#dde2e8",
          there && input ? " stroke-width=\"2\"" : "");
    }
  }

  // The arrows to one rank.
  void wires(const Program& p) {
    for (uint32_t first = 0; first < p.steps.size(); first = message_end(p, first)) {
      const Step& s = p.steps[first];
      if (!receives(s.op)) continue;
      const Program& from = programs_[size_t(s.peer)];
      const uint32_t send = rounds_.match(p.rank, first);
      const std::string text = short_chunks(from, send, message_end(from, send));
      const double x0 = sent_x(rounds_.of(s.peer, send), text), x1 = received_x(rounds_.of(p.rank, first));
      const double tip = x1 - (folds(s.op) ? 9 : 5);
      const double y0 = y(s.peer), y1 = y(p.rank), bend = std::max(26.0, 0.5 * (x1 - x0));
      const std::string path = fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x0, y0,
                                           x0 + bend, y0, tip - bend, y1, tip - 7, y1);
      const std::string tint = colour(s.chunk);
      c_.open("message", describe(from, send) + "\n" + describe(p, first));
      c_.add("<path class=\"halo\" d=\"{}\"/>", path);
      c_.add("<path class=\"wire\" d=\"{}\" stroke=\"{}\"{}/>", path, tint, dashes(s.lane));
      c_.add("<path d=\"M{0:.1f} {1:.1f}l-8.5 -4.5v9z\" fill=\"{2}\"/>", tip, y1, tint);
      c_.close();
      lanes_ = std::max(lanes_, uint32_t{s.lane} + 1);
    }
  }

  // What stands on a rank's own row.
  void marks(const Program& p) {
    std::map<uint32_t, std::vector<uint32_t>> local;  // by round
    for (uint32_t first = 0; first < p.steps.size(); first = message_end(p, first)) {
      const Step& s = p.steps[first];
      const uint32_t round = rounds_.of(p.rank, first);
      if (s.peer < 0) {
        local[round].push_back(first);
        continue;
      }
      c_.open(name_of(s.op), describe(p, first));
      if (sends(s.op)) {
        const std::string text = short_chunks(p, first, message_end(p, first));
        c_.label(sent_x(round, text), y(p.rank), text, colour(s.chunk), true);
      } else {
        received(received_x(round), y(p.rank), s, colour(s.chunk));
      }
      c_.close();
    }
    for (const auto& [round, steps] : local) work(p, round, steps);
  }

  void received(double at_x, double at_y, const Step& s, const std::string& tint) {
    if (s.op == Op::recv) {
      c_.add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\" stroke=\"#fff\"/>", at_x, at_y, tint);
      return;
    }
    const bool last = (s.flags & kLast) != 0;
    c_.add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"8\" fill=\"{}\" stroke=\"{}\" stroke-width=\"2\"/>", at_x,
           at_y, last ? tint : "#fff", tint);
    c_.add(
        "<path d=\"M{:.1f} {:.1f}h9m-4.5 -4.5v9\" stroke=\"{}\" stroke-width=\"2\" "
        "stroke-linecap=\"round\"/>",
        at_x - 4.5, at_y, last ? "#fff" : tint);
  }

  // What a rank does by itself in a round: a copy, or a fold, or the folds of a chain.
  void work(const Program& p, uint32_t round, const std::vector<uint32_t>& steps) {
    const Step& s = p.steps[steps.back()];
    std::string words;
    for (uint32_t i : steps) words += describe(p, i) + "\n";
    const bool folds_here = folds(s.op);
    const std::string chunks =
        s.count == 1 ? fmt::format("{}", s.chunk) : fmt::format("{}-{}", s.chunk, s.chunk + s.count - 1);
    c_.open(name_of(s.op), words);
    c_.label(x(round) + 0.56 * kColumn, y(p.rank), sign_of(s.op) + chunks, colour(s.chunk),
             (s.flags & kLast) != 0);
    c_.close();
    folded_ = folded_ || folds_here;
    copied_ = copied_ || s.op == Op::copy;
    coded_ = coded_ || s.op == Op::encode || s.op == Op::decode || s.op == Op::decode_reduce;
  }
  static std::string sign_of(Op op) {
    switch (op) {
      case Op::encode:
        return "enc ";
      case Op::decode:
        return "dec ";
      case Op::decode_reduce:
        return "dec + ";
      default:
        return folds(op) ? "+ " : "= ";
    }
  }

  // A sample of each mark that is there, and its words.
  void legend(double at) {
    double left = 24;
    auto item = [&](double wide, const std::string& words, auto draw) {
      draw(left + wide / 2);
      c_.add("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small\">{}</text>", left + wide + 6, at + 4, words);
      left += wide + 6 + 5.9 * double(words.size()) + 22;
    };
    bool receives_some = false, folds_some = false, completes_some = false;
    for (const Program& p : programs_) {
      for (const Step& s : p.steps) {
        receives_some = receives_some || s.op == Op::recv;
        folds_some = folds_some || s.op == Op::recv_reduce;
        completes_some = completes_some || (s.op == Op::recv_reduce && (s.flags & kLast) != 0);
      }
    }
    const char* tint = "#6b7686";
    Step sample{.op = Op::recv_reduce};
    auto circle = [&](double middle, uint8_t flags, Op op) {
      sample.flags = flags;
      sample.op = op;
      received(middle, at, sample, tint);
    };
    if (rounds_.messages() > 0) item(20, "sends chunk", [&](double m) { c_.label(m, at, "2", tint, true); });
    if (receives_some) item(12, "receives", [&](double m) { circle(m, 0, Op::recv); });
    if (folds_some) item(18, "folds what arrives", [&](double m) { circle(m, 0, Op::recv_reduce); });
    if (completes_some)
      item(18, "folds, which completes it", [&](double m) { circle(m, kLast, Op::recv_reduce); });
    if (folded_)
      item(30, "folds (filled: completes)", [&](double m) { c_.label(m, at, "+ 2", tint, false); });
    if (coded_) item(40, "encodes, decodes", [&](double m) { c_.label(m, at, "enc 2", tint, false); });
    if (copied_) item(30, "copies", [&](double m) { c_.label(m, at, "= 2", tint, false); });
    for (uint32_t lane = 0; lanes_ > 1 && lane < std::min(lanes_, 4u); lane++) {
      item(36, fmt::format("lane {}{}", lane, lane == 3 && lanes_ > 4 ? " and above" : ""), [&](double m) {
        c_.add("<path d=\"M{:.1f} {:.1f}h36\" class=\"wire\" stroke=\"{}\"{}/>", m - 18, at, tint,
               dashes(lane));
      });
    }
  }

  const ProgramSet& set_;
  const std::vector<Program>& programs_;
  const Rounds& rounds_;
  bool in_place_;
  int32_t n_;
  double row_ = 0;
  uint32_t lanes_ = 1;
  bool folded_ = false, copied_ = false, coded_ = false;  // some rank does
  Canvas c_;
};

}  // namespace

Result<std::string> to_svg(const ProgramSet& set, bool in_place, const Rounds& rounds) {
  const auto ranks = int32_t(set.programs[in_place].size());
  if (ranks > kMostRanksDrawn || rounds.count() > kMostRoundsDrawn ||
      rounds.messages() > kMostMessagesDrawn) {
    return Status(
        Code::unsupported,
        fmt::format(
            "{} ranks, {} rounds and {} messages are too much for a picture, which takes {}, {} and {}: "
            "draw fewer ranks, or make a trace",
            ranks, rounds.count(), rounds.messages(), kMostRanksDrawn, kMostRoundsDrawn, kMostMessagesDrawn));
  }
  return Picture(set, in_place, rounds).run();
}

}  // namespace plait::collectives::exchange
