// From a checked call to what the machine runs: the program, the layout, the fingerprint. Cached by shape.
#include <span>

#include "runtime/arguments.h"
#include "runtime/communicator.h"
#include "runtime/operators.h"

namespace plait::runtime {

using collectives::Collective;
using collectives::Range;
using collectives::real::Layout;
using collectives::real::Part;

namespace {

uint32_t fingerprint(const CallId& id, int32_t size) noexcept {
  uint64_t h = mix(uint64_t(size), id.count);
  h = mix(h, uint64_t(id.counts) << 32 | id.counts_hash);
  h = mix(h, uint64_t(id.kind) << 32 | uint32_t(id.dtype));
  h = mix(h, uint64_t(uint32_t(id.op)) << 32 | uint32_t(id.root));
  h = mix(h, uint64_t(id.algorithm) << 32 | id.in_place);
  h = mix(h, id.codec);
  return uint32_t(h >> 13);
}

// Points the blocks of `p.args` to copies of their own.
void keep_blocks(Prepared& p, int32_t size) {
  auto keep = [&](const size_t*& array, std::vector<size_t>& copy) {
    if (array == nullptr) return;
    copy.assign(array, array + size);
    array = copy.data();
  };
  keep(p.args.in_blocks.counts, p.in_counts);
  keep(p.args.in_blocks.displacements, p.in_displacements);
  keep(p.args.out_blocks.counts, p.out_counts);
  keep(p.args.out_blocks.displacements, p.out_displacements);
}

// What a buffer of an uneven call holds, by slot: blocks of all ranks, this rank's own, or nothing.
void place_blocks(const Args& a, const Blocks& blocks, bool own, int32_t rank, int32_t size,
                  std::vector<Part>& parts) {
  parts.clear();
  if (blocks.counts == nullptr && !own) return;
  parts.resize(size_t(size));
  if (blocks.counts == nullptr) {
    parts[size_t(rank)] = {0, a.count};
    return;
  }
  uint64_t packed = 0;
  for (size_t r = 0; r < size_t(size); r++) {
    parts[r] = {blocks.displacements != nullptr ? blocks.displacements[r] : packed, blocks.counts[r]};
    packed += blocks.counts[r];
  }
}

Layout uneven(Prepared& p, int32_t rank, int32_t size) {
  const Args& a = p.args;
  const bool gives = collectives::input_of(a.collective, size, rank, a.root, uint32_t(size)).count > 0;
  const bool gets = collectives::output_of(a.collective, size, rank, a.root, uint32_t(size)).count > 0;
  place_blocks(a, a.in_blocks, gives, rank, size, p.in_parts);
  place_blocks(a, a.out_blocks, gets, rank, size, p.out_parts);
  std::span<const uint64_t> lengths;
  if (counts_are_agreed(a)) lengths = a.in_blocks.counts != nullptr ? p.in_counts : p.out_counts;
  return collectives::real::uneven_layout(collectives::size_of(a.dtype), p.in_parts, p.out_parts, lengths);
}

// Slots [range.first, range.end()) of a buffer, one behind the other.
void place_pieces(Range range, const std::vector<uint64_t>& lengths, std::vector<Part>& parts) {
  parts.assign(range.count > 0 ? lengths.size() : 0, {});
  uint64_t at = 0;
  for (uint32_t c = range.first; c < range.end(); c++) {
    parts[c] = {at, lengths[c]};
    at += lengths[c];
  }
}

// An imported program may cut each rank's part into pieces that do not come out even: each has its own
// length.
Layout pieces_layout(Prepared& p, uint32_t chunks, int32_t rank, int32_t size) {
  const Args& a = p.args;
  const uint64_t pieces = chunks / uint32_t(size), most = (a.count + pieces - 1) / pieces;
  p.lengths.resize(chunks);
  for (uint32_t c = 0; c < chunks; c++)
    p.lengths[c] = std::min(most, a.count - std::min(a.count, c % pieces * most));
  place_pieces(collectives::input_of(a.collective, size, rank, a.root, chunks), p.lengths, p.in_parts);
  place_pieces(collectives::output_of(a.collective, size, rank, a.root, chunks), p.lengths, p.out_parts);
  return collectives::real::uneven_layout(collectives::size_of(a.dtype), p.in_parts, p.out_parts, p.lengths);
}

// `chunks`: into how many the method cuts the vector.
Layout layout_of(Prepared& p, uint32_t chunks, int32_t rank, int32_t size) {
  const Args& a = p.args;
  if (a.uneven) return uneven(p, rank, size);
  const size_t element = collectives::size_of(a.dtype);
  const uint64_t elements = elements_of(a, size), own = uint64_t(rank) * a.count;
  if (!collectives::parted(a.collective)) return collectives::real::even_layout(elements, element, chunks);
  const uint32_t pieces = chunks / uint32_t(size);  // of each rank's part
  if (a.count % pieces != 0) return pieces_layout(p, chunks, rank, size);
  Layout layout{.element_bytes = element, .elements = elements, .per_chunk = a.count / pieces};
  switch (a.collective) {
    case Collective::allgather:
    case Collective::gather:
      layout.input_first = own;
      break;
    case Collective::reduce_scatter:
    case Collective::scatter:
      layout.output_first = own;
      break;
    default:
      break;
  }
  return layout;
}

// What has each rank encode its values once; between hosts, where only that is encoded.
std::string_view edge_of(Collective collective, collectives::Encoded links,
                         const collectives::Methods& methods) {
  const bool gathers = collective == Collective::allreduce;
  if (gathers && links == collectives::Encoded::between_hosts)
    if (const auto* m = methods.find(collective, "direct/all_to_all")) return m->name;
  const auto* m = methods.find(collective, gathers ? "all_to_all" : "direct");
  return m == nullptr ? std::string_view() : m->name;
}

CallId id_of(const Args& a, int32_t op, const collectives::Method& method, bool in_place, int32_t size) {
  CallId id{.kind = uint32_t(a.collective),
            .dtype = int32_t(a.dtype),
            .op = collectives::reduces(a.collective) ? op : 0,
            .root = a.root,
            .algorithm = method.number + 1,
            .in_place = place_is_agreed(a) && in_place};
  if (a.uneven) id.counts = uint32_t(size);
  if (counts_are_agreed(a)) id.count = a.uneven ? elements_of(a, size) : a.count;
  if (a.uneven && counts_are_agreed(a)) {
    const size_t* counts = a.in_blocks.counts != nullptr ? a.in_blocks.counts : a.out_blocks.counts;
    id.counts_hash = hash_of_counts(counts, size) | 1;  // 0: there is none
  }
  return id;
}

}  // namespace

Result<plait_request*> Communicator::make(const Args& args, bool persistent) {
  Status status = broken();
  if (!status.ok()) {
    let_go(args.custom);
    return status;
  }
  plait_request* request = take_request(persistent);
  request->args = args;
  if (is_low_rank(args)) {
    status = make_low_rank(*request);
  } else if (persistent) {
    status = fill(args, request->own);
    request->prepared = &request->own;
  } else {
    request->prepared = &prepare(args, &status);
  }
  if (status.ok()) status = find_tensor(*request);
  if (!status.ok()) {
    release(request);
    return status;
  }
  request->args.in_blocks = request->args.out_blocks = {};  // the caller's
  request->algorithm = request->prepared->algorithm;
  return request;
}

const Prepared& Communicator::prepare(const Args& args, Status* status) {
  const bool inplace = in_place(args, config_.rank);
  auto fits = [&](const Prepared& p) {
    return p.valid && p.in_place == inplace && same_shape(p.args, args, config_.size);
  };
  if (fits(*latest_)) return *latest_;
  Prepared& slot = shapes_[mix(hash_of(args, config_.size), inplace) % kShapes];
  latest_ = &slot;
  if (fits(slot)) return slot;
  // A queued operation may still use the slot: it has copied nothing yet, and the running one not the blocks.
  while (head_ != nullptr) {
    bool used = false;
    for (plait_request* r = head_; r != nullptr; r = r->next) used = used || r->prepared == &slot;
    if (!used) break;
    plait_request* last = head_;
    wait(last);
  }
  *status = fill(args, slot);
  slot.valid = status->ok();
  return slot;
}

// `custom` is the operator of the request: `a` may be what is kept of it.
collectives::Shape Communicator::shape_of(const Args& a, const UserOperator* custom, bool in_place) const {
  const bool known = counts_are_agreed(a);
  return {.collective = a.collective,
          .bytes = known ? elements_of(a, config_.size) * collectives::size_of(a.dtype) : 0,
          .root = a.root,
          .in_place = place_is_agreed(a) && in_place,
          .uneven = a.uneven,
          .lengths_known = known,
          .commutes = custom == nullptr || custom->commutes,
          .deterministic = config_.deterministic,
          .algorithm = a.algorithm};
}

std::vector<collectives::Weighed> Communicator::candidates(const plait_request& plan) {
  return planner_->candidates(shape_of(plan.own.args, plan.args.custom, plan.own.in_place));
}

std::string Communicator::explain(const plait_request& plan) {
  return planner_->explain(shape_of(plan.own.args, plan.args.custom, plan.own.in_place));
}

// Whether the call is made with its codec: it may not pay.
Status Communicator::choose_codec(const Args& a, Prepared& p, collectives::Shape& shape) {
  p.codec = nullptr;
  if (a.codec == nullptr || a.codec->rank > 0 || config_.size == 1) return {};
  shape.encoding = a.codec->encoding();
  if (a.codec->edge && a.algorithm.empty()) {
    shape.algorithm = edge_of(a.collective, a.codec->links, methods());
    if (!planner_->choose(shape).ok()) shape.algorithm = {};
  }
  if (a.codec->always || planner_->pays(shape)) {
    p.codec = a.codec;
  } else {
    shape.encoding = {};
    shape.algorithm = a.algorithm;
  }
  return {};
}

plait_codec_stats Communicator::codec_stats() const noexcept {
  const auto encoded = machine_ == nullptr ? collectives::real::Machine::Encoded() : machine_->encoded();
  return {.struct_size = sizeof(plait_codec_stats),
          .calls = coded_calls_,
          .plain_calls = plain_calls_,
          .value_bytes = encoded.values + low_rank_.values,
          .wire_bytes = encoded.wires + low_rank_.wires};
}

// What a codec keeps of the request's tensor.
Status Communicator::find_tensor(plait_request& request) {
  if (request.low_rank != nullptr) return {};
  const Prepared& p = *request.prepared;
  if (p.codec == nullptr || !p.codec->has_state()) return {};
  auto tensor = tensors_.find(request.args.tensor_key, *p.codec, p.args.dtype,
                              elements_of(p.args, config_.size), p.call.schedule->sites);
  if (!tensor.ok()) return tensor.status();
  request.tensor = *tensor;
  return {};
}

Status Communicator::fill(const Args& args, Prepared& p) {
  namespace real = collectives::real;
  const int32_t rank = config_.rank, size = config_.size;
  p.valid = false;
  forget_ready(p);
  p.args = args;
  p.args.custom = nullptr;  // that is the request's; its number says the same
  if (args.uneven) keep_blocks(p, size);
  const Args& a = p.args;
  const size_t element = collectives::size_of(a.dtype);
  const Extents most = extents_of(a, rank, size);
  p.in_place = in_place(a, rank);
  p.connected = p.network = false;
  p.volley.forget();
  p.in_bytes = size_t(most.in) * element;
  p.out_bytes = size_t(most.out) * element;

  collectives::Shape shape = shape_of(a, args.custom, p.in_place);
  PLAIT_TRY(choose_codec(a, p, shape));
  auto method = planner_->choose(shape);
  if (!method.ok()) return method.status();
  real::Layout layout = layout_of(p, (*method)->chunks, rank, size);
  const bool joined = real::joins(layout) && p.codec == nullptr;
  real::set_segments(layout, joined ? SIZE_MAX : real::kSegmentBytes);
  const size_t longest =
      shape.encoding.which == collectives::Encoded::all ? real::kCodedSegmentBytes : real::kSegmentBytes;
  if (p.codec != nullptr && (layout.uneven || !real::fit_segments(layout, *p.codec->codec, longest)))
    return {Code::unsupported,
            "codec " + p.codec->text + " does not go with " + std::string((*method)->name)};
  const bool entering = contributions_enter(args, **method, size);
  auto schedule = planner_->schedule(**method, a.root, p.in_place, joined, entering, shape.encoding);
  if (!schedule.ok()) return schedule.status();
  p.id = id_of(a, compared(args), **method, p.in_place, size);
  if (p.codec != nullptr || (a.codec != nullptr && a.codec->rank > 0)) p.id.codec = a.codec->hash;
  p.algorithm = (*method)->name.data();
  if (args.maker != 0) p.id.kind = args.maker;
  p.hash = fingerprint(p.id, size);

  auto& call = p.call;
  call = {};
  call.schedule = *schedule;
  call.layout = layout;
  call.codec = p.codec == nullptr ? nullptr : p.codec->codec.get();
  bind_operator(args, entering, size, call);
  call.same_outputs = a.collective != Collective::reduce_scatter && a.collective != Collective::scatter;
  call.buffered = (*schedule)->program.min_credits > 0;
  const bool chained = a.collective == Collective::allreduce && (*method)->deterministic &&
                       (*method)->all_meet && !entering && args.custom == nullptr;
  const bool spread = a.collective == Collective::broadcast && !crowded_hosts_;
  call.common = has_commons_ && (chained || spread) && p.codec == nullptr && !layout.uneven;
  if (call.common && spread) call.common_root = a.root;
  if (crowded_hosts_) {
    call.eager_bytes = collectives::rooted(a.collective) ? collectives::real::kRootedEagerBytes
                                                         : collectives::real::kEagerBytes;
  }
  return {};
}

}  // namespace plait::runtime
