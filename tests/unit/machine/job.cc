#include "job.h"

#include <cstring>
#include <numeric>

namespace plait::collectives::real::test {

namespace {

constexpr float kGap = -1;

// Weighed by rank, so that a missing, doubled or misplaced contribution shows; small, so that sums are exact.
float value(int rank, uint32_t chunk, uint64_t i) {
  return float((rank + 1) * int(1 + (uint64_t{chunk} * 5 + i * 7 + uint64_t(rank) * 13) % 11));
}

// The length of what rank `from` sends rank `to`, alike both ways: such calls can be in place.
uint64_t random_length(const Job& job, int from, int to) {
  std::seed_seq seed{job.seed, uint64_t(std::min(from, to)), uint64_t(std::max(from, to))};
  std::mt19937 random(seed);
  if (random() % 4 == 0) return 0;
  return random() % (random() % 2 == 0 ? 16 : job.count + 1);
}

// Parts of these lengths in any order, with gaps.
std::vector<Part> lay(const std::vector<uint64_t>& lengths, std::mt19937_64& random) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<Part> parts(lengths.size());
  uint64_t at = 0;
  for (size_t slot : order) {
    at += random() % 3;
    parts[slot] = {at, lengths[slot]};
    at += lengths[slot];
  }
  return parts;
}

}  // namespace

std::string Job::describe() const {
  return std::string(name_of(collective())) + " by " + std::string(name()) + ", n=" + std::to_string(ranks) +
         " root=" + std::to_string(root) + " count=" + std::to_string(count) + (in_place ? " in place" : "") +
         (uneven ? " uneven" : "") + (apart ? " apart" : "") + " segments of " +
         std::to_string(segment_bytes) + (store == Store::past_cache ? " past the cache" : "") + " seed " +
         std::to_string(seed);
}

bool fits_uneven(Collective collective, std::string_view algorithm) {
  switch (collective) {
    case Collective::reduce_scatter:
    case Collective::allgather:
      return true;
    case Collective::gather:
    case Collective::scatter:
      return algorithm == "linear";
    case Collective::alltoall:
      return algorithm == "pairwise";
    default:
      return false;
  }
}

namespace {

Job filled(std::mt19937_64& random, Job job) {
  static constexpr uint64_t kCounts[] = {0, 1, 2, 7, 14, 15, 100, 255, 256, 257, 3000, 4096, 20000};
  job.root = int(random() % uint64_t(job.ranks));
  job.in_place = random() % 2 == 0;
  job.count = kCounts[random() % std::size(kCounts)];
  job.uneven = fits_uneven(job.collective(), job.name()) && random() % 2 == 0;
  job.apart = random() % 4 == 0;
  job.segment_bytes = random() % 2 == 0 ? 4096 : kSegmentBytes;
  job.seed = random();
  job.store = random() % 2 == 0 ? Store::past_cache : Store::plain;
  return job;
}

}  // namespace

Job random_job(std::mt19937_64& random, const Algorithm& algorithm, int ranks) {
  return filled(random, {.algorithm = &algorithm, .ranks = ranks});
}
Job random_job(std::mt19937_64& random, const Method& added) {
  return filled(random, {.added = &added, .ranks = added.ranks});
}

View::View(const Job& job, int rank)
    : job_(job),
      rank_(rank),
      in_place_(job.in_place && (!rooted(job.collective()) || rank == job.root)),
      chunks_(job.chunks()) {
  mine_[0] = input_of(job.collective(), job.ranks, rank, job.root, chunks_);
  mine_[1] = output_of(job.collective(), job.ranks, rank, job.root, chunks_);
  for (auto& parts : parts_) parts.resize(chunks_);
  job.uneven ? lay_unevenly() : lay_evenly();
}

uint32_t View::slot(Buffer buffer, uint32_t chunk) const {
  return slot_of(job_.collective(), buffer, uint32_t(job_.ranks), uint32_t(rank_), chunk);
}

// Of what `rank` has as `chunk` in its input.
uint64_t View::length(int rank, uint32_t chunk) const {
  if (job_.uneven) {
    if (job_.collective() == Collective::alltoall)
      return random_length(job_, rank, int((uint32_t(rank) + chunk) % uint32_t(job_.ranks)));
    return random_length(job_, int(chunk), int(chunk));
  }
  return even_.length(kNowhere, chunk, 1);
}

void View::lay_evenly() {
  const Collective c = job_.collective();
  if (parted(c)) {
    even_ = {.element_bytes = 4, .elements = job_.count * uint64_t(job_.ranks), .per_chunk = job_.count};
    const uint64_t first = in_place_ ? 0 : uint64_t(rank_) * job_.count;
    if (c == Collective::allgather || c == Collective::gather) even_.input_first = first;
    if (c == Collective::reduce_scatter || c == Collective::scatter) even_.output_first = first;
  } else {
    even_ = even_layout(c == Collective::barrier ? 0 : job_.count, 4, chunks_);
  }
  set_segments(even_, joins(even_) && !job_.apart ? SIZE_MAX : job_.segment_bytes);
  if (job_.codec != nullptr && !fit_segments(even_, *job_.codec, job_.segment_bytes))
    ADD_FAILURE() << "no segment is short enough for " << job_.codec->name();
  for (int b : {0, 1}) {
    const uint64_t first = b == 0 ? even_.input_first : even_.output_first;
    for (uint32_t s = 0; s < chunks_; s++) {
      const uint64_t begin = std::min(s * even_.per_chunk, even_.elements);
      if (begin >= first) parts_[b][s] = {begin - first, even_.length(kNowhere, s, 1)};
    }
  }
}

