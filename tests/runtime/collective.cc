#include "runtime/collective.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/value.h"

namespace plait::test {
namespace {

constexpr unsigned char kUntouched = 0x5a;
constexpr size_t kBehind = 16;     // bytes that are looked at behind a buffer
constexpr uint64_t kApart = 1009;  // between the values of two blocks of one rank

// Elements of a buffer and their values: those of rank `of`, or of the reduction (-1), from `first` on.
struct Piece {
  size_t offset, count;
  int of;
  uint64_t first;
};
using Pieces = std::vector<Piece>;

// Where the blocks of a buffer lie.
struct Blocks {
  std::vector<size_t> counts, displacements;
  const size_t* given = nullptr;  // displacements, as the call gets them
};

// Gaps and order by the seed and the rank; even calls are packed.
Blocks lay(const Case& c, const std::vector<size_t>& counts, int rank) {
  Blocks b{counts, std::vector<size_t>(counts.size()), nullptr};
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::mt19937 random(c.gaps * 31 + unsigned(rank));
  if (c.gaps != 0) std::shuffle(order.begin(), order.end(), random);
  size_t end = 0;
  for (size_t r : order) {
    if (c.gaps != 0) end += random() % 5;
    b.displacements[r] =
        counts[r] == 0 && c.gaps != 0 ? SIZE_MAX / 4 : end;  // of nothing, it does not matter
    end += counts[r];
  }
  return b;
}

// A call on one rank.
struct Mine {
  const Case& c;
  int rank, size;
  Blocks in, out;  // where this rank has one of each rank
  Pieces gives, gets;
  bool reads, writes;   // uses its `in`, its `out`
  size_t own_in_other;  // in place: where the rank's own block lies in the buffer of all

  Mine(const Case& k, int r, int n) : c(k), rank(r), size(n), reads(true), writes(true), own_in_other(0) {
    const bool root = r == c.root;
    switch (c.kind) {
      case Kind::allreduce:
      case Kind::reduce:
        gives = {{0, c.count, r, 0}};
        gets = {{0, c.count, -1, 0}};
        writes = c.kind == Kind::allreduce || root;
        break;
      case Kind::broadcast:
        gives = gets = {{0, c.count, c.root, 0}};
        reads = root;
        break;
      case Kind::reduce_scatter: {
        Case packed = c;
        packed.gaps = 0;
        in = lay(packed, counts(), r);
        for (size_t b = 0; b < size_t(n); b++) gives.push_back(piece(in, b, r, in.displacements[b]));
        gets = {{0, counts()[size_t(r)], -1, in.displacements[size_t(r)]}};
        own_in_other = in.displacements[size_t(r)];
        break;
      }
      case Kind::allgather:
      case Kind::gather:
        out = lay(c, counts(), r);
        gives = {{0, counts()[size_t(r)], r, 0}};
        for (size_t b = 0; b < size_t(n); b++) gets.push_back(piece(out, b, int(b), 0));
        own_in_other = out.displacements[size_t(r)];
        writes = c.kind == Kind::allgather || root;
        break;
      case Kind::scatter:
        in = lay(c, counts(), r);
        for (size_t b = 0; b < size_t(n); b++) gives.push_back(piece(in, b, r, b * kApart));
        gets = {{0, counts()[size_t(r)], c.root, uint64_t(r) * kApart}};
        own_in_other = in.displacements[size_t(r)];
        reads = root;
        break;
      case Kind::alltoall:
        in = lay(c, sent(r), r);
        out = c.in_place ? in : lay(c, received(r), r + n);
        for (size_t b = 0; b < size_t(n); b++) {
          gives.push_back(piece(in, b, r, b * kApart));
          gets.push_back(piece(out, b, int(b), uint64_t(r) * kApart));
        }
        break;
    }
    if (!reads) gives.clear();
    if (!writes) gets.clear();
    for (Blocks* b : {&in, &out}) b->given = c.gaps != 0 ? b->displacements.data() : nullptr;
  }

