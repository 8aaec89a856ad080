// Curves over message sizes, as a picture: how long a call takes, and the bus bandwidth.
#pragma once

#include <string>
#include <vector>

#include "perf/row.h"

namespace plait::perf {

struct Curve {
  std::string name;
  struct Point {
    double bytes, us, bus_GBps;
  };
  std::vector<Point> points;  // by size
};

// The rows as curves: of each placement, and of each type, operation and root where there are several. Rows
// without bytes make none. `rival`: what else was measured, or empty.
std::vector<Curve> curves_of(const std::vector<Row>& rows, const std::string& rival);

// SVG with two panels, time and bandwidth, over logarithmic axes. Curves without points are left out.
std::string plot(const std::string& title, const std::vector<Curve>& curves);

// False, with the reason on stderr, when the file cannot be written.
bool write_plot(const std::string& path, const std::vector<Row>& rows, const std::string& rival);

}  // namespace plait::perf
