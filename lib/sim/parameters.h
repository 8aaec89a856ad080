// What endpoints cost, and how a run differs from an ideal one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plait::sim {

// A rank's end of each message, in the terms of LogGP (Alexandrov, Ionescu, Schauser, Scheiman 1995).
// Seconds, and seconds a byte.
struct Endpoint {
  double send = 0, recv = 0;            // o: of the core, for each message
  double send_byte = 0, recv_byte = 0;  // of the core, beside what the step itself does
  double gap = 0;                       // g: of the port, for each message
  double byte = 0;                      // G: of the port; 0: links alone limit
  double fold = 0, copy = 0;            // of the core: an operand folded, a message or value copied
  uint32_t engines = 1;                 // messages that a rank sends at a time; 0: as many as there are
};

struct Parameters {
  Endpoint endpoint;
  double latency = 0;    // L: of each message, beside that of the links it crosses
  double hop = 0;        // for each link that it crosses, beside the link's own
  uint32_t credits = 0;  // messages of a stream between its two ends; 0: any number
  uint32_t windows = 4;  // segments under way at a time, in programs of one lane
  double jitter = 0;     // what the core and the latency take is up to that share longer, each time anew ...
  uint64_t seed = 1;     // ... by random numbers from here
  uint64_t segment = 256 << 10;  // bytes of a chunk that travel at a time
  // A vector of more bytes than `cache` is partly in memory: of the share of it that is, `fold` and `copy`
  // take `far` longer, s a byte. 0: caches have room for all.
  double cache = 0, far = 0;
};

// With what `cache` and `far` add to `fold` and `copy` in a call with a vector of so many bytes.
Parameters for_vector(const Parameters& parameters, uint64_t bytes);

// Chips of a training pod: what plait-sim assumes where nobody says otherwise (docs/sim.md).
Parameters default_parameters();

// Overlays `parameters` with a JSON object of the names above, endpoint's among them: {"latency": 1e-6,
// "fold": 1e-11}. Code::invalid: no JSON, a name that there is not, a value that is none.
Status read_parameters(std::string_view json, const std::string& file, Parameters& parameters);
std::string to_json(const Parameters& parameters);
// Code::invalid: times that are negative or no numbers.
Status check(const Parameters& parameters);

// Something that happens in a run.
struct Change {
  enum class Kind : uint8_t { link, slow, dead };
  Kind kind = Kind::link;
  double at = 0;        // seconds; a slow rank is so from the beginning
  uint32_t target = 0;  // a link, or a rank
  double factor = 0;    // of the link's capacity that is left; how many times as long the rank takes
};

}  // namespace plait::sim
