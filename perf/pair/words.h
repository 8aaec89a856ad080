// What the two sides of a measurement tell each other over their control connection: bytes from outside, so
// every field is checked before anybody uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "perf/pair/options.h"
#include "perf/pair/row.h"

namespace plait::perf::pair {

constexpr uint32_t kWordsVersion = 1;

// What a message is about; the first word of each.
enum class Kind : uint32_t {
  hello = 1,  // Hello, from both
  exchange,   // tickets and identities, of wire_up()
  keys,       // of the memory that the other side reaches: blocks
  ready,      // the size that this side will measure next
  alive,      // nothing but that
  row,        // an interim result
  sent,       // this side has sent all of a size, and it arrived
  done,       // this side has received all of a size, too: Row
  bye,        // this side lets go
  failed,     // a sentence; the last word
};

// Who somebody is, and what must be alike.
struct Hello {
  uint32_t version = kWordsVersion;
  Tool tool;
  bool all = false, bidirectional = false, infinite = false, validate = false, rdma_cm = false;
  bool reversed = false, warm_up = false;
  uint64_t size = 0, iterations = 0;
  uint32_t seconds = 0, qps = 1, depth = 1;
  std::string fabric;  // "tcp", "ofi:tcp": runtime::kind_of()
  std::string device;  // what this side calls it: for people
  std::string host;
  uint32_t process = 0;
};

Hello hello_of(const Options& options, const std::string& fabric, const std::string& device);
// "host b, process 4711"
std::string describe(const Hello& hello);
// Empty; or in which options the other side differs: a sentence. `other`: "the server".
std::string difference(const Hello& mine, const Hello& theirs, const std::string& other);

Bytes encode(const Hello& hello);
// False: it is no hello. One of another version is taken as far as its version.
bool decode(ByteView bytes, Hello& hello);

Bytes encode(const Row& row);
// False: no such row can be.
bool decode(ByteView bytes, Row& row);

// Blocks of bytes, each behind its length.
Bytes encode_blocks(const std::vector<Bytes>& blocks);
std::optional<std::vector<Bytes>> decode_blocks(ByteView bytes);

// A message: its kind, and what it is about.
Bytes encode(Kind kind, ByteView about);
// Takes the kind off the front; nothing: it is none.
std::optional<Kind> take_kind(ByteView& bytes);

// A sentence of the other side's, fit to be shown.
std::string decode_text(ByteView bytes);

}  // namespace plait::perf::pair
