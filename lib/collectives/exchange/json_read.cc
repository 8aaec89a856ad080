// A reader of events: nothing of a file is held but what it became.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "collectives/cells.h"
#include "collectives/exchange/counted.h"
#include "collectives/exchange/json.h"
#include "collectives/exchange/json_fields.h"

namespace plait::collectives::exchange {

namespace {

constexpr size_t kMostName = 200;  // bytes of an algorithm's name

std::optional<Place> parse_place(std::string_view text) {
  for (Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch}) {
    const std::string name = describe(place(buffer, 0));  // "input[0]"
    const std::string_view front = std::string_view(name).substr(0, name.size() - 2);
    if (!text.starts_with(front) || !text.ends_with(']')) continue;
    text = text.substr(front.size(), text.size() - front.size() - 1);
    uint32_t slot = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
    if (error != std::errc() || end != text.data() + text.size() || slot > kMaxSlot) return {};
    return place(buffer, slot);
  }
  return {};
}

uint8_t parse_flag(std::string_view text) noexcept {
  if (text == "more") return kMore;
  if (text == "swapped") return kSwapped;
  if (text == "chain") return kChain;
  return text == "last" ? kLast : 0;
}

// What the parser calls; `false` ends it, with error_ and its line set.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  Reader(const Limits& limits, const Reading& reading) : budget_(limits), reading_(reading) {}

  Status status(const std::string& file) const {
    if (error_.empty()) return {};
    Status status = refuse(file, line_, error_);
    return newer_ ? Status(Code::version, std::string(status.text())) : status;
  }
  ProgramSet take() { return std::move(set_); }

  bool null() override { return scalar(Kind::array, "null"); }
  bool boolean(bool value) override { return scalar(Kind::boolean, "a boolean") && set_boolean(value); }
  bool number_unsigned(uint64_t value) override {
    return scalar(Kind::number, "a number") && set_number(value);
  }
  bool number_integer(int64_t value) override {
    return fail(fmt::format("{}: no number here is negative", value));
  }
  bool number_float(double, const std::string& text) override {
    return fail(fmt::format("{}: all numbers here are whole, and below 2^64", text));
  }
  bool string(std::string& value) override {
    if (level_ == Level::flags) return set_flag(value);
    return scalar(Kind::text, "a string") && set_text(value);
  }
  bool binary(nlohmann::json::binary_t&) override { return fail("binary data"); }

  bool key(std::string& name) override {
    const auto* info = std::find_if(std::begin(kFields), std::end(kFields),
                                    [&](const FieldInfo& f) { return f.level == level_ && f.name == name; });
    if (info == std::end(kFields)) return fail(fmt::format("unknown field '{}'", name.substr(0, 40)));
    field_ = info->field;
    if (seen() & bit(field_)) return fail(fmt::format("'{}' stands here twice", name));
    seen() |= bit(field_);
    return true;
  }

  bool start_object(size_t) override {
    switch (level_) {
      case Level::outside:
      case Level::variants:
      case Level::programs:
      case Level::steps:
        level_ = Level(uint8_t(level_) + 1);
        seen() = 0;
        return begin_object();
      default:
        return fail("an object does not belong here");
    }
  }
  bool start_array(size_t) override {
    const bool has_fields =
        level_ == Level::set || level_ == Level::variant || level_ == Level::program || level_ == Level::step;
    if (!has_fields || kFields[uint32_t(field_)].kind != Kind::array)
      return fail("an array does not belong here");
    level_ = Level(uint8_t(level_) + 1);
    return begin_array();
  }
  bool end_object() override {
    if (!end_of_object()) return false;
    level_ = Level(uint8_t(level_) - 1);
    return true;
  }
  bool end_array() override {
    if (!end_of_array()) return false;
    level_ = Level(uint8_t(level_) - 1);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& why) override {
    std::string text = why.what();  // "[json.exception...] parse error at line 3, column 5: ..."
    if (const size_t at = text.find("column"); at != std::string::npos) text = text.substr(at);
    return fail("not JSON: " + text);
  }

 private:
  bool fail(std::string why) {
    error_ = std::move(why);
    make_printable(error_);
    line_ = line();
    return false;
  }
  bool fail_if(std::string why) { return why.empty() || fail(std::move(why)); }
  // The parser has read one byte beyond a number.
  uint32_t line() const { return reading_.line - (reading_.at_line_end ? 1 : 0); }
  uint32_t& seen() { return seen_[uint8_t(level_)]; }

  bool scalar(Kind kind, const char* what) {
    if (level_ != Level::set && level_ != Level::variant && level_ != Level::program && level_ != Level::step)
      return fail(fmt::format("{} does not belong here", what));
    if (kFields[uint32_t(field_)].kind == kind && kind != Kind::array) return true;
    return fail(fmt::format("'{}' cannot be {}", name_of(field_), what));
  }

