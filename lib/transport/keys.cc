#include "transport/keys.h"

#include <sys/random.h>

#include "base/hash.h"
#include "transport/transport.h"

namespace plait::transport {

bool same_token(const Token& a, const Token& b) noexcept { return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0; }

Token random_token() noexcept {
  Token token{};
  while (getrandom(&token, sizeof token, 0) != ssize_t(sizeof token)) {
  }
  return token;
}

uint64_t sum_of(ByteView bytes) noexcept { return fnv1a(bytes); }

Result<RegionKey> parse_region_key(ByteView bytes, const Maker& maker) {
  auto key = parse_summed<RegionKey>(bytes, maker, "key");
  if (key.ok() &&
      (key->zero != 0 || key->zero2 != 0 || key->access > uint8_t(Access::both) || key->bytes == 0))
    return Status(Code::invalid, "a key of " + std::string(maker.title) + " that makes no sense");
  return key;
}

}  // namespace plait::transport
