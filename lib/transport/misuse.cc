#include "transport/misuse.h"

#include <string>

namespace plait::transport {

Status in_forked_child(std::string_view who) {
  return Status(Code::state, std::string(who) + ": a domain cannot be used in a forked child");
}

Status too_many_counters(std::string_view who, size_t asked, size_t most) {
  return Status(Code::invalid, std::string(who) + ": " + std::to_string(asked) +
                                   " counters asked for, an endpoint has at most " + std::to_string(most));
}

Status connected_before(std::string_view who) {
  return Status(Code::state,
                std::string(who) + ": connect() of an endpoint that was connected before, or closed");
}

Status own_ticket(std::string_view who) {
  return Status(Code::invalid,
                std::string(who) + ": an endpoint's own ticket; to connect to oneself takes two endpoints");
}

Status import_out_of_turn(std::string_view who) {
  return Status(Code::state,
                std::string(who) + ": a key can be imported after connect(), and not after close()");
}

}  // namespace plait::transport
