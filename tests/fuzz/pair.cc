// What the two sides of plait_write_bw and its like tell each other.
#include "fuzz.h"
#include "perf/pair/words.h"

namespace plait::fuzz {
namespace {

using namespace perf::pair;

void try_hello(ByteView bytes) {
  Hello hello, again;
  if (!decode(bytes, hello)) return;
  const std::string said = difference(Hello(), hello, "the other side");
  require(is_printable(said), "differences can be shown");
  if (hello.version != kWordsVersion) return require(!said.empty(), "another version is a difference");
  require(hello.size >= 1 && hello.size <= kMostBytes && hello.qps >= 1 && hello.qps <= kMostQps,
          "counts are bounded");
  require(is_printable(describe(hello)) && is_printable(hello.device), "names can be shown");
  require(decode(encode(hello), again) && equal(encode(again), encode(hello)), "what is written is read");
}

void try_row(ByteView bytes) {
  Row row, again;
  if (!decode(bytes, row)) return;
  require(row.bytes <= kMostBytes && row.bandwidth.peak_Bps >= 0 && row.latency.max >= 0, "a row can be");
  require(equal(encode(row), bytes) && decode(encode(row), again), "what is written is read");
}

void try_blocks(ByteView bytes) {
  const auto blocks = decode_blocks(bytes);
  if (blocks) require(blocks->size() <= 8 && equal(encode_blocks(*blocks), bytes), "what is written is read");
}

void try_message(ByteView bytes) {
  const size_t before = bytes.size();
  const auto kind = take_kind(bytes);
  require(!kind || bytes.size() + sizeof(uint32_t) == before, "a kind is a word");
  require(is_printable(decode_text(bytes)), "a sentence can be shown");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {try_hello, try_row, try_blocks, try_message});
}
