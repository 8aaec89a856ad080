// --show-config: the environment variables that plait looks at. The same table is docs/environment.md.
#pragma once

namespace plait::perf {

void show_config();

}  // namespace plait::perf