  static Piece piece(const Blocks& b, size_t block, int of, uint64_t first) {
    return {b.counts[block] == 0 ? 0 : b.displacements[block], b.counts[block], of, first};
  }
  std::vector<size_t> counts() const {
    return c.uneven() ? c.counts : std::vector<size_t>(size_t(size), c.count);
  }
  std::vector<size_t> sent(int from) const {
    if (!c.uneven()) return counts();
    const auto* row = &c.counts[size_t(from) * size_t(size)];
    return {row, row + size};
  }
  std::vector<size_t> received(int to) const {
    std::vector<size_t> column(size_t(size), c.count);
    for (size_t r = 0; c.uneven() && r < column.size(); r++)
      column[r] = c.counts[r * size_t(size) + size_t(to)];
    return column;
  }
  // The whole buffer that the other one is a part of, in place.
  bool out_is_whole() const { return c.kind == Kind::allgather || c.kind == Kind::gather; }
  bool in_place() const { return c.in_place && (!rooted(c.kind) || rank == c.root); }
};

struct Pointers {
  char *in, *out;
};

Pointers place(const Mine& m, const Room& room) {
  Pointers p{room.first, room.second};
  if (m.in_place()) {
    char* own = room.second + (m.own_in_other >= SIZE_MAX / 4 ? 0 : m.own_in_other * size_of(m.c.dtype));
    p = {m.out_is_whole() ? own : room.second, m.out_is_whole() ? room.second : own};
    if (m.c.kind != Kind::allgather && m.c.kind != Kind::gather && m.c.kind != Kind::reduce_scatter &&
        m.c.kind != Kind::scatter) {
      p.in = p.out = room.second;
    }
  }
  if (!m.reads) p.in = nullptr;
  if (!m.writes) p.out = nullptr;
  return p;
}

plait_op op_of(const Case& c) { return reduces(c.kind) ? c.op : plait_op(PLAIT_SUM); }

int64_t value(const Mine& m, const Piece& p, size_t i, int turn) {
  const uint64_t at = p.first + i + uint64_t(turn) * 3;
  return p.of < 0 ? reduced(m.size, at, m.c.op, m.c.dtype) : element(p.of, m.size, at, op_of(m.c), m.c.dtype);
}

void fill(const Mine& m, const Pointers& p, const Room& room, int turn) {
  std::memset(room.first, kUntouched, room.bytes);
  std::memset(room.second, kUntouched, room.bytes);
  const size_t e = size_of(m.c.dtype);
  for (const Piece& piece : m.gives) {
    store_all(p.in + piece.offset * e, m.c.dtype, piece.count,
              [&](size_t i) { return value(m, piece, i, turn); });
  }
}

std::string check(const Mine& m, const Pointers& p, const Room& room, int turn) {
  const size_t e = size_of(m.c.dtype);
  std::vector<std::pair<const char*, const char*>> touched;
  for (const Piece& piece : m.gets) {
    const char* at = p.out + piece.offset * e;
    auto wanted = [&](size_t i) { return value(m, piece, i, turn); };
    if (auto i = first_wrong(at, m.c.dtype, piece.count, wanted)) {
      return name(m.c) + ": element " + std::to_string(*i) + " of what comes from rank " +
             std::to_string(piece.of) + " is wrong";
    }
    touched.emplace_back(at, at + piece.count * e);
  }
  for (const Piece& piece : m.gives)
    touched.emplace_back(p.in + piece.offset * e, p.in + (piece.offset + piece.count) * e);
  std::sort(touched.begin(), touched.end());
  for (const char* buffer : {room.first, room.second}) {
    const char* at = buffer;
    auto untouched = [&](const char* end) {
      return std::all_of(at, std::max(at, end), [](char b) { return (unsigned char)(b) == kUntouched; });
    };
    for (const auto& [from, to] : touched) {
      if (from < buffer || from >= buffer + room.bytes || from == to) continue;
      if (!untouched(from)) return name(m.c) + ": wrote between its blocks";
      at = std::max(at, to);
    }
    if (!untouched(std::min(at + kBehind, const_cast<const char*>(buffer) + room.bytes)))
      return name(m.c) + ": wrote behind its buffer";
  }
  return {};
}

// One set of arguments for each collective, for its call and its plan.
plait_status invoke(const Mine& m, const Pointers& p, plait_comm* comm, plait_request** request) {
  const Case& c = m.c;
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.algorithm = c.algorithm;
  const bool plan = c.how == How::plan;
  const size_t* ins = m.in.counts.data();
  const size_t* outs = m.out.counts.data();
  const auto t = c.dtype;
  auto either = [&](auto call, auto planned, auto... args) {
    return (plan ? planned : call)(comm, args..., &config, request);
  };
  const size_t own = has_blocks(c.kind) && c.kind != Kind::alltoall ? m.counts()[size_t(m.rank)] : 0;
  const bool root = m.rank == c.root;
  switch (c.kind) {
    case Kind::allreduce:
      return either(plait_allreduce, plait_plan_allreduce, p.in, p.out, c.count, t, c.op);
    case Kind::reduce:
      return either(plait_reduce, plait_plan_reduce, p.in, p.out, c.count, t, c.op, c.root);
    case Kind::reduce_scatter:
      if (c.uneven())
        return either(plait_reduce_scatterv, plait_plan_reduce_scatterv, p.in, p.out, ins, t, c.op);
      return either(plait_reduce_scatter, plait_plan_reduce_scatter, p.in, p.out, c.count, t, c.op);
    case Kind::allgather:
      if (c.uneven())
        return either(plait_allgatherv, plait_plan_allgatherv, p.in, p.out, outs, m.out.given, t);
      return either(plait_allgather, plait_plan_allgather, p.in, p.out, c.count, t);
    case Kind::broadcast:
      return either(plait_broadcast, plait_plan_broadcast, p.in, p.out, c.count, t, c.root);
    case Kind::gather:
      if (c.uneven()) {
        return either(plait_gatherv, plait_plan_gatherv, p.in, own, p.out, root ? outs : nullptr,
                      root ? m.out.given : nullptr, t, c.root);
      }
      return either(plait_gather, plait_plan_gather, p.in, p.out, c.count, t, c.root);
    case Kind::scatter:
      if (c.uneven()) {
        return either(plait_scatterv, plait_plan_scatterv, p.in, root ? ins : nullptr,
                      root ? m.in.given : nullptr, p.out, own, t, c.root);
      }
      return either(plait_scatter, plait_plan_scatter, p.in, p.out, c.count, t, c.root);
    case Kind::alltoall:
      if (c.uneven()) {
        return either(plait_alltoallv, plait_plan_alltoallv, p.in, ins, m.in.given, p.out, outs, m.out.given,
                      t);
      }
      return either(plait_alltoall, plait_plan_alltoall, p.in, p.out, c.count, t);
  }
  return PLAIT_ERR_INTERNAL;
}

}  // namespace

std::string name(const Case& c) {
  static constexpr const char* kNames[] = {"allreduce", "reduce", "reduce_scatter", "allgather",
                                           "broadcast", "gather", "scatter",        "alltoall"};
  static constexpr const char* kHow[] = {"", ", request", ", plan"};
  std::string text = kNames[int(c.kind)];
  if (c.uneven()) {
    text += "v(";
    for (size_t count : c.counts) text += std::to_string(count) + " ";
    text += "gaps " + std::to_string(c.gaps);
  } else {
    text += "(" + std::to_string(c.count);
  }
  text += ", dtype " + std::to_string(c.dtype);
  if (reduces(c.kind)) text += ", op " + std::to_string(c.op);
  if (rooted(c.kind)) text += ", root " + std::to_string(c.root);
  if (c.algorithm != nullptr) text += ", " + std::string(c.algorithm);
  return text + (c.in_place ? ", in place" : "") + kHow[int(c.how)] + ")";
}

std::vector<size_t> random_counts(Kind kind, int size, size_t most, std::mt19937& random) {
  std::vector<size_t> counts(size_t(size) * (kind == Kind::alltoall ? size_t(size) : 1));
  for (size_t& count : counts) {
    const auto dice = random() % 10;
    count = dice < 3 ? 0 : random() % ((dice < 9 ? most / 8 : most) + 1);
  }
  return counts;
}

size_t room_for(const Case& c, int size) {
  size_t elements = c.count * size_t(size);
  for (size_t count : c.counts) elements += count;
  return (elements + 8 * size_t(size) + 64) * size_of(c.dtype);
}

plait_status call(const Case& c, plait_comm* comm, const Room& room, int rank, int size) {
  const Mine m(c, rank, size);
  const Pointers p = place(m, room);
  fill(m, p, room, 0);
  return invoke(m, p, comm, nullptr);
}

std::string run_case(const Case& c, plait_comm* comm, const Room& room, int rank, int size, int times) {
  plait_request* request = nullptr;
  for (int turn = 0; turn < times; turn++) {
    // Made anew in each turn: a plan and a request must not need the arrays any more.
    const Mine m(c, rank, size);
    const Pointers p = place(m, room);
    fill(m, p, room, turn);
    plait_status status = PLAIT_OK;
    if (c.how != How::plan || request == nullptr) {
      const Mine passing(c, rank, size);
      status = invoke(passing, p, comm, c.how == How::blocking ? nullptr : &request);
    }
    if (status == PLAIT_OK && c.how == How::plan) status = plait_start(request);
    if (status == PLAIT_OK && c.how != How::blocking) status = plait_wait(request);
    if (status == PLAIT_OK && c.how == How::request) status = plait_request_free(request);
    if (status != PLAIT_OK) return name(c) + ": " + plait_last_error(comm);
    if (std::string words = check(m, p, room, turn); !words.empty()) return words;
  }
  return c.how == How::plan && plait_request_free(request) != PLAIT_OK ? plait_last_error(comm) : "";
}

std::vector<std::string> algorithms_of(plait_comm* comm, Kind kind, const Room& room, int rank, int size) {
  const Case c{.kind = kind, .count = 1, .algorithm = "?"};
  const Mine m(c, rank, size);
  if (invoke(m, place(m, room), comm, nullptr) != PLAIT_ERR_UNSUPPORTED) return {};
  std::string text = plait_last_error(comm);
  const std::string intro = "there are: ";
  const size_t at = text.find(intro);
  if (at == text.npos) return {};
  text = text.substr(at + intro.size()) + ", ";
  std::vector<std::string> names;
  for (size_t end; (end = text.find(", ")) != text.npos; text = text.substr(end + 2))
    names.push_back(text.substr(0, end));
  return names;
}

}  // namespace plait::test
