// What drawings of machines and of fabrics have in common.
#pragma once

#include "base/status.h"

namespace plait::topology::picture {

inline constexpr const char* kStyle =
    "<style>text{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif;font-size:11px;fill:#223}"
    ".title{font-size:14px;font-weight:bold}.small{font-size:9px;fill:#556}.label{font-weight:bold}</style>";

// Of so many nodes nothing is drawn.
Status too_many(size_t count);

}  // namespace plait::topology::picture
