#include "tools/sim/measured.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>

#include "documents/text_file.h"
#include "sim/calibrate.h"
#include "sim/report.h"
#include "sim/words.h"
#include "tools/sim/commands.h"
#include "topology/units.h"

namespace plait::simtool {

using namespace sim;

namespace {

constexpr size_t kMostBytes = size_t{64} << 20;  // of a file of rows

Result<std::vector<Measured>> read_files(const std::vector<std::string>& files) {
  std::vector<Measured> all;
  for (const std::string& file : files) {
    auto text = documents::read_file(file, kMostBytes);
    if (!text.ok()) return text.status();
    auto rows = read_measured(*text, file);
    if (!rows.ok()) return rows.status();
    all.insert(all.end(), std::make_move_iterator(rows->begin()), std::make_move_iterator(rows->end()));
  }
  return merged(std::move(all));
}

std::string summary(const std::vector<double>& errors) {
  if (errors.empty()) return "none";
  const double worst = *std::max_element(errors.begin(), errors.end());
  const auto good = std::count_if(errors.begin(), errors.end(), [](double e) { return e <= 0.15; });
  return fmt::format("median {:.1f} %, worst {:.0f} %; {} of {} within 15 %", 100 * median(errors),
                     100 * worst, good, errors.size());
}

// A way's rows under its name, and how far off those are that were not fitted.
void print_rows(const std::vector<Held>& rows, bool fits) {
  for (size_t i = 0; i < rows.size();) {
    const Measured& first = rows[i].measured;
    print(fmt::format("\n{} {}, {} ranks\n{:>12}  {:>10}  {:>10}\n", shown(first.way),
                      name_of(first.collective), first.ranks, "bytes", "measured", "simulated"));
    std::vector<double> errors;
    for (; i < rows.size() && rows[i].measured.is_like(first); i++) {
      const Held& h = rows[i];
      print(fmt::format("{:>12}  {:>10}  {:>10}  {:>+6.1f} %{}\n", h.measured.bytes,
                        time_text(h.measured.seconds), time_text(h.seconds),
                        100 * (h.seconds / h.measured.seconds - 1), h.fitted ? "  fitted" : ""));
      if (!h.fitted) errors.push_back(h.error());
    }
    print(fmt::format("  {}: {}\n", fits ? "held back" : "error", summary(errors)));
  }
}

std::string found(const Calibrated& c) {
  const Endpoint& e = c.parameters.endpoint;
  std::string text = "Links: ";
  if (c.plan.room) {
    const auto& room = *c.plan.room;
    const bool nics = room.nics_per_host > 0;
    text += topology::show_rate(nics ? room.nic_bytes_per_s : room.factors[0].bytes_per_s) + ", " +
            topology::show_latency(nics ? room.nic_latency_s : room.factors[0].latency_s);
  } else {
    text += topology::show_rate(1 / e.byte) + ", " + topology::show_latency(c.parameters.latency);
  }
  auto byte = [](double seconds) { return fmt::format("{:.3g} ps", seconds * 1e12); };
  text += fmt::format("\nA core: {} a message and end, and of each byte {}; a byte folded {}, copied {}\n",
                      time_text(e.send), byte(e.send_byte), byte(e.fold), byte(e.copy));
  if (c.parameters.cache > 0)
    text += fmt::format("Of vectors beyond {} what lies in memory takes {} a byte more\n",
                        size_text(uint64_t(c.parameters.cache)), byte(c.parameters.far));
  return text;
}

Status write_found(const Options& o, const Calibrated& c, const std::string& errors) {
  if (o.write.empty()) return {};
  PLAIT_TRY(documents::write_file(o.write + ".json", to_json(c.parameters) + "\n"));
  if (!c.plan.room) {
    print("The room is ideal: " + o.write + ".json has all that was found\n");
    return {};
  }
  PLAIT_TRY(documents::write_file(o.write + ".room", "# Found by plait-sim --calibrate; sizes held back: " +
                                                         errors + "\n" + topology::write_room(*c.plan.room)));
  print(fmt::format("Written: {0}.room and {0}.json, for --room and --parameters\n", o.write));
  return {};
}

}  // namespace

Status hold_against_measured(const Options& o) {
  const bool fits = !o.calibrate.empty();
  auto rows = read_files(fits ? o.calibrate : o.compare);
  if (!rows.ok()) return rows.status();
  if (!fits) {
    const auto held = foretell(o.plan, o.parameters, *rows);
    if (!held.ok()) return held.status();
    print_rows(*held, false);
    print("\nAll: " + summary(errors_of(*held, false)) + "\n");
    return {};
  }
  const auto c = calibrate(o.plan, o.parameters, std::move(*rows));
  if (!c.ok()) return c.status();
  print_rows(c->rows, true);
  const std::string errors = summary(errors_of(c->rows, false));
  print("\nHeld back: " + errors + "\nFitted:    " + summary(errors_of(c->rows, true)) + "\n" + found(*c));
  return write_found(o, *c, errors);
}

}  // namespace plait::simtool
