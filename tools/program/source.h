// What a command works on: the programs of a file, or of an algorithm of the table.
#pragma once

#include <vector>

#include "collectives/exchange/admit.h"
#include "tools/program/options.h"

namespace plait::program {

// Of a file: the one set in it. Of an algorithm and a collective: that. Of an algorithm alone: those of all
// collectives that it can do. Checked, not proved. Fails with a sentence for the user.
Result<std::vector<collectives::exchange::ProgramSet>> find_sets(const Options& options);

// The one set that the options name; an algorithm needs its collective.
Result<collectives::exchange::ProgramSet> find_set(const Options& options);

}  // namespace plait::program
