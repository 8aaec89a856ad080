// What ranks say to each other once a link is open, and how it is written. Every reader checks every field.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "bootstrap/group.h"
#include "bootstrap/socket.h"

namespace plait::bootstrap {

// The first byte of every message.
enum class Kind : uint8_t {
  hello = 1,  // dialer: who I am, in a tree or for a meeting
  welcome,    // the listener is the dialer's parent now
  redirect,   // dial that rank instead
  refuse,     // no; perhaps later
  up,         // contributions to an exchange, towards rank 0
  down,       // all contributions, from rank 0
  notice,     // flooded
  left,       // all of this subtree leave
  all_left,   // all leave
  met,        // meeting: taken up
  say         // meeting: a message
};
// nullopt: empty, or no kind we know. The rest of the message follows the byte.
std::optional<Kind> take_kind(ByteView& message);

struct Hello {
  int32_t size = 0;
  uint64_t instance = 0;  // random: tells a rank that dials again from a second one of the same number
  uint64_t meeting = 0;   // which meeting of these two ranks
  Contact contact;
};
Bytes encode(const Hello& hello);
bool decode(ByteView message, Hello& hello);

struct Redirect {
  int32_t rank = -1;
  Contact contact;
};
Bytes encode(const Redirect& redirect);
bool decode(ByteView message, Redirect& redirect);

struct Refusal {
  bool later = false;    // dialing again makes sense
  uint64_t meeting = 0;  // of a meeting that is over: the number to go on from
  Status status;
};
Bytes encode(const Refusal& refusal);
bool decode(ByteView message, Refusal& refusal);

Bytes encode(const Notice& notice);
bool decode(ByteView message, Notice& notice);

// Contributions of some ranks to exchange number `round`.
struct Bundle {
  struct Item {
    int32_t rank;
    ByteView bytes;  // into the message
  };
  uint32_t round = 0;
  std::vector<Item> items;
};
Bytes encode(Kind kind, const Bundle& bundle);
// Ranks are in [0, size) and come once.
bool decode(ByteView message, int32_t size, Bundle& bundle);

// A message of nothing but its kind, or with a number or bytes.
Bytes plain(Kind kind);
Bytes plain(Kind kind, uint64_t number);
Bytes plain(Kind kind, ByteView bytes);

Bytes encode(const Contact& contact);
bool decode(ByteView message, Contact& contact);
// Where to dial it.
std::vector<Place> places_of(const Contact& contact);

}  // namespace plait::bootstrap
