// Where the bytes of a chunk lie: bound at execution, the only place where programs meet bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "collectives/program.h"

namespace plait::collectives::real {

// Where a slot of an uneven buffer lies, in elements from where the buffer begins.
struct Part {
  uint64_t offset = 0, elements = 0;
};

// Even: `elements` elements in chunks of `per_chunk` (the last ones may be short or empty), slot after slot.
// A buffer may hold only a window of the vector: input from element `input_first` on, output from
// `output_first`.
//
// Uneven: each slot of the input and output lies where `input` and `output` say, in any order, with gaps or
// empty. Every rank knows its own slots only: what it sends and gets is as long as the slot it comes from or
// goes to. `lengths` says how long chunks are that lie in neither, by chunk, where ranks know that. The
// length of each message travels with it, so two ranks that differ find out.
//
// Chunks are cut into segments, each inside of itself. Even: all into as many. Uneven: no rank may know the
// largest, so segments have a size, alike on all ranks, and a chunk has as many as it needs; beyond its first
// segment, what is empty is no message.
struct Layout {
  size_t element_bytes = 1;    // a power of two
  uint32_t element_shift = 0;  // its logarithm: set_segments() sees to it
  bool uneven = false;
  uint64_t elements = 0;
  uint64_t per_chunk = 0;    // uneven: of the largest chunk that this rank knows
  uint64_t per_segment = 0;  // elements of a chunk in one segment
  uint32_t segments = 1;
  uint64_t input_first = 0, output_first = 0;
  // Uneven, by slot and by chunk. Owned by whoever prepares the call, alive while it runs.
  const Part *input = nullptr, *output = nullptr;
  const uint64_t* lengths = nullptr;

  uint64_t begin(uint32_t chunk) const noexcept { return std::min(uint64_t(chunk) * per_chunk, elements); }

  // Elements of `count` chunks from `chunk` on, the first of which lies in `where`; uneven: of one chunk.
  uint64_t length(Place where, uint32_t chunk, uint32_t count) const noexcept {
    if (!uneven) [[likely]]
      return begin(chunk + count) - begin(chunk);
    if (where.in() == Buffer::input) return input[where.slot].elements;
    if (where.in() == Buffer::output) return output[where.slot].elements;
    return lengths[chunk];
  }
  // Bytes of segment `s` of them. Several chunks are contiguous only where there is one segment.
  size_t bytes(Place where, uint32_t chunk, uint32_t count, uint32_t s) const noexcept {
    const uint64_t all = length(where, chunk, count);
    if (segments == 1) return size_t(all) * element_bytes;
    const uint64_t from = std::min(s * per_segment, all);
    return size_t(std::min(per_segment, all - from)) * element_bytes;
  }
  // Offset of segment `s` of what lies in `where`, a slot of the input or output, in that buffer.
  size_t offset(Place where, uint32_t s) const noexcept {
    if (uneven) [[unlikely]]
      return uneven_offset(where, s);
    uint64_t first = begin(where.slot);
    if (segments != 1) first = std::min(first + s * per_segment, begin(where.slot + 1));
    const uint64_t origin = where.in() == Buffer::input ? input_first : output_first;
    // An empty piece may begin outside of the window.
    return first < origin ? 0 : size_t(first - origin) * element_bytes;
  }
  // Of all chunks together, where they are even.
  size_t all_bytes() const noexcept { return size_t(elements) * element_bytes; }
  size_t largest_segment_bytes() const noexcept {
    const uint64_t chunk = uneven ? per_chunk : std::min(per_chunk, elements);
    return size_t(segments == 1 ? chunk : per_segment) * element_bytes;
  }

 private:
  size_t uneven_offset(Place where, uint32_t s) const noexcept {
    const Part& part = (where.in() == Buffer::input ? input : output)[where.slot];
    if (part.elements == 0) return 0;  // where nothing lies there may be no buffer
    return size_t(part.offset + std::min(s * per_segment, part.elements)) * element_bytes;
  }
};

// Chunks begin on whole cache lines, so that no two ranks write one line.
constexpr uint64_t kGranuleBytes = 64;

// Cuts chunks into segments of at most `segment_bytes`, at least kGranuleBytes and alike on all ranks.
inline void set_segments(Layout& layout, size_t segment_bytes) noexcept {
  layout.element_shift = uint32_t(std::countr_zero(layout.element_bytes));
  const uint64_t granule = std::max<uint64_t>(1, kGranuleBytes / layout.element_bytes);
  const uint64_t chunk = layout.uneven ? layout.per_chunk : std::min(layout.per_chunk, layout.elements);
  if (layout.uneven) {
    layout.per_segment = segment_bytes / layout.element_bytes;
    layout.segments = uint32_t(std::max<uint64_t>(1, (chunk + layout.per_segment - 1) / layout.per_segment));
    return;
  }
  const uint64_t chunk_bytes = chunk * layout.element_bytes;
  layout.segments = uint32_t(std::max<uint64_t>(1, (chunk_bytes + segment_bytes - 1) / segment_bytes));
  layout.per_segment = round_up((chunk + layout.segments - 1) / layout.segments, granule);
}

// `elements` evenly over `chunks`.
inline Layout even_layout(uint64_t elements, size_t element_bytes, uint32_t chunks) noexcept {
  Layout layout{.element_bytes = element_bytes, .elements = elements};
  const uint64_t granule = std::max<uint64_t>(1, kGranuleBytes / element_bytes);
  layout.per_chunk = chunks <= 1 ? elements : round_up((elements + chunks - 1) / chunks, granule);
  return layout;
}

// Slots of the input and output as told, a Part for each slot that the program touches (a rank without
// that buffer: none). `lengths` by chunk where every rank knows how long all are; else empty, and the
// programs are those that move each chunk from an input straight to an output. No Part ends beyond
// SIZE_MAX bytes.
inline Layout uneven_layout(size_t element_bytes, std::span<const Part> input, std::span<const Part> output,
                            std::span<const uint64_t> lengths) noexcept {
  Layout layout{.element_bytes = element_bytes, .uneven = true};
  for (const auto& parts : {input, output})
    for (const Part& part : parts) layout.per_chunk = std::max(layout.per_chunk, part.elements);
  for (uint64_t length : lengths) layout.per_chunk = std::max(layout.per_chunk, length);
  layout.input = input.data();
  layout.output = output.data();
  layout.lengths = lengths.empty() ? nullptr : lengths.data();
  return layout;
}

// Whole messages of at most this, all chunks of the vector together, are sent as the program joins them
// (kMore, or several chunks a step). Beyond, each chunk travels by itself. Alike on all ranks.
constexpr uint64_t kJoinedBytes = 16 * 1024;

// Which form of a program runs this layout: as it is written, or chunk by chunk (Planner::schedule).
inline bool joins(const Layout& layout) noexcept {
  return !layout.uneven && layout.elements * layout.element_bytes <= kJoinedBytes;
}

}  // namespace plait::collectives::real
