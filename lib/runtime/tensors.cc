#include "runtime/tensors.h"

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
  uint64_t key, elements, turn, data_bytes;
  uint32_t sites, text_bytes;
  int32_t dtype;
  uint32_t unused;
};

Status bad(const std::string& why) { return {Code::invalid, "plait_codec_state_load: " + why}; }

Status make_room(TensorState& t, uint32_t sites) {
  const size_t before = t.data ? t.bytes() : 0;
  t.sites = sites;
  const size_t bytes = t.bytes();
  if (bytes == 0 || bytes <= before) return {};
  Mapping data = map_pages(bytes);
  if (!data) {
    return {Code::memory, "no " + std::to_string(bytes) + " bytes for what codec " + t.codec->text +
                              " leaves out of a tensor"};
  }
  if (before > 0) std::memcpy(data.data(), t.data.data(), before);
  t.data = std::move(data);
  return {};
}

// Takes one tensor off the front of `bytes`.
Result<std::pair<uint64_t, std::unique_ptr<TensorState>>> read_tensor(ByteView& bytes) {
  TensorHead head;
  if (!take(bytes, head)) return bad("the bytes end early");
  if (head.text_bytes > bytes.size() || head.dtype < 0 || head.dtype >= collectives::kDtypes)
    return bad("a tensor makes no sense");
  const std::string text(reinterpret_cast<const char*>(bytes.data()), head.text_bytes);
  bytes = bytes.subspan(head.text_bytes);
  auto codec = use_codec(text, collectives::Dtype(head.dtype));
  if (!codec.ok()) return bad("codec \"" + text + "\" is not known: " + std::string(codec.status().text()));
  auto t = std::make_unique<TensorState>();
  t->codec = *codec;
  t->dtype = collectives::Dtype(head.dtype);
  t->elements = head.elements;
  t->turn = head.turn;
  const uint64_t each = (*codec)->codec->state_bytes();
  uint64_t want = 0;
  if (__builtin_mul_overflow(head.elements, each * head.sites, &want) || want != head.data_bytes ||
      want > bytes.size()) {
    return bad("a tensor is cut short");
  }
  PLAIT_TRY(make_room(*t, head.sites));
  if (want > 0) std::memcpy(t->data.data(), bytes.data(), want);
  bytes = bytes.subspan(want);
  return std::pair(head.key, std::move(t));
}

}  // namespace

Result<TensorState*> Tensors::find(uint64_t key, const CodecUse& codec, collectives::Dtype dtype,
                                   uint64_t elements, uint32_t sites) {
  std::unique_ptr<TensorState>& t = by_key_[key];
  if (t == nullptr) {
    t = std::make_unique<TensorState>();
    t->codec = &codec;
    t->dtype = dtype;
    t->elements = elements;
  }
  if (t->elements != elements || t->dtype != dtype || t->codec->codec->name() != codec.codec->name()) {
    return Status(Code::invalid,
                  "tensor_key " + std::to_string(key) + " is of " + std::to_string(t->elements) + " " +
                      std::string(dtype_name(int32_t(t->dtype))) + " encoded by " + t->codec->codec->name() +
                      ", and now given to " + std::to_string(elements) + " " +
                      std::string(dtype_name(int32_t(dtype))) + " encoded by " + codec.codec->name() +
                      ": take another key");
  }
  if (sites > t->sites) PLAIT_TRY(make_room(*t, sites));
  return t.get();
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
  std::map<uint64_t, std::unique_ptr<TensorState>> loaded;
  for (uint64_t i = 0; i < head.tensors; i++) {
    auto t = read_tensor(rest);
    if (!t.ok()) return t.status();
    loaded.insert(std::move(*t));
  }
  if (!rest.empty()) return bad("bytes are left over");
  by_key_ = std::move(loaded);
  return {};
}

}  // namespace plait::runtime
