// A message to be sent, and what the fabric makes of it.
#pragma once

#include "transport/am/wire.h"

namespace plait::transport::am {

struct Message {
  Header header;
  Op* op = nullptr;                 // whose last message it is, if that ends with its being sent
  const std::byte* from = nullptr;  // put: what follows the header
  size_t bytes = 0;                 // that follow it
  Place place;                      // data: where they are read

  // Writes what follows the header. Of data, zeros when the region was taken back.
  void pack(RegionTable& regions, std::byte* to) const noexcept;
};

// What became of a message.
enum class Sent : uint8_t {
  no_room,  // nothing: it may be tried again once has_room() was called; or the endpoint has failed
  kept,     // it will be sent, unless let_go() comes first; released() tells when
  done,     // nothing of it is needed any more
};

}  // namespace plait::transport::am