  bool set_boolean(bool value) {
    (field_ == Field::in_place ? in_place_ : rank_order_) = value;
    return true;
  }

  // Where a number goes, and the most that it may be before it is compared with others.
  bool set_number(uint64_t value) {
    const uint64_t most = field_ == Field::lane ? UINT16_MAX : field_ == Field::min_credits ? 1 : INT32_MAX;
    if (value > most) return fail(fmt::format("'{}' is {}: it is at most {}", name_of(field_), value, most));
    const auto number = uint32_t(value);
    switch (field_) {
      case Field::version:
        newer_ = number > uint32_t(kJsonVersion);
        if (number == uint32_t(kJsonVersion)) return true;
        return fail(fmt::format("the format's version is {}; this plait reads {}", number, kJsonVersion));
      case Field::ranks:
        ranks_ = number;
        return true;
      case Field::root:
        set_.root = int32_t(number);
        return true;
      case Field::chunks:
        chunks_ = number;
        return true;
      case Field::min_credits:
        min_credits_ = uint8_t(number);
        return true;
      case Field::rank:
        program_.rank = int32_t(number);
        return true;
      case Field::scratch:
        program_.scratch = number;
        return true;
      case Field::peer:
        step_.peer = int32_t(number);
        return true;
      case Field::lane:
        step_.lane = uint16_t(number);
        return true;
      case Field::chunk:
        step_.chunk = number;
        return true;
      default:
        step_.count = number;
        return true;
    }
  }

  bool set_text(const std::string& value) {
    switch (field_) {
      case Field::name:
        set_.name = value;
        make_printable(set_.name);
        return fail_if(
            value.empty() || value.size() > kMostName
                ? fmt::format("the name has {} bytes: 1 to {} are allowed", value.size(), kMostName)
                : "");
      case Field::collective:
        if (find_collective(value, set_.collective)) return true;
        return fail(fmt::format("'{}' is no collective of plait", value.substr(0, 40)));
      case Field::op:
        for (Op op : {Op::send, Op::recv, Op::recv_reduce, Op::copy, Op::reduce}) {
          if (value != collectives::name_of(op)) continue;
          step_.op = op;
          return true;
        }
        return fail(fmt::format("'{}' is no step that can be read", value.substr(0, 40)));
      default:
        return set_place(value);
    }
  }

  bool set_place(const std::string& value) {
    const auto place = parse_place(value);
    if (!place)
      return fail(
          fmt::format("'{}' is no place: write input[0], output[0], scratch[0]", value.substr(0, 40)));
    (field_ == Field::src ? step_.src : field_ == Field::src2 ? step_.src2 : step_.dst) = *place;
    return true;
  }
  bool set_flag(const std::string& value) {
    const uint8_t flag = parse_flag(value);
    if (flag == 0)
      return fail(fmt::format("'{}' is no flag: more, swapped, chain, last", value.substr(0, 40)));
    step_.flags |= flag;
    return true;
  }

  bool begin_object() {
    if (level_ == Level::program) {
      program_ = {};
      program_.chunks = chunks_;
    }
    if (level_ == Level::step) step_ = {};
    return true;
  }

  // What must be known before what follows can be checked as it comes.
  bool begin_array() {
    switch (level_) {
      case Level::variants:
        return require(Level::set, {Field::version, Field::name, Field::collective, Field::ranks, Field::root,
                                    Field::chunks}) &&
               fail_if(header_fault());
      case Level::programs:
        return require(Level::variant, {Field::in_place, Field::min_credits, Field::rank_order}) &&
               (!set_.has(in_place_) || fail("a second variant that is in place alike"));
      case Level::steps:
        return require(Level::program, {Field::rank, Field::scratch}) && fail_if(program_fault());
      default:
        return true;
    }
  }
  bool require(Level level, std::initializer_list<Field> fields) {
    for (Field field : fields) {
      if (!(seen_[uint8_t(level)] & bit(field)))
        return fail(fmt::format("'{}' is missing; it stands before '{}'", name_of(field), name_of(field_)));
    }
    return true;
  }

  std::string header_fault() const {
    if (std::string why = budget_.header(ranks_, chunks_); !why.empty()) return why;
    if (uint32_t(set_.root) >= ranks_) return fmt::format("root {}: there are {} ranks", set_.root, ranks_);
    return check_chunks(set_.collective, ranks_, chunks_);
  }
  std::string program_fault() {
    const size_t due = set_.programs[in_place_].size();
    if (due == ranks_) return fmt::format("a program beyond those of {} ranks", ranks_);
    if (size_t(program_.rank) != due)
      return fmt::format("rank {} where the program of rank {} is due", program_.rank, due);
    program_.in_place = in_place_;
    program_.min_credits = min_credits_;
    program_.rank_order = rank_order_;
    lines_.clear();
    return budget_.rank(chunks_, program_.scratch);
  }

