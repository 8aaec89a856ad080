// A codec of the user's own, plait_codec_desc, as one of plait's.
#pragma once

#include <memory>

#include "base/status.h"
#include "collectives/codec/codec.h"
#include "plait/codec.h"

namespace plait::runtime {

// Keeps the pointers of `desc`. Code::unsupported: it does not take the dtype.
Result<std::unique_ptr<const collectives::codec::Codec>> make_user_codec(const plait_codec_desc& desc,
                                                                         collectives::Dtype dtype);

}  // namespace plait::runtime
