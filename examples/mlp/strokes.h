// Digits drawn by a shaky hand: as many as are needed, and alike on every rank.
#pragma once

#include "mlp/data.h"

namespace mlp {

// `count` images of 12 x 12 pixels. Each is one of ten figures of straight strokes, whose corners are moved,
// which is turned, sheared, scaled and moved as a whole, drawn with a pen of some width, and blurred by
// noise; all at random.
Images draw_strokes(size_t count, uint64_t seed);

}  // namespace mlp
