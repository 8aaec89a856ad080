// Where the bytes of a chunk lie: bound at execution, the only place where programs meet bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "collectives/program.h"

namespace plait::collectives::real {

// A contiguous piece of a buffer.
struct Extent {
  size_t offset = 0, bytes = 0;
};

// `elements` elements in chunks of `per_chunk` (the last ones may be short or empty), cut into `segments`
// inside each chunk. A buffer may hold only a window of the vector: input from element `input_first` on,
// output from `output_first`.
struct Layout {
  size_t element_bytes = 1;    // a power of two
  uint32_t element_shift = 0;  // its logarithm: set_segments() sees to it
  uint64_t elements = 0;
  uint64_t per_chunk = 0;
  uint64_t per_segment = 0;  // elements of a chunk in one segment
  uint32_t segments = 1;
  uint64_t input_first = 0, output_first = 0;

  uint64_t begin(uint32_t chunk) const noexcept { return std::min(uint64_t(chunk) * per_chunk, elements); }

  // Elements [first, first + count) of segment `s` of `count` chunks from `chunk` on. Several chunks are
  // contiguous only where there is one segment.
  void cut(uint32_t chunk, uint32_t count, uint32_t s, uint64_t* first, uint64_t* length) const noexcept {
    const uint64_t from = begin(chunk), to = begin(chunk + count);
    if (segments == 1) {
      *first = from;
      *length = to - from;
      return;
    }
    const uint64_t a = std::min(from + s * per_segment, to), b = std::min(a + per_segment, to);
    *first = a;
    *length = b - a;
  }
  size_t bytes(uint32_t chunk, uint32_t count, uint32_t s) const noexcept {
    uint64_t first, length;
    cut(chunk, count, s, &first, &length);
    return size_t(length) * element_bytes;
  }
  // Offset of a segment of `chunk` in the input or output buffer.
  size_t offset(Buffer buffer, uint32_t chunk, uint32_t count, uint32_t s) const noexcept {
    uint64_t first, length;
    cut(chunk, count, s, &first, &length);
    const uint64_t origin = buffer == Buffer::input ? input_first : output_first;
    // An empty piece may begin outside of the window.
    return length == 0 || first < origin ? 0 : size_t(first - origin) * element_bytes;
  }
  size_t largest_segment_bytes() const noexcept {
    return size_t(segments == 1 ? std::min(per_chunk, elements) : per_segment) * element_bytes;
  }
};

// Chunks begin on whole cache lines, so that no two ranks write one line.
constexpr uint64_t kGranuleBytes = 64;

// Cuts chunks into segments of at most `segment_bytes`.
inline void set_segments(Layout& layout, size_t segment_bytes) noexcept {
  layout.element_shift = uint32_t(std::countr_zero(layout.element_bytes));
  const uint64_t chunk = std::min(layout.per_chunk, layout.elements);
  const uint64_t chunk_bytes = chunk * layout.element_bytes;
  layout.segments = uint32_t(std::max<uint64_t>(1, (chunk_bytes + segment_bytes - 1) / segment_bytes));
  layout.per_segment = round_up((chunk + layout.segments - 1) / layout.segments,
                                std::max<uint64_t>(1, kGranuleBytes / layout.element_bytes));
}

// `elements` evenly over `chunks`.
inline Layout even_layout(uint64_t elements, size_t element_bytes, uint32_t chunks) noexcept {
  Layout layout{.element_bytes = element_bytes, .elements = elements};
  const uint64_t granule = std::max<uint64_t>(1, kGranuleBytes / element_bytes);
  layout.per_chunk = chunks <= 1 ? elements : round_up((elements + chunks - 1) / chunks, granule);
  return layout;
}

}  // namespace plait::collectives::real
