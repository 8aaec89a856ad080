#include "room.h"

#include "base/pages.h"
#include "transport/shm/arena.h"

namespace plait::nccl {

using transport::shm::Arena;

// Peers that store to it still find its addresses unused, until they have let go: see Arena::pin().
Room::~Room() {
  if (block_ == nullptr) return;
  auto arena = Arena::process();
  if (arena.ok()) (*arena)->free(block_);
}

Result<Room> Room::make(size_t bytes, bool shared) {
  Room room;
  room.bytes_ = bytes;
  if (shared) {
    auto arena = Arena::process();
    if (!arena.ok()) return arena.status();
    auto block = (*arena)->allocate(bytes);
    if (!block.ok()) return block.status();
    room.block_ = *block;
    return room;
  }
  room.pages_ = map_pages(bytes);
  if (room.pages_) return room;
  return Status(Code::memory, "no " + std::to_string(bytes) + " bytes for a peer's messages");
}

}  // namespace plait::nccl
