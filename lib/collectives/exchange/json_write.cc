#include <spdlog/fmt/fmt.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "collectives/exchange/json.h"

namespace plait::collectives::exchange {

std::string quoted(const std::string& text) {
  // Bytes that are no UTF-8 must not end in an exception.
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

const char* boolean(bool value) noexcept { return value ? "true" : "false"; }

void write_flags(std::string& out, uint8_t flags) {
  const char* separator = "";
  out += ", \"flags\": [";
  for (auto [flag, name] :
       {std::pair(kMore, "more"), {kSwapped, "swapped"}, {kChain, "chain"}, {kLast, "last"}}) {
    if (!(flags & flag)) continue;
    fmt::format_to(std::back_inserter(out), "{}\"{}\"", separator, name);
    separator = ", ";
  }
  out += "]";
}

void write_step(std::string& out, const Step& s) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "        {{\"op\": \"{}\"", name_of(s.op));
  if (s.peer >= 0) fmt::format_to(to, ", \"peer\": {}, \"lane\": {}", s.peer, s.lane);
  fmt::format_to(to, ", \"chunk\": {}, \"count\": {}", s.chunk, s.count);
  for (auto [name, place] : {std::pair("src", s.src), {"src2", s.src2}, {"dst", s.dst}}) {
    if (place.in() != Buffer::none) fmt::format_to(to, ", \"{}\": \"{}\"", name, describe(place));
  }
  if (s.flags != 0) write_flags(out, s.flags);
  out += "}";
}

void write_program(std::string& out, const Program& p) {
  fmt::format_to(std::back_inserter(out), "      {{\"rank\": {}, \"scratch\": {}, \"steps\": [", p.rank,
                 p.scratch);
  for (size_t i = 0; i < p.steps.size(); i++) {
    out += i > 0 ? ",\n" : "\n";
    write_step(out, p.steps[i]);
  }
  out += "]}";
}

void write_variant(std::string& out, const std::vector<Program>& programs) {
  const Program& first = programs.front();
  fmt::format_to(std::back_inserter(out),
                 "    {{\"in_place\": {}, \"min_credits\": {}, \"rank_order\": {}, \"programs\": [\n",
                 boolean(first.in_place), first.min_credits, boolean(first.rank_order));
  for (size_t r = 0; r < programs.size(); r++) {
    if (r > 0) out += ",\n";
    write_program(out, programs[r]);
  }
  out += "]}";
}

}  // namespace

std::string to_json(const ProgramSet& set) {
  std::string out = fmt::format(
      "{{\"plait_program\": {}, \"name\": {}, \"collective\": \"{}\",\n"
      "  \"ranks\": {}, \"root\": {}, \"chunks\": {},\n  \"variants\": [\n",
      kJsonVersion, quoted(set.name), name_of(set.collective), set.ranks(), set.root, set.chunks());
  for (bool in_place : {false, true}) {
    if (!set.has(in_place)) continue;
    if (in_place && set.has(false)) out += ",\n";
    write_variant(out, set.programs[in_place]);
  }
  return out + "]}\n";
}

}  // namespace plait::collectives::exchange
