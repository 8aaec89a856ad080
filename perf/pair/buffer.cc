#include "perf/pair/buffer.h"

#include <cstring>

#include "base/pages.h"
#include "transport/shm/arena.h"

namespace plait::perf::pair {
namespace {

using transport::shm::Arena;

// One of a sequence of words that looks random and can be begun anywhere (splitmix64).
uint64_t word_at(uint64_t seed, uint64_t i) noexcept {
  uint64_t z = seed + (i + 1) * 0x9e37'79b9'7f4a'7c15;
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
  return z ^ (z >> 31);
}

uint64_t seed_of(uint64_t stream, uint64_t number) noexcept { return word_at(stream, number); }

uint64_t differing(uint64_t a, const std::byte* b, size_t bytes) noexcept {
  uint64_t wrong = 0;
  for (size_t i = 0; i < bytes; i++) wrong += std::byte(a >> (8 * i)) != b[i];
  return wrong;
}

}  // namespace

Buffer::~Buffer() {
  if (block_ == nullptr) return;
  auto arena = Arena::process();
  if (arena.ok()) (*arena)->free(block_);
}

Result<Buffer> Buffer::make(size_t bytes, bool shared) {
  Buffer buffer;
  buffer.bytes_ = round_up(bytes, kPageBytes);
  if (shared) {
    auto arena = Arena::process();
    if (!arena.ok()) return arena.status();
    auto block = (*arena)->allocate(buffer.bytes_);
    if (!block.ok()) return block.status();
    buffer.block_ = *block;
  } else {
    buffer.pages_ = map_pages(buffer.bytes_);
    if (!buffer.pages_)
      return Status(Code::memory, "no memory for " + std::to_string(buffer.bytes_) +
                                      " bytes: try fewer connections (-q) or shorter messages (-s)");
  }
  for (size_t at = 0; at < buffer.bytes_; at += kPageBytes)  // or the first messages would wait for pages
    *static_cast<volatile std::byte*>(buffer.data() + at) = std::byte(0);
  return buffer;
}

void fill(std::span<std::byte> bytes, uint64_t stream, uint64_t number) noexcept {
  const uint64_t seed = seed_of(stream, number);
  for (size_t at = 0; at < bytes.size(); at += sizeof seed) {
    const uint64_t word = word_at(seed, at);
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
}

uint64_t count_wrong(ByteView bytes, uint64_t stream, uint64_t number) noexcept {
  const uint64_t seed = seed_of(stream, number);
  uint64_t wrong = 0;
  for (size_t at = 0; at < bytes.size(); at += sizeof seed) {
    const uint64_t word = word_at(seed, at);
    const size_t length = std::min(sizeof word, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, &word, length) != 0)
      wrong += differing(word, bytes.data() + at, length);
  }
  return wrong;
}

}  // namespace plait::perf::pair
