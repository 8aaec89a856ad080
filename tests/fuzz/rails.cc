// What rails read: tickets, keys and identities that came out of band, and control lines that a peer put into
// memory.
#include "fuzz.h"
#include "transport/rails/state.h"
#include "transport/rails/wire.h"

namespace plait::fuzz {
namespace {

using namespace transport::rails;

void try_ticket(ByteView bytes) {
  const auto ticket = parse_ticket(bytes);
  if (!ticket.ok()) return;
  require(equal(make_ticket(*ticket), bytes), "a ticket is what was read");
  require(ticket->window >= 1 && ticket->window <= kWindow && ticket->counters <= kCounters,
          "a window is bounded");
  require(!ticket->tickets.empty() && ticket->tickets.size() <= kRails &&
              ticket->keys.size() == ticket->tickets.size(),
          "each rail has a ticket and a key");
}

void try_key(ByteView bytes) {
  const auto key = parse_key(bytes);
  if (key.ok()) require(equal(make_key(*key), bytes), "a key is what was read");
}

void try_identity(ByteView bytes) {
  const auto identity = parse_identity(bytes);
  if (!identity.ok()) return;
  for (ByteView one : *identity) require(one.size() <= bytes.size(), "no rail's identity is longer than all");
}

// Blocks of the input, as a bundle that is whole: random bytes hardly ever have the right sum.
void try_made(Input& input) {
  Ticket ticket;
  ticket.counters = input.number<uint16_t>();
  ticket.window = input.number<uint16_t>();
  ticket.cell_bytes = input.number<uint32_t>();
  while (!input.empty() && ticket.tickets.size() < 12) {
    ticket.tickets.push_back(input.bytes(input.number()));
    if (input.number() % 8 != 0) ticket.keys.push_back(input.bytes(input.number()));
  }
  try_ticket(make_ticket(ticket));
  try_key(make_key({ticket.cell_bytes, transport::Access(ticket.window & 7), ticket.keys}));
}

void try_line(ByteView cell) {
  const auto line = parse_line(cell);
  if (!line) return;
  require(line->head.rail < kRails, "there are no more rails");
  require(sizeof(LineHead) + line->payload.size() <= cell.size(), "a line lies in its cell");
  LineHead head = line->head;
  require(equal(make_line(head, line->payload), cell.first(sizeof head + line->payload.size())),
          "a line is what was read");
}

void try_made_line(Input& input) {
  LineHead head;
  head.kind = LineKind(input.number());
  head.rail = input.number();
  head.generation = input.number<uint32_t>();
  head.number = input.number<uint32_t>();
  try_line(make_line(head, input.rest()));
}

void try_report(Input& input) {
  const size_t counters = input.number() % 70, window = input.number() % 70;
  const auto landed = parse_landed(input.rest(), counters, window);
  if (!landed) return;
  require(landed->size() == counters, "a report is of all counters");
  for (const Landed& one : *landed)
    require(window >= 64 || one.bits >> window == 0, "no part lies outside of the window");
}

// Whatever a peer says, in whatever order: no action that has no object.
void try_state(Input& input) {
  RailState state;
  bool open = true;
  while (!input.empty()) {
    const auto event = Event(input.number() % 6);
    const uint8_t actions = state.on(event, input.number() % 4 + state.generation() - 1);
    if ((actions & kNonsense) != 0) return;
    if ((actions & kClose) != 0) open = false;
    if ((actions & kOpen) != 0) open = true;
    if ((actions & (kConnect | kGoLive | kSayReady)) != 0) require(open, "only an open rail is used");
    if ((actions & kGoLive) != 0)
      require(state.ready_here() && state.phase() == Phase::live, "a live rail is ready");
  }
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(
      data, size,
      {try_ticket, try_key, try_identity, try_made, try_line, try_made_line, try_report, try_state});
}
