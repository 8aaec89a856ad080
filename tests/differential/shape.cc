#include <cstring>

#include "differential/call.h"
#include "differential/values.h"

namespace plait::differential {

using collectives::Collective;

namespace {

constexpr uint64_t kOwned = 1;  // salt of counts that all ranks know

// What rank `from` sends to each in an alltoallv.
std::vector<int> sent_by(const Case& c, int n, int from) { return counts_of(c, n, 100 + uint64_t(from)); }

void set_in(Shape& s, std::vector<int> counts, std::vector<int> places) {
  s.in_elements = size_t(places.back());
  s.in_counts = std::move(counts);
  s.in_places = std::move(places);
}
void set_out(Shape& s, std::vector<int> counts, std::vector<int> places) {
  s.out_elements = size_t(places.back());
  s.out_counts = std::move(counts);
  s.out_places = std::move(places);
}

void set_one(Shape& s, bool in, int count) {
  in ? set_in(s, {count}, {0, count}) : set_out(s, {count}, {0, count});
}

Shape alltoall(const Case& c, int rank, int n) {
  Shape s;
  std::vector<int> counts = sent_by(c, n, rank), got;
  for (int from = 0; from < n; from++) got.push_back(sent_by(c, n, from)[size_t(rank)]);
  // In place a part goes and comes at one place, so that both are of one size: MPI and plait ask for that.
  if (c.in_place && c.uneven) {
    for (int other = 0; other < n; other++) {
      counts[size_t(other)] = sent_by(c, n, std::min(rank, other))[size_t(std::max(rank, other))];
    }
    got = counts;
  }
  set_in(s, counts, places_of(c, counts, true));
  set_out(s, got, places_of(c, got, true));
  return s;
}

}  // namespace

Shape shape_of(const Case& c, int rank, int n) {
  Shape s;
  if (c.collective == Collective::alltoall) return alltoall(c, rank, n);
  const bool at_root = rank == c.root;
  const auto owned = counts_of(c, n, kOwned);
  const int mine = collectives::parted(c.collective) ? owned[size_t(rank)] : int(c.count);
  switch (c.collective) {
    case Collective::reduce_scatter:
      set_in(s, owned, places_of(c, owned, false));
      set_one(s, false, mine);
      s.in_at = 0;
      break;
    case Collective::allgather:
    case Collective::gather:
      set_one(s, true, mine);
      set_out(s, owned, places_of(c, owned, true));
      s.in_at = size_t(s.out_places[size_t(rank)]);
      break;
    case Collective::scatter:
      set_in(s, owned, places_of(c, owned, true));
      set_one(s, false, mine);
      break;
    default:
      set_one(s, true, mine);
      set_one(s, false, mine);
  }
  s.has_in = at_root || (c.collective != Collective::broadcast && c.collective != Collective::scatter);
  s.has_out = at_root || (c.collective != Collective::reduce && c.collective != Collective::gather);
  return s;
}

Buffers fill(const Case& c, const Shape& s, int rank) {
  const size_t element = c.dtype->size;
  Buffers b;
  b.in.assign(s.has_in ? s.in_elements * element : 0, std::byte{0x5A});
  b.out.assign(s.has_out ? s.out_elements * element : 0, std::byte{0xA5});
  for (size_t p = 0, index = 0; s.has_in && p < s.in_counts.size(); p++) {
    for (int i = 0; i < s.in_counts[p]; i++, index++) {
      store_value(*c.dtype, c.seed, rank, index,
                  b.in.data() + (size_t(s.in_places[p]) + size_t(i)) * element);
    }
  }
  if (!c.in_place || !s.has_in || !s.has_out) return b;
  if (c.collective == Collective::reduce_scatter || c.collective == Collective::scatter) {
    b.out.clear();  // it is a part of the input
  } else {
    // Empty vectors have no address to copy from.
    if (!b.in.empty()) std::memcpy(b.out.data() + s.in_at * element, b.in.data(), b.in.size());
    b.in.clear();
  }
  return b;
}

}  // namespace plait::differential
