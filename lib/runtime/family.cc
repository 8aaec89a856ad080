#include "runtime/family.h"

#include <algorithm>

#include "base/text.h"

namespace plait::runtime {
namespace {

constexpr size_t kMostText = 512, kMostNamed = 8;

struct WishHead {
  int32_t color, key, code;
  uint32_t text_bytes;
};

}  // namespace

Bytes encode(const Wish& wish) {
  const std::string_view text = wish.status.text().substr(0, kMostText);
  Bytes to;
  append(to, WishHead{wish.color, wish.key, int32_t(wish.status.code()), uint32_t(text.size())});
  const auto bytes = std::as_bytes(std::span(text));
  to.insert(to.end(), bytes.begin(), bytes.end());
  to.insert(to.end(), wish.card.begin(), wish.card.end());
  return to;
}

bool decode(ByteView from, Wish& wish) {
  WishHead head{};
  if (!take(from, head) || head.text_bytes > kMostText || head.text_bytes > from.size() || head.code > 0 ||
      head.code < int32_t(Code::internal))
    return false;
  std::string text(reinterpret_cast<const char*>(from.data()), head.text_bytes);
  make_printable(text);
  wish.color = head.color;
  wish.key = head.key;
  wish.status = head.code == 0 ? Status() : Status(Code(head.code), std::move(text));
  from = from.subspan(head.text_bytes);
  wish.card.assign(from.begin(), from.end());
  return true;
}

Result<Family> family_of(const std::vector<Wish>& wishes, int32_t rank, uint64_t operation) {
  const int32_t color = wishes[size_t(rank)].color;
  Family family;
  for (size_t r = 0; r < wishes.size(); r++) {
    if (wishes[r].color == color) family.ranks.push_back(int32_t(r));
  }
  std::stable_sort(family.ranks.begin(), family.ranks.end(),
                   [&](int32_t a, int32_t b) { return wishes[size_t(a)].key < wishes[size_t(b)].key; });
  for (int32_t r : family.ranks) {
    const Wish& wish = wishes[size_t(r)];
    if (!wish.status.ok()) {
      return Status(wish.status.code(),
                    "rank " + std::to_string(r) +
                        " cannot take part in a new communicator: " + std::string(wish.status.text()));
    }
    if (r == rank) family.rank = int32_t(family.cards.size());
    family.cards.push_back(wish.card);
  }
  // Later operations are told apart for 2^32 of them; a child is made in one.
  family.number = operation << 32 | uint32_t(color);
  family.name = std::to_string(operation) + "." + std::to_string(color);
  return family;
}

std::string describe(const Family& family) {
  std::string own, parents;
  for (size_t i = 0; i < std::min(family.ranks.size(), kMostNamed); i++) {
    own += (i == 0 ? "" : ", ") + std::to_string(i);
    parents += (i == 0 ? "" : ", ") + std::to_string(family.ranks[i]);
  }
  const std::string more = family.ranks.size() > kMostNamed ? ", ..." : "";
  return "ranks " + own + more + " are ranks " + parents + more + " of its parent";
}

}  // namespace plait::runtime
