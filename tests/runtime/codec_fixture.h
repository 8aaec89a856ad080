// What tests of codecs share: two codecs of a user's own, calls that name codecs, values.
#pragma once

#include <string>
#include <vector>

#include "runtime/messages.h"

namespace plait::test {

// Exact: values that are not 0, with where they are.
plait_codec_desc sparse();
// Multiples of 8, in a byte each; what is left of a value is added to the next one of the same element.
plait_codec_desc coarse();
// Registers both, once in this process.
void know_codecs();

plait_call_config config_of(const char* codec, uint64_t key = 0, const char* algorithm = nullptr);
float value(int rank, int turn, size_t i);
std::string allreduce(Comm& c, std::vector<float>& values, const plait_call_config& config,
                      plait_op op = PLAIT_SUM);

}  // namespace plait::test
