#include "sim/parameters.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/words.h"

namespace plait::sim {

namespace {

// Each parameter by its name, with the number that it is.
template <class P, class F>
void each(P& p, F f) {
  f("latency", p.latency), f("hop", p.hop), f("jitter", p.jitter);
  auto& e = p.endpoint;
  f("send", e.send), f("recv", e.recv), f("send_byte", e.send_byte), f("recv_byte", e.recv_byte);
  f("gap", e.gap), f("byte", e.byte), f("fold", e.fold), f("copy", e.copy);
  f("engines", e.engines), f("credits", p.credits), f("windows", p.windows), f("segment", p.segment),
      f("seed", p.seed);
  f("cache", p.cache), f("far", p.far);
}

bool put(const nlohmann::json& value, double& number) {
  if (!value.is_number()) return false;
  number = value.get<double>();
  return true;
}
template <class T>
bool put(const nlohmann::json& value, T& number) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<T>::max()) return false;
  number = T(value.get<uint64_t>());
  return true;
}

}  // namespace

Parameters default_parameters() {
  Parameters p;
  p.endpoint.send = p.endpoint.recv = 2e-7;
  p.endpoint.fold = 2e-12;
  p.endpoint.engines = 4;
  p.hop = 1e-7;
  return p;
}

Parameters for_vector(const Parameters& parameters, uint64_t bytes) {
  Parameters p = parameters;
  if (p.cache <= 0 || double(bytes) <= p.cache) return p;
  const double more = p.far * (1 - p.cache / double(bytes));
  p.endpoint.fold += more, p.endpoint.copy += more;
  return p;
}

Status read_parameters(std::string_view text, const std::string& file, Parameters& parameters) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return {Code::invalid, file + ": no JSON object of parameters, such as {\"latency\": 1e-6}"};
  Parameters p = parameters;
  for (const auto& item : json.items()) {
    const std::string key = item.key();
    const auto& value = item.value();
    bool known = false, fits = false;
    each(p, [&](std::string_view name, auto& number) {
      if (name == key) known = true, fits = put(value, number);
    });
    std::string names;
    each(p, [&](std::string_view name, auto&) { names += (names.empty() ? "" : ", ") + std::string(name); });
    if (!known)
      return {Code::invalid, fmt::format("{}: there is no '{}'; there are {}", file, shown(key), names)};
    if (!fits) return {Code::invalid, fmt::format("{}: {} is no number that it could be", file, key)};
  }
  if (Status status = check(p); !status.ok())
    return {Code::invalid, file + ": " + std::string(status.text())};
  parameters = p;
  return {};
}

std::string to_json(const Parameters& parameters) {
  nlohmann::ordered_json json;
  each(parameters, [&](const char* name, auto number) { json[name] = number; });
  return json.dump();
}

Status check(const Parameters& parameters) {
  std::string wrong;
  each(parameters, [&](const char* name, auto number) {
    if (!std::isfinite(double(number)) || double(number) < 0) wrong = name;
  });
  if (parameters.windows == 0) wrong = "windows";
  if (parameters.segment == 0) wrong = "segment";
  return wrong.empty() ? Status() : Status(Code::invalid, "parameters: " + wrong + " is none");
}

}  // namespace plait::sim
