#include "sim/calibrate.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/least_squares.h"
#include "sim/stage.h"
#include "topology/units.h"

namespace plait::sim {

namespace {

constexpr size_t kFewest = 4;        // sizes to fit
constexpr double kKnee = 0.1;        // residuals are logarithms: a tenth
constexpr double kPull = 0.02;       // what parameters that rows say nothing of are held with
constexpr double kFarthest = 12;     // from where they begin, as logarithms
constexpr double kWorthwhile = 0.8;  // of the merit, for a parameter more

// What is fitted, as logarithms.
enum Term : size_t { kLatency, kRate, kMessage, kCoreByte, kFold, kCopy, kFarByte, kTerms };

// As texts say it, so that what is written is what was simulated.
double said_latency(double seconds) {
  return topology::parse_latency(fmt::format("{:.4f}ns", seconds * 1e9)).value_or(seconds);
}
double said_rate(double bytes_per_s) {
  return topology::parse_rate(fmt::format("{:.3f}MB/s", bytes_per_s * 1e-6)).value_or(bytes_per_s);
}

void set_links(Plan& plan, Parameters& p, double latency_s, double bytes_per_s) {
  if (!plan.room) {
    p.latency = latency_s, p.endpoint.byte = 1 / bytes_per_s;
    return;
  }
  topology::Room& room = *plan.room;
  for (auto& f : room.factors) f.latency_s = said_latency(latency_s), f.bytes_per_s = said_rate(bytes_per_s);
  if (room.nics_per_host == 0) return;
  room.nic_latency_s = said_latency(latency_s), room.nic_bytes_per_s = said_rate(bytes_per_s);
}

Status check_kind(const Plan& plan) {
  if (!plan.room) return {};
  const bool nics = plan.room->nics_per_host > 0, chips = plan.room->chips_per_host > 0;
  if (nics != chips && (nics || !plan.room->factors.empty())) return {};
  return {Code::invalid,
          "a room with links of one kind can be calibrated: chips in a shape, such as 'full 2', or hosts "
          "with NICs, such as '2 hosts x 1 nics'"};
}

class Fit {
 public:
  Fit(const Plan& plan, const Parameters& begin, const Stage& stage, std::vector<Held>& rows)
      : plan_(plan), begin_(begin), stage_(stage), rows_(rows) {
    double least = 1e300, most = 1;
    for (const Held& h : rows) {
      if (!h.fitted) continue;
      least = std::min(least, h.measured.seconds);
      most = std::max(most, double(h.measured.bytes) / h.measured.seconds);
    }
    // What rows do not tell apart is put down to links: of bytes most of the time, of messages half.
    const double byte = 1 / (20 * most);
    guess_ = {least / 4, most, least / 16, byte / 2, byte, byte, byte};
    for (double& value : guess_) value = std::log(value);
  }

  // `cache`: vectors of more bytes are in memory; 0: all fit.
  Result<Descent> from(Values begin, double cache) {
    cache_ = cache;
    return least_squares(
        begin, [this](const Values& at) { return residuals(at); }, kKnee);
  }
  Values guess() const { return guess_; }

  void set(const Values& at, double cache, Plan& plan, Parameters& p) const {
    std::array<double, kTerms> v{};
    for (size_t i = 0; i < kTerms; i++)
      v[i] = std::exp(guess_[i] + std::clamp(at[i] - guess_[i], -kFarthest, kFarthest));
    p.endpoint.send = p.endpoint.recv = v[kMessage];
    p.endpoint.send_byte = p.endpoint.recv_byte = v[kCoreByte];
    p.endpoint.fold = v[kFold], p.endpoint.copy = v[kCopy];
    p.endpoint.gap = p.endpoint.byte = p.hop = p.latency = 0;
    p.cache = cache, p.far = cache > 0 ? v[kFarByte] : 0;
    set_links(plan, p, v[kLatency], v[kRate]);
  }
  Status run_all(const Plan& plan, const Parameters& p, bool fitted_only) {
    auto places = first_places(plan, rows_.front().measured.ranks);
    if (!places.ok()) return places.status();
    for (size_t i = 0; i < rows_.size(); i++) {
      if (fitted_only && !rows_[i].fitted) continue;
      const auto seconds = stage_.run(i, *places->network, p);
      if (!seconds.ok()) return seconds.status();
      rows_[i].seconds = *seconds;
      simulations_++;
    }
    return {};
  }
  uint32_t simulations() const { return simulations_; }

