// A fence of which one side pays for both (membarrier(2)): where a store of one process must be ordered
// before its load of another's word, and the other way round, the side that runs often only keeps its
// compiler in order and the side that runs seldom makes every running thread pass a full fence.
#pragma once

namespace plait {

// Takes part, as a process: heavy_fence() of others orders this one's threads from now on. False where the
// kernel refuses; then this process needs sequentially consistent operations of its own on both sides.
bool join_fences() noexcept;

// Every running thread of all processes that joined passes a full fence. Microseconds.
void heavy_fence() noexcept;

}  // namespace plait
