// The codecs there are, one row each.
#pragma once

#include <memory>
#include <string_view>

#include "collectives/codec/codec.h"
#include "collectives/codec/options.h"

namespace plait::collectives::codec {

using Made = Result<std::unique_ptr<Codec>>;

struct Maker {
  std::string_view name;
  std::string_view help;  // its options, and what it does: a line
  // Asks `words` for each of its options; the dtype is looked at after that.
  Made (*make)(OptionWords& words, Dtype dtype);
};

Made make_cast(OptionWords& words, Dtype dtype);
Made make_int8(OptionWords& words, Dtype dtype);
Made make_int4(OptionWords& words, Dtype dtype);
Made make_lossless(OptionWords& words, Dtype dtype);
Made make_onebit(OptionWords& words, Dtype dtype);
Made make_topk(OptionWords& words, Dtype dtype);
Made make_threshold(OptionWords& words, Dtype dtype);
Made make_randomk(OptionWords& words, Dtype dtype);

// Code::unsupported: the codec takes no such values.
Status refuse_dtype(std::string_view codec, Dtype dtype, std::string_view takes);

}  // namespace plait::collectives::codec
