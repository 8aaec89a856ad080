// Lists of places as people and programs write them.
#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "sim/places.h"
#include "sim/words.h"

namespace plait::sim {

namespace {

Result<std::vector<uint32_t>> read_placement(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("chips") || !json["chips"].is_array())
    return Status(Code::invalid, "--chips: no answer of plait-topo place: an object with \"chips\"");
  if (json.contains("found") && json["found"] == false)
    return Status(Code::invalid, "--chips: plait-topo found no place for that job");
  std::vector<uint32_t> seats;
  for (const auto& chip : json["chips"]) {
    if (!chip.is_number_unsigned() || chip.get<uint64_t>() >= kMostPlaces)
      return Status(Code::invalid, "--chips: what is no number is among the \"chips\"");
    seats.push_back(chip.get<uint32_t>());
  }
  return seats;
}

}  // namespace

Result<std::vector<uint32_t>> read_seats(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') return read_placement(text);
  auto refuse = [&] {
    return Status(Code::invalid, fmt::format("--chips '{}': say '0,1,5,4', or '0-7'", shown(text)));
  };
  std::vector<uint32_t> seats;
  const char *at = text.data(), *const end = at + text.size();
  while (at < end) {
    uint32_t first = 0, last = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) return refuse();
    last = first;
    if (read.ptr < end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
      if (read.ec != std::errc()) return refuse();
    }
    if (last < first || last >= kMostPlaces || seats.size() + (last - first) >= kMostPlaces) return refuse();
    for (uint32_t i = first; i <= last; i++) seats.push_back(i);
    at = read.ptr;
    if (at == end) return seats;
    if (*at++ != ',') return refuse();
  }
  return refuse();
}

}  // namespace plait::sim
