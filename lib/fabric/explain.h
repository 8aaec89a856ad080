// What libfabric's errors mean. An error is one of fi_errno.h's, of either sign.
#pragma once

#include <string>

namespace plait::fabric {

// "Connection refused"
std::string reason(long error);

// What usually causes it and what to try, to end a sentence.
const char* advice(int error) noexcept;

}  // namespace plait::fabric
