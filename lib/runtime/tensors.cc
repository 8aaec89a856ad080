#include "runtime/tensors.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "runtime/names.h"

namespace plait::runtime {

namespace {

// Of what save() writes. Tensors follow, each a TensorHead, its codec's text, its data; then fnv1a of it all.
struct Head {
  char magic[8];
  int32_t rank, size;
  uint64_t tensors;
};
constexpr char kMagic[8] = {'p', 'l', 'a', 'i', 't', 'c', 's', '1'};

struct TensorHead {
  uint64_t key, elements, turn, data_bytes, rows;
  uint32_t sites, text_bytes;
  int32_t dtype;
  uint32_t unused;
};

Status bad(const std::string& why) { return {Code::invalid, "plait_codec_state_load: " + why}; }

Status no_room(size_t bytes, const TensorState& t) {
  return {Code::memory, "no " + std::to_string(bytes) + " bytes for what codec " + t.codec->text +
                            " leaves out of a tensor"};
}

Status make_room(TensorState& t, uint32_t sites) {
  const size_t before = t.data ? t.bytes() : 0;
  t.sites = sites;
  const size_t bytes = t.bytes();
  if (bytes == 0 || bytes <= before) return {};
  Mapping data = map_pages(bytes);
  if (!data) return no_room(bytes, t);
  if (before > 0) std::memcpy(data.data(), t.data.data(), before);
  t.data = std::move(data);
  return {};
}

Status make_factors(TensorState& t, const collectives::lowrank::Shape& shape) {
  const size_t bytes = LowRank::floats(shape) * sizeof(float);
  t.data = map_pages(bytes);
  if (!t.data) return no_room(bytes, t);
  t.low_rank = std::make_unique<LowRank>();
  t.low_rank->shape = shape;
  t.low_rank->lie_at(reinterpret_cast<float*>(t.data.data()));
  return {};
}

// The matrix of a tensor that was saved: false, when it makes no sense.
bool shape_of(const TensorHead& head, size_t rank, collectives::lowrank::Shape* shape) {
  if (head.rows == 0 || head.elements % head.rows != 0) return false;
  *shape = {size_t(head.rows), size_t(head.elements / head.rows), rank};
  shape->rank = std::min({rank, shape->rows, shape->columns});
  return true;
}

// Takes one tensor off the front of `bytes`.
Result<std::pair<uint64_t, TensorState>> read_tensor(ByteView& bytes) {
  TensorHead head;
  if (!take(bytes, head)) return bad("the bytes end early");
  if (head.text_bytes > bytes.size() || head.dtype < 0 || head.dtype >= collectives::kDtypes ||
      head.data_bytes > bytes.size() - head.text_bytes)
    return bad("a tensor makes no sense");
  const std::string text(reinterpret_cast<const char*>(bytes.data()), head.text_bytes);
  bytes = bytes.subspan(head.text_bytes);
  auto codec = use_codec(text, collectives::Dtype(head.dtype));
  if (!codec.ok()) return bad("codec \"" + text + "\" is not known: " + std::string(codec.status().text()));
  TensorState t;
  t.codec = *codec;
  t.dtype = collectives::Dtype(head.dtype);
  t.elements = head.elements;
  t.turn = head.turn;
  const size_t rank = (*codec)->rank, each = rank > 0 ? sizeof(float) : (*codec)->codec->state_bytes();
  uint64_t least = 0;  // and no product below overflows
  if (__builtin_mul_overflow(head.elements, uint64_t(each) * std::max(1u, head.sites), &least) ||
      least > head.data_bytes)
    return bad("a tensor is cut short");
  collectives::lowrank::Shape shape{};
  if (rank > 0) {
    if (!shape_of(head, rank, &shape)) return bad("a tensor makes no sense");
    PLAIT_TRY(make_factors(t, shape));
  } else {
    PLAIT_TRY(make_room(t, head.sites));
  }
  if (t.bytes() != head.data_bytes) return bad("a tensor is cut short");
  if (t.bytes() > 0) std::memcpy(t.data.data(), bytes.data(), t.bytes());
  bytes = bytes.subspan(t.bytes());
  return std::pair(head.key, std::move(t));
}

bool is_alike(const TensorState& a, const TensorState& b) {
  return a.elements == b.elements && a.dtype == b.dtype && a.codec->name() == b.codec->name() &&
         (a.low_rank == nullptr || a.low_rank->shape.rows == b.low_rank->shape.rows);
}

// `to` goes on as `from`: what plans know of it stays where it is.
Status take_over(TensorState& to, TensorState& from) {
  if (to.low_rank != nullptr) {
    std::memcpy(to.data.data(), from.data.data(), to.bytes());
  } else {
    PLAIT_TRY(make_room(from, std::max(from.sites, to.sites)));
    to.sites = from.sites;
    to.data = std::move(from.data);
  }
  to.turn = from.turn;
  return {};
}

void forget(TensorState& t) {
  if (t.bytes() > 0) std::memset(t.data.data(), 0, t.bytes());
  t.turn = 0;
}

}  // namespace

size_t TensorState::bytes() const noexcept {
  if (low_rank != nullptr) return LowRank::kept_floats(low_rank->shape) * sizeof(float);
  return codec->codec == nullptr ? 0 : size_t(elements) * sites * codec->codec->state_bytes();
}

Result<TensorState*> Tensors::enter(uint64_t key, const CodecUse& codec, collectives::Dtype dtype,
                                    uint64_t elements) {
  std::unique_ptr<TensorState>& t = by_key_[key];
  if (t == nullptr) {
    t = std::make_unique<TensorState>();
    t->codec = &codec;
    t->dtype = dtype;
    t->elements = elements;
  }
  if (t->elements == elements && t->dtype == dtype && t->codec->name() == codec.name()) return t.get();
  auto text = [](uint64_t count, collectives::Dtype of, const CodecUse& by) {
    return std::to_string(count) + " " + std::string(dtype_name(int32_t(of))) + " encoded by " + by.name();
  };
  return Status(Code::invalid, "tensor_key " + std::to_string(key) + " is of " +
                                   text(t->elements, t->dtype, *t->codec) + ", and now given to " +
                                   text(elements, dtype, codec) + ": take another key");
}

Result<TensorState*> Tensors::find(uint64_t key, const CodecUse& codec, collectives::Dtype dtype,
                                   uint64_t elements, uint32_t sites) {
  auto t = enter(key, codec, dtype, elements);
  if (t.ok() && sites > (*t)->sites) PLAIT_TRY(make_room(**t, sites));
  return t;
}

Result<TensorState*> Tensors::find(uint64_t key, const CodecUse& codec,
                                   const collectives::lowrank::Shape& shape) {
  auto t = enter(key, codec, collectives::Dtype::float32, uint64_t(shape.rows) * shape.columns);
  if (!t.ok()) return t;
  if ((*t)->low_rank == nullptr) PLAIT_TRY(make_factors(**t, shape));
  if ((*t)->low_rank->shape.rows == shape.rows) return t;
  return Status(Code::invalid, "tensor_key " + std::to_string(key) + " is of " +
                                   std::to_string((*t)->low_rank->shape.rows) + " rows, and now given to " +
                                   std::to_string(shape.rows) + ": take another key");
}

Bytes Tensors::save(int32_t rank, int32_t size) const {
  Bytes all;
  Head head{.magic = {}, .rank = rank, .size = size, .tensors = by_key_.size()};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  append(all, head);
  for (const auto& [key, t] : by_key_) {
    append(all, TensorHead{.key = key,
                           .elements = t->elements,
                           .turn = t->turn,
                           .data_bytes = t->bytes(),
                           .rows = t->low_rank == nullptr ? 0 : t->low_rank->shape.rows,
                           .sites = t->sites,
                           .text_bytes = uint32_t(t->codec->text.size()),
                           .dtype = int32_t(t->dtype),
                           .unused = 0});
    const auto text = std::as_bytes(std::span(t->codec->text));
    all.insert(all.end(), text.begin(), text.end());
    if (t->bytes() > 0) all.insert(all.end(), t->data.data(), t->data.data() + t->bytes());
  }
  append(all, fnv1a(ByteView(all)));
  return all;
}

Status Tensors::load(ByteView bytes, int32_t rank, int32_t size) {
  uint64_t sum = 0;
  if (bytes.size() < sizeof(Head) + sizeof sum) return bad("these are no bytes of plait_codec_state_save");
  std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
  bytes = bytes.first(bytes.size() - sizeof sum);
  Head head;
  ByteView rest = bytes;
  (void)take(rest, head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0)
    return bad("these are no bytes of plait_codec_state_save");
  if (fnv1a(bytes) != sum) return bad("the bytes were changed, or cut short");
  if (head.rank != rank || head.size != size) {
    return bad("saved by rank " + std::to_string(head.rank) + " of " + std::to_string(head.size) +
               ", loaded by rank " + std::to_string(rank) + " of " + std::to_string(size));
  }
  std::map<uint64_t, TensorState> loaded;
  for (uint64_t i = 0; i < head.tensors; i++) {
    auto t = read_tensor(rest);
    if (!t.ok()) return t.status();
    const auto here = by_key_.find(t->first);
    if (here != by_key_.end() && !is_alike(*here->second, t->second))
      return bad("tensor_key " + std::to_string(t->first) + " is of another tensor here");
    loaded.insert(std::move(*t));
  }
  if (!rest.empty()) return bad("bytes are left over");
  for (auto& [key, t] : by_key_) {
    if (const auto with = loaded.find(key); with != loaded.end()) {
      PLAIT_TRY(take_over(*t, with->second));
    } else {
      forget(*t);
    }
  }
  for (auto& [key, t] : loaded)
    if (!by_key_.contains(key)) by_key_.emplace(key, std::make_unique<TensorState>(std::move(t)));
  return {};
}

}  // namespace plait::runtime
