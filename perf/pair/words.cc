#include "perf/pair/words.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/host.h"
#include "base/text.h"

namespace plait::perf::pair {
namespace {

constexpr uint64_t kMagic = 0x7269'6170'7469'616c;  // "laitpair"
constexpr size_t kMostText = 200, kMostBlocks = 8, kMostBlock = 4096;

void append_text(Bytes& to, const std::string& text) {
  const std::string cut = text.substr(0, kMostText);
  append(to, uint16_t(cut.size()));
  const auto bytes = std::as_bytes(std::span(cut));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

std::string text_of(ByteView bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  make_printable(text);
  return text;
}

bool take_text(ByteView& from, std::string& text) {
  uint16_t bytes = 0;
  if (!take(from, bytes) || bytes > kMostText || from.size() < bytes) return false;
  text = text_of(from.first(bytes));
  from = from.subspan(bytes);
  return true;
}

bool take_bool(ByteView& from, bool& value) {
  uint8_t byte = 0;
  if (!take(from, byte) || byte > 1) return false;
  value = byte == 1;
  return true;
}

bool take_tool(ByteView& from, Tool& tool) {
  uint8_t operation = 0, measure = 0;
  if (!take(from, operation) || !take(from, measure) || operation > 2 || measure > 1) return false;
  tool = {Operation(operation), Measure(measure)};
  return true;
}

bool in_range(uint64_t value, uint64_t least, uint64_t most) { return value >= least && value <= most; }

// Every number of a row, in the order of the wire.
template <class Row>
auto numbers_of(Row& row) {
  auto& b = row.bandwidth;
  auto& l = row.latency;
  return std::array{&b.peak_Bps, &b.average_Bps, &b.messages_ps, &l.min,  &l.max,       &l.typical,
                    &l.average,  &l.deviation,   &l.p99,         &l.p999, &l.per_second};
}

std::string yes_no(bool value) { return value ? "given" : "not given"; }

}  // namespace

Hello hello_of(const Options& o, const std::string& fabric, const std::string& device) {
  Hello hello;
  hello.tool = o.tool;
  hello.all = o.sizes.size() > 1;
  hello.bidirectional = o.bidirectional;
  hello.infinite = o.infinite;
  hello.validate = o.validate;
  hello.rdma_cm = o.verbs.rdma_cm;
  hello.reversed = o.reversed;
  hello.warm_up = o.warm_up;
  hello.size = o.sizes.back();
  hello.iterations = o.iterations;
  hello.seconds = o.seconds;
  hello.qps = o.qps;
  hello.depth = o.depth;
  hello.fabric = fabric;
  hello.device = device;
  hello.host = host_name();
  hello.process = uint32_t(getpid());
  return hello;
}

std::string describe(const Hello& hello) {
  return "host " + hello.host + ", process " + std::to_string(hello.process);
}

std::string difference(const Hello& mine, const Hello& theirs, const std::string& other) {
  if (mine.version != theirs.version)
    return other + " is of another version of plait: it speaks " + std::to_string(theirs.version) +
           ", this side " + std::to_string(mine.version);
  std::string all;
  auto differ = [&](const std::string& option, const std::string& here, const std::string& there) {
    if (here == there) return;
    all += (all.empty() ? "" : "; ") + option + " is " + here + " here and " + there + " at " + other;
  };
  auto count = [&](const char* option, uint64_t here, uint64_t there) {
    differ(option, std::to_string(here), std::to_string(there));
  };
  differ("the tool", name_of(mine.tool), name_of(theirs.tool));
  differ("the transport (-d)", mine.fabric, theirs.fabric);
  differ("-a", yes_no(mine.all), yes_no(theirs.all));
  if (mine.all == theirs.all) count("-s", mine.size, theirs.size);
  count("-D", mine.seconds, theirs.seconds);
  if (mine.seconds == 0 && theirs.seconds == 0) count("-n", mine.iterations, theirs.iterations);
  count("-q", mine.qps, theirs.qps);
  count("-t", mine.depth, theirs.depth);
  differ("-b", yes_no(mine.bidirectional), yes_no(theirs.bidirectional));
  differ("--run_infinitely", yes_no(mine.infinite), yes_no(theirs.infinite));
  differ("--data_validation", yes_no(mine.validate), yes_no(theirs.validate));
  differ("--reversed", yes_no(mine.reversed), yes_no(theirs.reversed));
  differ("--perform_warm_up", yes_no(mine.warm_up), yes_no(theirs.warm_up));
  differ("-R", yes_no(mine.rdma_cm), yes_no(theirs.rdma_cm));
  return all;
}

Bytes encode(const Hello& h) {
  Bytes to;
  append(to, kMagic);
  append(to, h.version);
  append(to, uint8_t(h.tool.operation));
  append(to, uint8_t(h.tool.measure));
  for (bool flag : {h.all, h.bidirectional, h.infinite, h.validate, h.rdma_cm, h.reversed, h.warm_up})
    append(to, uint8_t(flag));
  for (uint64_t number : {h.size, h.iterations}) append(to, number);
  for (uint32_t number : {h.seconds, h.qps, h.depth, h.process}) append(to, number);
  for (const std::string* text : {&h.fabric, &h.device, &h.host}) append_text(to, *text);
  return to;
}

bool decode(ByteView from, Hello& h) {
  uint64_t magic = 0;
  if (!take(from, magic) || magic != kMagic || !take(from, h.version)) return false;
  if (h.version != kWordsVersion) return true;
  if (!take_tool(from, h.tool)) return false;
  for (bool* flag : {&h.all, &h.bidirectional, &h.infinite, &h.validate, &h.rdma_cm, &h.reversed, &h.warm_up})
    if (!take_bool(from, *flag)) return false;
  for (uint64_t* number : {&h.size, &h.iterations})
    if (!take(from, *number)) return false;
  for (uint32_t* number : {&h.seconds, &h.qps, &h.depth, &h.process})
    if (!take(from, *number)) return false;
  for (std::string* text : {&h.fabric, &h.device, &h.host})
    if (!take_text(from, *text)) return false;
  return from.empty() && in_range(h.size, 1, kMostBytes) && in_range(h.iterations, 1, kMostIterations) &&
         in_range(h.qps, 1, kMostQps) && in_range(h.depth, 1, 4096);
}

Bytes encode(const Row& row) {
  Bytes to;
  for (uint64_t number : {row.bytes, row.iterations, row.wrong}) append(to, number);
  for (const double* number : numbers_of(row)) append(to, *number);
  return to;
}

bool decode(ByteView from, Row& row) {
  for (uint64_t* number : {&row.bytes, &row.iterations, &row.wrong})
    if (!take(from, *number)) return false;
  for (double* number : numbers_of(row))
    if (!take(from, *number) || !std::isfinite(*number) || *number < 0) return false;
  return from.empty() && in_range(row.bytes, 1, kMostBytes);
}

Bytes encode_blocks(const std::vector<Bytes>& blocks) {
  Bytes to;
  for (const Bytes& block : blocks) {
    append(to, uint32_t(block.size()));
    to.insert(to.end(), block.begin(), block.end());
  }
  return to;
}

std::optional<std::vector<Bytes>> decode_blocks(ByteView from) {
  std::vector<Bytes> blocks;
  while (!from.empty()) {
    uint32_t bytes = 0;
    if (blocks.size() == kMostBlocks || !take(from, bytes) || bytes > kMostBlock || bytes > from.size())
      return std::nullopt;
    const ByteView block = from.first(bytes);
    blocks.emplace_back(block.begin(), block.end());
    from = from.subspan(bytes);
  }
  return blocks;
}

Bytes encode(Kind kind, ByteView about) {
  Bytes to;
  append(to, uint32_t(kind));
  to.insert(to.end(), about.begin(), about.end());
  return to;
}

std::optional<Kind> take_kind(ByteView& bytes) {
  uint32_t kind = 0;
  if (!take(bytes, kind) || !in_range(kind, uint32_t(Kind::hello), uint32_t(Kind::failed)))
    return std::nullopt;
  return Kind(kind);
}

std::string decode_text(ByteView bytes) { return text_of(bytes.first(std::min<size_t>(bytes.size(), 2000))); }

}  // namespace plait::perf::pair