// Every slot of which this rank knows; of one chunk's buffer, that slot alone.
void View::lay_unevenly() {
  std::mt19937_64 random(job_.seed + uint64_t(rank_) * 7919);
  for (int b : {0, 1}) {
    const Buffer buffer = b == 0 ? Buffer::input : Buffer::output;
    std::vector<uint64_t> lengths(chunks_);
    for (uint32_t c = mine_[b].first; c < mine_[b].end(); c++) {
      const auto sender = int((uint32_t(rank_) + uint32_t(job_.ranks) - c) % uint32_t(job_.ranks));
      const bool incoming = b == 1 && job_.collective() == Collective::alltoall;
      lengths[slot(buffer, c)] = length(incoming ? sender : rank_, c);
    }
    parts_[b] = lay(lengths, random);
  }
  if (in_place_) {
    const bool whole_output = mine_[1].count >= mine_[0].count;
    for (uint32_t s = 0; s < chunks_; s++) {
      Part &in = parts_[0][s], &out = parts_[1][s];
      if (whole_output && in.elements > 0) in = out;
      if (!whole_output && out.elements > 0) out = in;
    }
  }
  const Collective c = job_.collective();
  if (c == Collective::allgather || c == Collective::reduce_scatter) {
    for (uint32_t k = 0; k < chunks_; k++) lengths_.push_back(length(rank_, k));
  }
}

Layout View::layout() const {
  if (!job_.uneven) return even_;
  Layout layout = uneven_layout(4, parts_[0], parts_[1], lengths_);
  set_segments(layout, job_.segment_bytes);
  return layout;
}

float View::after(uint32_t chunk, uint64_t i) const {
  switch (job_.collective()) {
    case Collective::broadcast:
    case Collective::scatter:
      return value(job_.root, chunk, i);
    case Collective::allgather:
    case Collective::gather:
      return value(int(chunk), chunk, i);
    case Collective::alltoall:
      return value(int((uint32_t(rank_) + uint32_t(job_.ranks) - chunk) % uint32_t(job_.ranks)), chunk, i);
    default:
      break;
  }
  float sum = 0;
  for (int q = 0; q < job_.ranks; q++) sum += value(q, chunk, i);
  return sum;
}

void View::image(bool output, bool after, std::vector<float>& image) const {
  uint64_t end = 0;
  for (const auto& parts : parts_)
    for (const Part& part : parts) end = std::max(end, part.offset + part.elements);
  image.assign(end + 8, kGap);
  auto write = [&](int b, auto&& of) {
    for (uint32_t c = mine_[b].first; c < mine_[b].end(); c++) {
      const Part& part = parts_[b][slot(b == 0 ? Buffer::input : Buffer::output, c)];
      for (uint64_t i = 0; i < part.elements; i++) image[part.offset + i] = of(c, i);
    }
  };
  if (output == in_place_) write(0, [&](uint32_t c, uint64_t i) { return value(rank_, c, i); });
  if (after) write(1, [&](uint32_t c, uint64_t i) { return this->after(c, i); });
}

Status call_job(const Job& job, const View& view, int rank, Rank& r) {
  Planner planner(rank, job.ranks);
  Call call;
  call.layout = view.layout();
  if (job.added != nullptr) PLAIT_TRY(planner.add(*job.added));
  const Method& method = *planner.methods().find(job.collective(), job.name());
  Encoding encoding;
  if (job.codec != nullptr) encoding = {Encoded::all, job.codec->exact()};
  auto schedule =
      planner.schedule(method, job.root, view.in_place(), joins(call.layout) && !job.apart, false, encoding);
  if (!schedule.ok()) return schedule.status();
  call.codec = job.codec;
  if (!view.in_place()) call.store = job.store;
  call.schedule = *schedule;
  call.fold = job.fold != nullptr ? job.fold : fold_kernel(Dtype::float32, ReduceOp::sum);
  call.same_outputs =
      job.collective() != Collective::reduce_scatter && job.collective() != Collective::scatter;
  call.buffered = (*schedule)->program.min_credits > 0;
  const bool spread = job.collective() == Collective::broadcast && !r.is_crowded();
  const bool chained = job.collective() == Collective::allreduce && method.deterministic && method.all_meet;
  call.common = r.has_commons() && (chained || spread) && !job.uneven && job.codec == nullptr;
  if (call.common && spread) call.common_root = job.root;
  return r.run(call, view.in_place());
}

namespace {
Status compare(const Job& job, const char* what, const float* got, const std::vector<float>& want) {
  if (std::memcmp(got, want.data(), want.size() * sizeof(float)) == 0) return {};
  size_t i = 0;
  while (std::memcmp(&got[i], &want[i], sizeof(float)) == 0) i++;
  return {Code::internal, job.describe() + ": of the " + what + " element " + std::to_string(i) + " is " +
                              std::to_string(got[i]) + ", not " + std::to_string(want[i])};
}
}  // namespace

Status run_job(const Job& job, int rank, Rank& r) {
  const View view(job, rank);
  auto& [input, output, want] = r.images();
  view.input_before(input);
  view.output_before(output);
  view.output_after(want);
  auto* in = reinterpret_cast<float*>(r.input());
  auto* out = reinterpret_cast<float*>(r.output());
  std::memcpy(in, input.data(), input.size() * sizeof(float));
  std::memcpy(out, output.data(), output.size() * sizeof(float));
  Status status = call_job(job, view, rank, r);
  if (!status.ok()) return {status.code(), job.describe() + ": " + std::string(status.text())};
  if (job.collective() == Collective::barrier) return {};
  PLAIT_TRY(compare(job, "output", out, want));
  return compare(job, "input", in, input);
}

}  // namespace plait::collectives::real::test
