// What back ends that keep their own table of regions write to their peers, out of band: keys, and blobs like
// them that begin with a magic number and a version and end with a sum. No padding: every byte has a meaning,
// and is checked. Parsers are functions of the bytes alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"

namespace plait::transport {

// Who wrote it: `name` begins sentences ("tcp"), `title` is in them ("TCP").
struct Maker {
  std::string_view name, title;
  uint32_t magic = 0;
  uint16_t version = 0;
};

// 128 random bits. Whoever shows one has read the ticket that it is in.
using Token = std::array<uint64_t, 2>;
// In a time that does not depend on where they differ.
bool same_token(const Token& a, const Token& b) noexcept;

Token random_token() noexcept;

// FNV-1a: any one changed byte changes it.
uint64_t sum_of(ByteView bytes) noexcept;
template <class T>
uint64_t sum_of(const T& value) noexcept {
  return sum_of(bytes_of(value).first(sizeof value - sizeof value.sum));
}

// What a peer needs to import a region.
struct RegionKey {
  uint32_t magic = 0;
  uint16_t version = 0;
  uint8_t access = 0, zero = 0;
  uint64_t owner = 0;  // nonce of the domain
  uint64_t nonce = 0;
  uint64_t bytes = 0;
  uint32_t slot = 0, zero2 = 0;
  uint64_t sum = 0;
};
static_assert(sizeof(RegionKey) == 48);

// A `what` ("key") of `maker`, that has a magic number, a version and a sum. Code::invalid for what is
// damaged or something else, Code::version for what another plait wrote.
template <class T>
Result<T> parse_summed(ByteView view, const Maker& maker, std::string_view what) {
  const std::string thing = std::string(what) + " of " + std::string(maker.title);
  T parsed;
  const size_t bytes = view.size();
  if (!take(view, parsed) || !view.empty())
    return Status(Code::invalid, std::to_string(bytes) + " bytes are no " + thing);
  if (parsed.magic != maker.magic) return Status(Code::invalid, "not a " + thing);
  if (parsed.sum != sum_of(parsed)) return Status(Code::invalid, "a damaged " + thing);
  if (parsed.version != maker.version) {
    return Status(Code::version, "a " + thing + " of version " + std::to_string(parsed.version) + ", not " +
                                     std::to_string(maker.version) + ": all ranks must run the same plait");
  }
  return parsed;
}

Result<RegionKey> parse_region_key(ByteView bytes, const Maker& maker);

}  // namespace plait::transport
