#include "perf/rival/order.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <sstream>

namespace plait::perf::rival {

std::string write_order(const Order& o) {
  return fmt::format("{} {} {} {} {} {} {}", int(o.kind), o.count, o.root, o.in_place, o.warmup, o.samples,
                     o.batch);
}

std::optional<Order> read_order(const std::string& line, int ranks) {
  std::istringstream in(line);
  Order o;
  int kind = 0;
  std::string more;
  if (!(in >> kind >> o.count >> o.root >> o.in_place >> o.warmup >> o.samples >> o.batch) || in >> more)
    return std::nullopt;
  const auto within = [](int32_t value, int32_t least, int32_t most) {
    return value >= least && value <= most;
  };
  if (kind < 0 || kind > int(Kind::barrier) || o.count > kMostCount || !within(o.root, 0, ranks - 1) ||
      !within(o.in_place, 0, 1) || !within(o.warmup, 0, kMostCalls) || !within(o.samples, 0, kMostCalls) ||
      !within(o.batch, 1, kMostCalls))
    return std::nullopt;
  o.kind = Kind(kind);
  return o;
}

std::string write_samples(const std::vector<double>& us) {
  std::string line;
  for (double one : us) line += fmt::format("{}{}", line.empty() ? "" : " ", one);
  return line;
}

std::optional<std::vector<double>> read_samples(const std::string& line, size_t count) {
  std::istringstream in(line);
  std::vector<double> us;
  for (double one = 0; in >> one;) {
    if (!std::isfinite(one) || one < 0 || us.size() == count) return std::nullopt;
    us.push_back(one);
  }
  return us.size() == count && in.eof() ? std::optional(std::move(us)) : std::nullopt;
}

}  // namespace plait::perf::rival
