#include "topology/units.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <charconv>
#include <cmath>

namespace plait::topology {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 8> kRates = {{{"Tb/s", 1e12 / 8},
                                         {"Gb/s", 1e9 / 8},
                                         {"Mb/s", 1e6 / 8},
                                         {"kb/s", 1e3 / 8},
                                         {"TB/s", 1e12},
                                         {"GB/s", 1e9},
                                         {"MB/s", 1e6},
                                         {"kB/s", 1e3}}};
constexpr std::array<Unit, 4> kTimes = {{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};

template <size_t N>
std::optional<double> parse(std::string_view word, const std::array<Unit, N>& units) noexcept {
  double number = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0 || number > 1e9) return {};
  const std::string_view unit = word.substr(size_t(end - word.data()));
  for (const Unit& u : units) {
    if (unit == u.name) return number * u.factor;
  }
  return {};
}

// In the first of `units`, largest first, of which it is one or more.
template <size_t N>
std::string show(double value, const std::array<Unit, N>& units, std::string_view between) {
  const Unit* best = &units.back();
  for (const Unit& u : units) {
    if (value < u.factor * (1 - 1e-9)) continue;
    best = &u;
    break;
  }
  return fmt::format("{:.4g}{}{}", value / best->factor, between, best->name);
}
constexpr std::array<Unit, 4> kBits = {kRates[0], kRates[1], kRates[2], kRates[3]};
constexpr std::array<Unit, 4> kBytes = {kRates[4], kRates[5], kRates[6], kRates[7]};
constexpr std::array<Unit, 4> kTimesDown = {kTimes[3], kTimes[2], kTimes[1], kTimes[0]};

// The shortest in one of the units that the parser makes the same number of.
template <size_t N>
std::string exact(double value, const std::array<Unit, N>& units) {
  std::string best;
  for (const Unit& u : units) {
    for (int digits = 1; digits <= 18; digits++) {
      std::string text = fmt::format("{:.{}f}", value / u.factor, digits - 1) + std::string(u.name);
      const auto back = parse(text, units);
      if (!back || *back != value) continue;
      if (best.empty() || text.size() < best.size()) best = text;
      break;
    }
  }
  return best;
}

}  // namespace

std::optional<double> parse_rate(std::string_view word) noexcept { return parse(word, kRates); }
std::optional<double> parse_latency(std::string_view word) noexcept { return parse(word, kTimes); }

std::string show_rate(double v) { return v == 0 ? "?" : show(v, kBytes, " "); }
std::string show_bit_rate(double v) { return v == 0 ? "?" : show(v, kBits, " "); }
std::string show_latency(double v) { return v == 0 ? "0" : show(v, kTimesDown, " "); }
std::string write_rate(double v) { return exact(v, kRates); }
std::string write_latency(double v) { return exact(v, kTimes); }

double pci_bytes_per_s(std::string_view speed, int width) noexcept {
  double transfers = 0;  // 1e9 a second
  const auto [end, error] =
      std::from_chars(speed.data(), speed.data() + speed.size(), transfers, std::chars_format::fixed);
  const std::string_view unit = speed.substr(size_t(end - speed.data()));
  if (error != std::errc() || !(transfers > 0) || transfers > 256 || width < 1 || width > 64) return 0;
  if (!unit.starts_with(" GT/s") && !unit.starts_with("GT/s")) return 0;
  // 8 bits in 10 up to 5 GT/s, 128 in 130 up to 32, fixed frames beyond.
  const double coding = transfers < 7 ? 0.8 : transfers < 40 ? 128.0 / 130 : 242.0 / 256;
  return transfers * 1e9 / 8 * coding * width;
}

}  // namespace plait::topology
