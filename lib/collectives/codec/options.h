// The options of a codec: "name:key=value,key=value".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plait::collectives::codec {

// Takes a text apart, and then the options one by one; what nobody took is a mistake.
class OptionWords {
 public:
  // Code::invalid: a word that is no key=value, or a key that is there twice.
  static Result<OptionWords> read(std::string_view text);

  std::string_view name() const noexcept { return name_; }
  // The value of `key` where it is given, else `otherwise`. Code::invalid where it is no such number, or not
  // between `least` and `most`.
  Result<double> number(std::string_view key, double otherwise, double least, double most);
  Result<uint64_t> whole(std::string_view key, uint64_t otherwise, uint64_t least, uint64_t most);
  // One of `words`, separated by '|', the first of which is the default.
  Result<std::string> word(std::string_view key, std::string_view words);
  // Code::invalid: some option was asked for by none of the above.
  Status done() const;

 private:
  struct Pair {
    std::string key, value;
    bool taken = false;
  };
  Pair* find(std::string_view key);
  Status wrong(const Pair& pair, const std::string& range) const;

  std::string name_;
  std::vector<Pair> pairs_;
  std::string known_;  // keys that were asked for
};

}  // namespace plait::collectives::codec
