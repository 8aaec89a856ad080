#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text.h"
#include "collectives/exchange/msccl_file.h"
#include "documents/xml.h"

namespace plait::collectives::exchange::msccl {

using documents::read_xml;
using documents::XmlElement;
using documents::XmlHandler;

namespace {

// MSCCL's collectives that are plait's, too. A new one is a line here.
constexpr struct {
  std::string_view name;
  Collective collective;
} kCollectiveNames[] = {
    {"allreduce", Collective::allreduce},
    {"allgather", Collective::allgather},
    {"reducescatter", Collective::reduce_scatter},
    {"reduce_scatter", Collective::reduce_scatter},
    {"alltoall", Collective::alltoall},
    {"broadcast", Collective::broadcast},
    {"reduce", Collective::reduce},
    {"gather", Collective::gather},
    {"scatter", Collective::scatter},
};

constexpr std::string_view kTypeNames[] = {"nop", "s", "r", "cpy", "re", "rrc", "rcs", "rrs", "rrcs"};
constexpr std::string_view kLevels[] = {"algo", "gpu", "tb", "step"};

// What the number of an attribute may be.
struct Number {
  std::string_view attribute;
  int64_t least, most;
};

class Reader : public XmlHandler {
 public:
  Reader(const std::string& path, const Limits& limits) : limits_(limits), budget_(limits) {
    file_.path = path;
  }

  std::string open(const XmlElement& e) override {
    const bool known = e.depth() < std::size(kLevels) && e.name() == kLevels[e.depth()];
    if (!known)
      return fmt::format("<{}> does not belong here: an algorithm is <algo><gpu><tb><step/>", e.name());
    element_ = &e;
    error_.clear();
    switch (e.depth()) {
      case 0:
        algorithm();
        break;
      case 1:
        gpu();
        break;
      case 2:
        thread_block();
        break;
      default:
        step();
    }
    return error_.empty() ? error_ : where() + error_;
  }

  Result<File> finish() {
    if (file_.gpus.size() != ranks_) {
      return Status(Code::invalid,
                    fmt::format("{}: {} of {} gpus are there", file_.path, file_.gpus.size(), ranks_));
    }
    for (size_t r = 0; r < file_.gpus.size(); r++) PLAIT_TRY(check(r));
    return std::move(file_);
  }
  bool unsupported() const noexcept { return unsupported_; }

 private:
  void fail(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }

  // "step 3 of thread block 1 of rank 2: "
  std::string where() const {
    if (element_->depth() < 2 || file_.gpus.empty() || file_.gpus.back().blocks.empty()) return {};
    const auto& blocks = file_.gpus.back().blocks;
    std::string text = fmt::format("thread block {} of rank {}: ", blocks.size() - 1, file_.gpus.size() - 1);
    return element_->depth() < 3 ? text : fmt::format("step {} of {}", blocks.back().steps.size(), text);
  }

  // Gpus, thread blocks and steps are named by their position.
  void ordinal(std::string_view attribute, size_t due) {
    const std::string_view value = text(attribute);
    if (value == std::to_string(due)) return;
    fail(fmt::format("{}=\"{}\" of <{}> where {} is due: they are numbered from 0, in the order of the file",
                     attribute, value.substr(0, 40), element_->name(), due));
  }

  std::string_view text(std::string_view attribute) {
    const auto value = element_->find(attribute);
    if (!value) fail(fmt::format("<{}> has no '{}'", element_->name(), attribute));
    return value.value_or("");
  }
  int64_t number(const Number& n) { return number_of(text(n.attribute), n); }
  int64_t number_or(const Number& n, int64_t otherwise) {
    const auto value = element_->find(n.attribute);
    return value ? number_of(*value, n) : otherwise;
  }
  // Something in [least, most] whatever the text says.
  int64_t number_of(std::string_view value, const Number& n) {
    int64_t found = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), found);
    if (error == std::errc() && end == value.data() + value.size() && found >= n.least && found <= n.most)
      return found;
    fail(fmt::format("{}=\"{}\" of <{}>: it is a number from {} to {}", n.attribute, value.substr(0, 40),
                     element_->name(), n.least, n.most));
    return n.least;
  }

  void algorithm() {
    file_.name = std::string(text("name").substr(0, 200));
    make_printable(file_.name);
    ranks_ = uint32_t(number({"ngpus", 1, limits_.ranks}));
    file_.chunks = uint32_t(number({"nchunksperloop", 1, limits_.chunks}));
    file_.root = int32_t(number_or({"root", 0, int64_t(ranks_) - 1}, 0));
    // Files without 'outofplace' are for one of the two.
    const bool in_place = number({"inplace", 0, 1}) == 1;
    file_.variants[1] = in_place;
    file_.variants[0] = number_or({"outofplace", 0, 1}, in_place ? 0 : 1) == 1;
    if (!file_.variants[0] && !file_.variants[1]) fail("it is to run neither in place nor out of place");
    const std::string_view collective = text("coll");
    const auto* found = std::find_if(std::begin(kCollectiveNames), std::end(kCollectiveNames),
                                     [&](const auto& c) { return c.name == collective; });
    if (found == std::end(kCollectiveNames)) {
      unsupported_ = error_.empty();
      return fail(fmt::format("plait has no collective '{}'", collective.substr(0, 40)));
    }
    file_.collective = found->collective;
    fail(check_chunks(file_.collective, ranks_, file_.chunks));
  }

  void gpu() {
    ordinal("id", file_.gpus.size());
    if (file_.gpus.size() == ranks_) return fail(fmt::format("a gpu beyond the {} of ngpus", ranks_));
    const auto scratch = uint32_t(number({"s_chunks", 0, limits_.scratch}));
    fail(budget_.rank(file_.chunks, scratch));
    file_.gpus.push_back({.scratch = scratch, .blocks = {}});
  }