 private:
  Result<Values> residuals(const Values& at) {
    Plan plan = plan_;
    Parameters p = begin_;
    set(at, cache_, plan, p);
    if (Status status = run_all(plan, p, true); !status.ok()) return status;
    Values r;
    for (const Held& h : rows_)
      if (h.fitted) r.push_back(std::log(std::max(h.seconds, 1e-12) / h.measured.seconds));
    for (size_t i = 0; i < kTerms; i++) r.push_back(kPull * (at[i] - guess_[i]));
    return r;
  }

  const Plan& plan_;
  const Parameters& begin_;
  const Stage& stage_;
  std::vector<Held>& rows_;
  Values guess_;
  double cache_ = 0;
  uint32_t simulations_ = 0;
};

// Every second size of each way is held back.
std::vector<Held> halves(std::vector<Measured> rows) {
  std::vector<Held> held;
  for (Measured& m : rows) {
    const bool fitted = held.empty() || !held.back().measured.is_like(m) || !held.back().fitted;
    held.push_back({std::move(m), fitted, 0});
  }
  return held;
}

// Where vectors may begin to be in memory: between sizes that were measured.
std::vector<double> caches(const std::vector<Held>& rows) {
  std::vector<double> sizes;
  for (const Held& h : rows)
    if (h.fitted && h.measured.bytes >= 64 << 10) sizes.push_back(double(h.measured.bytes));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (!sizes.empty()) sizes.pop_back();  // beyond the largest nothing was measured
  return sizes;
}

}  // namespace

double Held::error() const noexcept { return std::abs(seconds / measured.seconds - 1); }

std::vector<double> errors_of(const std::vector<Held>& rows, bool fitted) {
  std::vector<double> errors;
  for (const Held& h : rows)
    if (h.fitted == fitted) errors.push_back(h.error());
  return errors;
}

Result<std::vector<Held>> foretell(const Plan& plan, const Parameters& parameters,
                                   const std::vector<Measured>& rows) {
  auto stage = Stage::make(plan, parameters, rows);
  if (!stage.ok()) return stage.status();
  std::vector<Held> held;
  for (const Measured& m : rows) held.push_back({m, false, 0});
  if (Status status = Fit(plan, parameters, *stage, held).run_all(plan, parameters, false); !status.ok())
    return status;
  return held;
}

Result<Calibrated> calibrate(const Plan& plan, const Parameters& begin, std::vector<Measured> rows) {
  if (Status status = check_kind(plan); !status.ok()) return status;
  auto stage = Stage::make(plan, begin, rows);
  if (!stage.ok()) return stage.status();
  Calibrated c{plan, begin, halves(std::move(rows)), 0};
  if (errors_of(c.rows, true).size() < kFewest)
    return Status(Code::invalid, fmt::format("{} rows to fit are too few: measure at least {} sizes of a way",
                                             errors_of(c.rows, true).size(), 2 * kFewest));
  Fit fit(plan, begin, *stage, c.rows);
  auto best = fit.from(fit.guess(), 0);
  if (!best.ok()) return best.status();
  double cache = 0, limit = kWorthwhile * best->merit;
  const Values without = best->at;
  for (const double size : caches(c.rows)) {
    auto other = fit.from(without, size);
    if (!other.ok()) return other.status();
    if (other->merit >= limit) continue;
    best = std::move(other), cache = size, limit = best->merit;
  }
  fit.set(best->at, cache, c.plan, c.parameters);
  if (Status status = fit.run_all(c.plan, c.parameters, false); !status.ok()) return status;
  c.simulations = fit.simulations();
  return c;
}

}  // namespace plait::sim
