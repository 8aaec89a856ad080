// What the readers of a room's text have in common: its words, and what is known of the room so far.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/room.h"
#include "topology/units.h"

namespace plait::topology::room_text {

using Words = std::vector<std::string_view>;

// The words of a line, between any of the characters `at`.
Words split(std::string_view line, std::string_view at);
// Whether `word` is a number, and nothing else; then `value` is it.
bool number(std::string_view word, uint32_t& value);
// For messages: 40 characters of it at most.
std::string quoted(std::string_view word);

// A line, word by word. What does not fit is an error of the first thing only.
class Line {
 public:
  explicit Line(Words words) : words_(std::move(words)) {}
  bool done() const { return at_ == words_.size(); }
  std::string_view peek() const { return done() ? std::string_view() : words_[at_]; }
  std::string_view next() { return done() ? std::string_view() : words_[at_++]; }
  bool take(std::string_view word) {
    if (done() || peek() != word) return false;
    at_++;
    return true;
  }
  // "chip" and "chips".
  bool take_noun(std::string_view one) {
    if (!peek().starts_with(one) || (peek().substr(one.size()) != "s" && peek() != one)) return false;
    at_++;
    return true;
  }
  bool take_number(uint32_t& value) {
    if (!number(peek(), value)) return false;
    at_++;
    return true;
  }
  // Rates and latencies in any order.
  void take_amounts(double* bytes_per_s, double* latency_s) {
    for (; !done(); at_++) {
      const auto rate = parse_rate(peek());
      const auto time = parse_latency(peek());
      if (rate && bytes_per_s != nullptr)
        *bytes_per_s = *rate;
      else if (time && latency_s != nullptr)
        *latency_s = *time;
      else
        return;
    }
  }

 private:
  Words words_;
  size_t at_ = 0;
};

// Line by line; then finish(), once.
class Reader {
 public:
  // Why the line is refused; empty: it was understood.
  std::string line(std::string_view text);
  Result<Room> finish();

 private:
  std::string machines(Line& line);
  std::string parts(Line& line);
  std::string shape(Line& line, bool pod);
  std::string shape_sizes(Line& line, std::string_view word, std::vector<Factor>& factors);
  std::string leaf(Line& line);
  std::string fat_tree(Line& line);
  std::string tier_words(Line& line, Tier& tier, uint32_t* spines);
  std::string dead(Line& line);
  std::string list(Line& line, std::vector<uint32_t>& into);
  std::string links(Line& line);
  std::string count(uint32_t value, uint32_t& into, bool& given, std::string_view what);

  Room room_;
  std::vector<Factor> pod_;
  uint32_t tree_ports_ = 0, tree_hosts_ = 0;  // of a fat-tree; 0: there is none
  bool hosts_given_ = false, chips_given_ = false, anything_ = false, spread_ = false;
  bool nics_given_ = false, cores_given_ = false, sockets_given_ = false;
};

}  // namespace plait::topology::room_text
