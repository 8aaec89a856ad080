// Rooms for tests, and what their networks say.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/places.h"

namespace plait::sim {

// As plait-sim does with --room.
inline Result<Plan> read(std::string text) {
  std::replace(text.begin(), text.end(), ';', '\n');
  return read_plan(text, "room");
}
inline Plan plan_of(const std::string& text) {
  auto plan = read(text);
  EXPECT_TRUE(plan.ok()) << text << ": " << plan.status().text();
  return plan.ok() ? std::move(*plan) : Plan{.room = std::nullopt, .ideal = 1};
}
inline Places all_of(const std::string& text) {
  const Plan plan = plan_of(text);
  auto places = take_places(plan, free_places(plan));
  EXPECT_TRUE(places.ok()) << text << ": " << places.status().text();
  return places.ok() ? std::move(*places) : Places();
}
inline std::string refusal(const std::string& text, const std::string& chips = "") {
  auto plan = read(text);
  if (!plan.ok()) return std::string(plan.status().text());
  auto seats = chips.empty() ? Result<std::vector<uint32_t>>(free_places(*plan)) : read_seats(chips);
  if (!seats.ok()) return std::string(seats.status().text());
  auto places = take_places(*plan, *seats);
  return places.ok() ? "" : std::string(places.status().text());
}
inline std::vector<uint32_t> route(const Network& network, int32_t a, int32_t b) {
  std::vector<uint32_t> way;
  network.route(a, b, way);
  return way;
}
inline double latency(const Network& network, int32_t a, int32_t b) {
  double sum = 0;
  for (const uint32_t link : route(network, a, b)) sum += network.link(link).latency;
  return sum;
}
inline std::string names(const Network& network, int32_t a, int32_t b) {
  std::string text;
  for (const uint32_t link : route(network, a, b))
    text += (text.empty() ? "" : ", ") + name_of(network, link);
  return text;
}

}  // namespace plait::sim