  void thread_block() {
    auto& blocks = file_.gpus.back().blocks;
    ordinal("id", blocks.size());
    if (++thread_blocks_ > limits_.thread_blocks)
      return fail(fmt::format("more than {} thread blocks in all", limits_.thread_blocks));
    blocks.emplace_back();
    ThreadBlock& block = blocks.back();
    const auto last = int64_t(ranks_) - 1;
    block.send = int32_t(number({"send", -1, last}));
    block.recv = int32_t(number({"recv", -1, last}));
    block.channel = uint16_t(number({"chan", 0, UINT16_MAX}));
    block.line = element_->line();
    const auto me = int32_t(file_.gpus.size()) - 1;
    if (block.send == me || block.recv == me) fail(fmt::format("rank {} is its own peer", me));
  }

  Spot spot(std::string_view buffer, std::string_view offset, bool used) {
    if (!used) return {};
    const std::string_view name = text(buffer);
    if (name != "i" && name != "o" && name != "s")
      fail(fmt::format("{}=\"{}\": a buffer is i, o or s", buffer, name.substr(0, 40)));
    const Area area = name == "i" ? Area::input : name == "o" ? Area::output : Area::scratch;
    const int64_t slots = area == Area::scratch ? file_.gpus.back().scratch : slots_of(area);
    // Bounds with the count: below, where it is known.
    return {area, uint32_t(number({offset, 0, std::max<int64_t>(slots - 1, 0)}))};
  }

  // How many chunks the rank that is read now has an input or an output of.
  int64_t slots_of(Area area) const {
    const auto n = int(ranks_), me = int(file_.gpus.size()) - 1;
    const Range range = area == Area::input ? input_of(file_.collective, n, me, file_.root, file_.chunks)
                                            : output_of(file_.collective, n, me, file_.root, file_.chunks);
    return range.count;
  }

  void step() {
    ThreadBlock& block = file_.gpus.back().blocks.back();
    ordinal("s", block.steps.size());
    const std::string_view type = text("type");
    const auto* found = std::find(std::begin(kTypeNames), std::end(kTypeNames), type);
    if (found == std::end(kTypeNames))
      return fail(fmt::format("'{}' is no type of step", type.substr(0, 40)));
    Instruction i;
    i.type = Type(found - std::begin(kTypeNames));
    i.line = element_->line();
    i.wait_block = int32_t(number({"depid", -1, INT32_MAX}));
    i.wait_step = uint32_t(std::max<int64_t>(number({"deps", -1, INT32_MAX}), 0));
    if (i.type != Type::nop) operands(i, block);
    if (error_.empty()) block.steps.push_back(i);
  }

  void operands(Instruction& i, const ThreadBlock& block) {
    i.count = uint32_t(number({"cnt", 1, limits_.chunks}));
    i.src = spot("srcbuf", "srcoff", reads_src(i.type));
    i.dst = spot("dstbuf", "dstoff", writes_dst(i.type));
    if (sends(i.type) && block.send < 0) fail("a send in a thread block that has nobody to send to");
    if (receives(i.type) && block.recv < 0)
      fail("a receive in a thread block that has nobody to receive from");
    if (reads_src(i.type)) bounds(i.src, i.count, "src");
    if (writes_dst(i.type)) bounds(i.dst, i.count, "dst");
    // What it will cost, as if each step were two.
    for (int twice = 0; twice < 2; twice++) {
      fail(
          budget_.step({.dst = place(Buffer::output, 0), .src = place(Buffer::output, 0), .count = i.count}));
    }
  }
  void bounds(Spot spot, uint32_t count, const char* what) {
    const int64_t slots = spot.area == Area::scratch ? file_.gpus.back().scratch : slots_of(spot.area);
    if (spot.offset < slots && count <= slots - spot.offset) return;
    fail(fmt::format("{} {}+{} is out of bounds: there are {} slots", what, spot.offset, count, slots));
  }

  // What needs all thread blocks of a rank.
  Status check(size_t rank) const {
    const auto& blocks = file_.gpus[rank].blocks;
    std::set<std::pair<int32_t, uint16_t>> sending, receiving;
    for (const ThreadBlock& block : blocks) {
      const bool sends_twice = block.send >= 0 && !sending.insert({block.send, block.channel}).second;
      const bool receives_twice = block.recv >= 0 && !receiving.insert({block.recv, block.channel}).second;
      if (sends_twice || receives_twice) {
        return refuse(file_.path, block.line,
                      fmt::format("two thread blocks of rank {} {} rank {} on channel {}", rank,
                                  sends_twice ? "send to" : "receive from",
                                  sends_twice ? block.send : block.recv, block.channel));
      }
      for (const Instruction& i : block.steps) {
        if (i.wait_block < 0) continue;
        const auto other = size_t(i.wait_block);
        if (other < blocks.size() && i.wait_step < blocks[other].steps.size()) continue;
        return refuse(file_.path, i.line,
                      fmt::format("waits for step {} of thread block {}, which rank {} has not", i.wait_step,
                                  other, rank));
      }
    }
    return {};
  }

  const Limits& limits_;
  Budget budget_;
  const XmlElement* element_ = nullptr;
  std::string error_;
  bool unsupported_ = false;
  File file_;
  uint32_t ranks_ = 0;
  uint64_t thread_blocks_ = 0;
};

}  // namespace

Result<File> read(std::string_view text, const std::string& file, const Limits& limits) {
  Reader reader(file, limits);
  const Status status = read_xml(text, file, reader);
  if (!status.ok() && reader.unsupported()) return Status(Code::unsupported, std::string(status.text()));
  PLAIT_TRY(status);
  return reader.finish();
}

}  // namespace plait::collectives::exchange::msccl
