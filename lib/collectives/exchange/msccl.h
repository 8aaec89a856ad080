// Algorithms of MSCCL (Cowan et al., "MSCCLang: Microsoft Collective Communication Language", ASPLOS 2023) as
// program sets. docs/exchange.md says what becomes of what, and what is refused.
#pragma once

#include <string>
#include <string_view>

#include "collectives/exchange/set.h"

namespace plait::collectives::exchange {

// MSCCL says where values lie and which steps wait for which; plait says which chunks they are, and derives
// who waits. So the algorithm is run symbolically once, for each of the variants (in place, out of place)
// that it declares: that finds which chunk each step moves, and an order of the steps. Then the file's own
// dependencies are checked against the hazards of its places, and dropped.
//
// Takes nothing on trust, as from_json(). What comes out is well formed; that it does what it says is for
// admit() to prove. Code::invalid: not XML, not MSCCL, beyond the limits, or steps that cannot all run, race
// with each other, or cannot be said in chunks. Code::unsupported: a collective that plait has not.
Result<ProgramSet> from_msccl(std::string_view text, const std::string& file, const Limits& limits = {});

}  // namespace plait::collectives::exchange
