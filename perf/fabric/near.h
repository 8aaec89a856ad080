// How far the processors of two ranks are from each other. In a virtual machine that changes from minute to
// minute, and with it what every copy between them costs; so a figure is worth little without this one.
#pragma once

namespace plait::perf::fabric {

// Nanoseconds in which a cache line goes from the first processor of this process to the second and back, the
// least of ten tries: about 40 for two threads of one core, 100 below one cache, 500 and more between
// packages. 0: there is one processor only.
double round_trip_ns();

}  // namespace plait::perf::fabric
