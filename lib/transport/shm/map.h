// Where arenas are mapped, one's own and those of peers.
#pragma once

#include <cstddef>

#include "base/file.h"

namespace plait::transport::shm {

// Maps the first `bytes` bytes of a memfd shared, read-write, 2 MiB-aligned, reserving nothing, never in core
// dumps; 128 of them one after the other at different places modulo 256 MiB, where there is the address space
// for that. An empty mapping and errno on failure. Any thread.
Mapping map_shared(int fd, size_t bytes) noexcept;

}  // namespace plait::transport::shm
