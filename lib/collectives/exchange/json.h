// Program sets as JSON; docs/exchange.md has the format. What was written is read again bit for bit.
#pragma once

#include <string>
#include <string_view>

#include "collectives/exchange/set.h"

namespace plait::collectives::exchange {

constexpr int kJsonVersion = 1;

// As JSON has it, in quotation marks. Bytes that are no UTF-8 are replaced.
std::string quoted(const std::string& text);

// One step a line. `set` is one that was built, or was read; dependencies are not written, for they follow.
std::string to_json(const ProgramSet& set);

// Takes nothing on trust: every number is checked against the limits and against the others before it is
// used, and the dependencies are derived. What comes out is well formed; that it does what it says is for
// admit() to prove. `file` is for the sentences of refusals, which begin with "FILE:LINE: ". Code::invalid:
// not JSON, not this format, or beyond the limits. Code::version: a newer format.
Result<ProgramSet> from_json(std::string_view text, const std::string& file, const Limits& limits = {});

}  // namespace plait::collectives::exchange
