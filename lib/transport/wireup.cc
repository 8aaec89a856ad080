#include "transport/wireup.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <string>

namespace plait::transport {

namespace {

using Endpoints = std::vector<std::unique_ptr<Endpoint>>;

// What a rank tells in each of the two exchanges: its status first, so that all of them learn who failed, and
// why.
Bytes say(const Status& status) {
  Bytes bytes;
  append(bytes, int32_t(status.code()));
  if (!status.ok()) {
    auto text = std::as_bytes(std::span(status.text()));
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  return bytes;
}

void append_block(Bytes& to, ByteView block) {
  append(to, uint32_t(block.size()));
  to.insert(to.end(), block.begin(), block.end());
}

bool take_block(ByteView& from, ByteView& block) noexcept {
  uint32_t bytes = 0;
  if (!take(from, bytes) || from.size() < bytes) return false;
  block = from.first(bytes);
  from = from.subspan(bytes);
  return true;
}

Status told(const std::vector<Bytes>& all, int me, std::string_view phase) {
  for (size_t rank = 0; rank < all.size(); ++rank) {
    ByteView view(all[rank]);
    int32_t code = 0;
    if (!take(view, code)) {
      return Status(Code::internal, "wireup: rank " + std::to_string(rank) +
                                        " sent a damaged message while " + std::string(phase));
    }
    if (Code(code) == Code::ok || int(rank) == me) continue;
    std::string text(reinterpret_cast<const char*>(view.data()), view.size());
    return Status(Code(code), "wireup: rank " + std::to_string(rank) + " failed while " + std::string(phase) +
                                  ": " + text);
  }
  return {};
}

class Wireup {
 public:
  Wireup(Domain& domain, Exchange& exchange, const Bounds& bounds)
      : domain_(domain), exchange_(exchange), bounds_(bounds), me_(exchange.rank()), size_(exchange.size()) {}

  Result<Endpoints> run(uint16_t counters) {
    Status mine = open(counters);
    auto tickets = exchange_.allgather(mine.ok() ? tell_tickets() : say(mine), bounds_);
    if (!mine.ok()) return mine;
    if (!tickets.ok()) return during("exchanging tickets", tickets.status());
    PLAIT_TRY(told(*tickets, me_, "opening its endpoints"));
    mine = connect(*tickets);
    if (mine.code() == Code::timeout || mine.code() == Code::aborted) return mine;
    auto ready = exchange_.allgather(say(mine), bounds_);
    if (!mine.ok()) return mine;
    if (!ready.ok()) return during("waiting for all ranks to be ready", ready.status());
    PLAIT_TRY(told(*ready, me_, "connecting"));
    return std::move(endpoints_);
  }

 private:
  Status during(std::string_view phase, const Status& why) const {
    return Status(why.code(), "wireup over " + std::string(domain_.name()) + ", " + std::string(phase) +
                                  ": " + std::string(why.text()));
  }
  Status at_rank(int rank, std::string_view phase, Code code, std::string_view why) const {
    return during(phase, Status(code, "rank " + std::to_string(rank) + ": " + std::string(why)));
  }

  Status open(uint16_t counters) {
    endpoints_.resize(size_t(size_));
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == me_) continue;
      auto endpoint = domain_.open(counters, uint64_t(rank));
      if (!endpoint.ok())
        return at_rank(rank, "opening endpoints", endpoint.status().code(), endpoint.status().text());
      endpoints_[size_t(rank)] = std::move(*endpoint);
    }
    return {};
  }

  // Status, identity, and a ticket for each rank (of 0 bytes for itself).
  Bytes tell_tickets() const {
    Bytes bytes = say({});
    append_block(bytes, domain_.identity());
    for (auto& endpoint : endpoints_) append_block(bytes, endpoint ? endpoint->ticket() : ByteView());
    return bytes;
  }

  // Who fails connects the others all the same, so that they need not wait for it, and learn of it with all
  // the rest.
  Status connect(const std::vector<Bytes>& all) {
    Status first;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == me_) continue;
      Status status = connect_to(rank, all[size_t(rank)]);
      if (first.ok() && !status.ok()) first = status;
    }
    Status waited = wait_ready();
    return first.ok() ? waited : first;
  }

  Status connect_to(int rank, const Bytes& told_by_it) {
    ByteView view(told_by_it), identity, ticket;
    int32_t code = 0;
    bool whole = take(view, code) && take_block(view, identity);
    for (int i = 0; whole && i <= me_; ++i) whole = take_block(view, ticket);
    if (!whole) return at_rank(rank, "connecting", Code::internal, "its message is damaged");
    if (!domain_.reaches(identity))
      return at_rank(rank, "connecting", Code::unsupported,
                     "not to be reached this way from rank " + std::to_string(me_));
    Status status = endpoints_[size_t(rank)]->connect(ticket);
    return status.ok() ? status : at_rank(rank, "connecting", status.code(), status.text());
  }

  // Until no endpoint is on its way any more; the first that failed, if one did.
  Status wait_ready() {
    for (int turn = 0;; ++turn) {
      domain_.poll({});
      if (connecting().empty()) break;
      if (bounds_.aborted()) return during("connecting", Status(Code::aborted, "aborted"));
      if (bounds_.deadline.passed())
        return during("connecting", Status(Code::timeout, "no answer in time from rank" + connecting()));
      pause(turn);
    }
    for (int rank = 0; rank < size_; ++rank) {
      auto& endpoint = endpoints_[size_t(rank)];
      if (endpoint && endpoint->state() == State::failed)
        return at_rank(rank, "connecting", Code::peer, endpoint->error());
    }
    return {};
  }

  // " 1, 5": the ranks that connect still.
  std::string connecting() const {
    std::string ranks;
    for (int rank = 0; rank < size_; ++rank) {
      auto& endpoint = endpoints_[size_t(rank)];
      if (endpoint && endpoint->state() == State::connecting)
        ranks += (ranks.empty() ? " " : ", ") + std::to_string(rank);
    }
    return ranks;
  }

  // Others may need this core to answer.
  static void pause(int turn) noexcept {
    if (turn < 100) {
      sched_yield();
      return;
    }
    timespec nap{0, std::min(turn, 1000) * 1000};
    nanosleep(&nap, nullptr);
  }

  Domain& domain_;
  Exchange& exchange_;
  const Bounds& bounds_;
  const int me_, size_;
  Endpoints endpoints_;
};

}  // namespace

Result<Endpoints> wire_up(Domain& domain, Exchange& exchange, uint16_t counters, const Bounds& bounds) {
  return Wireup(domain, exchange, bounds).run(counters);
}

}  // namespace plait::transport