  bool end_of_object() {
    switch (level_) {
      case Level::step:
        return end_of_step();
      case Level::program:
        return (seen() & bit(Field::steps)) != 0 ? end_of_program() : fail("a program without 'steps'");
      case Level::variant:
        return (seen() & bit(Field::programs)) != 0 || fail("a variant without 'programs'");
      default:
        return (seen() & bit(Field::variants)) != 0 || fail("a program set without 'variants'");
    }
  }

  bool end_of_step() {
    std::string why = step_fault();
    if (why.empty()) why = budget_.step(step_);
    if (!why.empty()) return fail(step_name() + why);
    program_.steps.push_back(step_);
    lines_.push_back(line());
    return true;
  }
  std::string step_name() const {
    return fmt::format("step {} of rank {}: ", program_.steps.size(), program_.rank);
  }

  std::string step_fault() const {
    const uint32_t has = seen_[uint8_t(Level::step)] & ~bit(Field::flags);
    if (!(has & bit(Field::op))) return "'op' is missing";
    const uint32_t needs = fields_of(step_.op);
    for (const FieldInfo& f : kFields) {
      if ((has ^ needs) & bit(f.field))
        return fmt::format("a {} {} '{}'", collectives::name_of(step_.op),
                           needs & bit(f.field) ? "needs a" : "has no", f.name);
    }
    if (needs & bit(Field::peer)) {
      if (uint32_t(step_.peer) >= ranks_)
        return fmt::format("peer {}: there are {} ranks", step_.peer, ranks_);
      if (step_.peer == program_.rank) return "a rank cannot be its own peer";
    }
    if (step_.count == 0 || step_.chunk >= chunks_ || step_.count > chunks_ - step_.chunk)
      return fmt::format("no chunks {}+{}: there are {}", step_.chunk, step_.count, chunks_);
    for (Place place : {step_.src, step_.src2, step_.dst}) {
      const uint32_t slots = slots_of(program_, place.in());
      if (place.in() == Buffer::none || (place.slot < slots && step_.count <= slots - place.slot)) continue;
      return fmt::format("{}+{} is out of bounds: there are {} slots", describe(place), step_.count, slots);
    }
    return join_fault();
  }
  std::string join_fault() const {
    if (program_.steps.empty() || !(program_.steps.back().flags & kMore)) return {};
    const Step& before = program_.steps.back();
    if (before.op == step_.op && before.peer == step_.peer && before.lane == step_.lane && step_.peer >= 0)
      return {};
    return "cannot be one message with the step before, which says 'more'";
  }

  bool end_of_program() {
    if (!program_.steps.empty() && program_.steps.back().flags & kMore)
      return fail(fmt::format("the last step of rank {} says 'more', and no step follows", program_.rank));
    if (std::string why = derive_dependencies(program_); !why.empty()) return fail(why);
    set_.programs[in_place_].push_back(std::move(program_));
    set_.origin.lines[in_place_].push_back(std::move(lines_));
    return true;
  }

  bool end_of_array() {
    if (level_ == Level::programs && set_.programs[in_place_].size() != ranks_)
      return fail(fmt::format("{} programs, of {} ranks", set_.programs[in_place_].size(), ranks_));
    if (level_ == Level::variants && !set_.has(false) && !set_.has(true)) return fail("no variants");
    return true;
  }

  Budget budget_;
  const Reading& reading_;
  ProgramSet set_;
  std::string error_;
  uint32_t line_ = 0;
  bool newer_ = false;

  Level level_ = Level::outside;
  Field field_ = Field::version;                           // the latest key
  std::array<uint32_t, size_t(Level::flags) + 1> seen_{};  // fields, of the object open at each level
  uint32_t ranks_ = 0, chunks_ = 0;
  bool in_place_ = false, rank_order_ = false;
  uint8_t min_credits_ = 0;
  Program program_;
  std::vector<uint32_t> lines_;
  Step step_;
};

}  // namespace

Result<ProgramSet> from_json(std::string_view text, const std::string& file, const Limits& limits) {
  Reading reading;
  Reader reader(limits, reading);
  const char* end = text.data() + text.size();
  nlohmann::json::sax_parse(Counted(text.data(), &reading), Counted(end, &reading), &reader);
  PLAIT_TRY(reader.status(file));
  ProgramSet set = reader.take();
  set.origin.file = file;
  return set;
}

}  // namespace plait::collectives::exchange
