#include "perf/pair/measure.h"

#include <csignal>

namespace plait::perf::pair {
namespace {

volatile std::sig_atomic_t was_interrupted = 0;

void note_interrupt(int) { was_interrupted = 1; }

}  // namespace

void catch_interrupts() noexcept {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  action.sa_flags = int(SA_RESETHAND);  // the second one ends the process
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return was_interrupted != 0; }

Length length_of(const Options& o) { return {o.iterations, o.seconds, o.infinite}; }

Length warm_up_of(const Session& session) {
  constexpr uint64_t kTurns = 100;
  return {session.options().tool.bandwidth() ? session.depth() : kTurns};
}

Status meet_at(Session& session, size_t bytes) {
  Control& control = session.control();
  Bytes mine;
  append(mine, uint64_t(bytes));
  PLAIT_TRY(control.say(Kind::ready, mine));
  auto heard = control.hear(Kind::ready, [&] { return session.serve(); });
  if (!heard.ok()) return heard.status();
  uint64_t theirs = 0;
  ByteView view(*heard);
  if (take(view, theirs) && theirs == bytes) return {};
  return {Code::internal, control.other() + " measures another size: please report it"};
}

Result<Row> swap_rows(Session& session, const Row& mine, const std::function<bool()>& step) {
  Control& control = session.control();
  PLAIT_TRY(control.say(Kind::done, encode(mine)));
  auto heard = control.hear(Kind::done, [&] { return session.serve(step); });
  if (!heard.ok()) return heard.status();
  Row theirs;
  if (!decode(*heard, theirs) || theirs.bytes != mine.bytes)
    return Status(Code::internal, control.other() + " sent a result that makes no sense");
  return theirs;
}

}  // namespace plait::perf::pair
