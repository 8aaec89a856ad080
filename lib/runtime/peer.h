// What a communicator keeps for another rank.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/board.h"
#include "runtime/communicator.h"
#include "transport/mailbox.h"
#include "transport/transport.h"

namespace plait::runtime {

struct Communicator::Peer {
  struct Imported {
    Bytes key;
    std::unique_ptr<transport::RemoteRegion> region;
  };
  std::unique_ptr<transport::Endpoint> endpoint;  // after what it imported: destroyed last
  std::unique_ptr<transport::RemoteRegion> arena;
  std::vector<Imported> plain;  // regions it told us to get from
  std::optional<transport::Mailbox> mailbox;
  Board* board = nullptr;  // in the peer's memory
  bool gone = false;       // its endpoint failed
};

}  // namespace plait::runtime
