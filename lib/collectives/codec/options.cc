#include "collectives/codec/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace plait::collectives::codec {

namespace {

std::string short_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class T>
bool parse(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Result<OptionWords> OptionWords::read(std::string_view text) {
  OptionWords words;
  const size_t colon = text.find(':');
  words.name_ = text.substr(0, colon);
  std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const size_t equal = word.find('=');
    if (equal == word.npos || equal == 0)
      return Status(Code::invalid,
                    "codec " + words.name_ + ": \"" + std::string(word) + "\" is no KEY=VALUE");
    const std::string key(word.substr(0, equal));
    if (words.find(key) != nullptr)
      return Status(Code::invalid, "codec " + words.name_ + ": " + key + " is there twice");
    words.pairs_.push_back({key, std::string(word.substr(equal + 1))});
  }
  for (Pair& pair : words.pairs_) pair.taken = false;
  words.known_.clear();
  return words;
}

OptionWords::Pair* OptionWords::find(std::string_view key) {
  known_ += (known_.empty() ? "" : ", ") + std::string(key);
  auto at = std::ranges::find(pairs_, key, &Pair::key);
  if (at == pairs_.end()) return nullptr;
  at->taken = true;
  return &*at;
}

Status OptionWords::wrong(const Pair& pair, const std::string& range) const {
  return {Code::invalid, "codec " + name_ + ": " + pair.key + "=" + pair.value + " is not " + range};
}

Result<double> OptionWords::number(std::string_view key, double otherwise, double least, double most) {
  const Pair* pair = find(key);
  double value = otherwise;
  if (pair == nullptr) return value;
  if (!parse(pair->value, value) || !(value >= least && value <= most))
    return wrong(*pair, "a number from " + short_text(least) + " to " + short_text(most));
  return value;
}

Result<uint64_t> OptionWords::whole(std::string_view key, uint64_t otherwise, uint64_t least, uint64_t most) {
  const Pair* pair = find(key);
  uint64_t value = otherwise;
  if (pair == nullptr) return value;
  if (!parse(pair->value, value) || value < least || value > most)
    return wrong(*pair, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

Result<std::string> OptionWords::word(std::string_view key, std::string_view words) {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::string(words.substr(0, words.find('|')));
  for (std::string_view rest = words; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('|'));
    if (one == pair->value) return pair->value;
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return wrong(*pair, "one of " + std::string(words));
}

Status OptionWords::done() const {
  for (const Pair& pair : pairs_) {
    if (!pair.taken)
      return {Code::invalid, "codec " + name_ + ": no option " + pair.key +
                                 (known_.empty() ? "; it has none" : "; there are " + known_)};
  }
  return {};
}

}  // namespace plait::collectives::codec
