// Loads fabrics that are modules (transport/module.h): plait_NAME.so in the folder plait beside this library,
// or beside it.
#pragma once

#include <string_view>

#include "runtime/rail_spec.h"
#include "transport/module.h"

namespace plait::runtime {

// Loads it once; it stays loaded. Code::unsupported when it is none of module_names(), is not there, or was
// built with another plait; Code::system when the loader refuses it, with what that says. Any thread.
Result<const transport::Module*> load_module(std::string_view name);

}  // namespace plait::runtime
