// Endpoints by need: a rank is connected when a plan first touches it, or when it calls.
#include <algorithm>

#include "base/log.h"
#include "runtime/communicator.h"

namespace plait::runtime {

// Is everybody whom `p` touches there? Asked before each operation: a look at a flag but for the first.
bool Communicator::connected(const Prepared& p) noexcept {
  if (p.connected) return true;
  p.network = false;
  for (int32_t r : p.call.schedule->peers) {
    if (peer(r) == nullptr || !peer(r)->ready()) return false;
    p.network = p.network || !peer(r)->mapped();
  }
  p.connected = true;
  return true;
}

void Communicator::need_peers(const collectives::real::Schedule& schedule) noexcept {
  for (int32_t r : schedule.peers) {
    if (peer(r) != nullptr) continue;
    Status status = meet(r);
    if (!status.ok()) return fail(std::move(status), r);
  }
}

Status Communicator::meet(int32_t r) {
  peers_[size_t(r)] = std::make_unique<Peer>(local_, r, ways_[size_t(r)], name_of(r));
  known_.push_back(r);
  connecting_++;
  return peer(r)->start(group_->meet(r));
}

// Moves all that are on their way. True when one got there.
bool Communicator::step_connections() noexcept {
  bool moved = false;
  for (size_t i = 0; i < known_.size() && connecting_ > 0; i++) {
    const int32_t r = known_[i];
    Peer& p = *peer(r);
    if (p.ready() || p.gone) continue;
    Status status = p.step();
    if (!status.ok()) {
      status = {status.code(), std::string(status.text()) + ", " + phase()};
      p.gone = true;
      if (status.code() == Code::peer) {
        link_ended(r, std::move(status));
      } else {
        fail(std::move(status), r);
      }
      return true;
    }
    if (!p.ready()) continue;
    connecting_--;
    link(r);
    moved = true;
  }
  return moved;
}

// Whom the running operation needs, and whoever else calls.
void Communicator::advance_connecting() noexcept {
  listen_to_group();
  if (is_broken_.load(std::memory_order_relaxed)) return;
  (void)step_connections();
  if (is_broken_.load(std::memory_order_relaxed) || !connected(*head_->prepared)) return;
  launch(head_);
}

void Communicator::link(int32_t r) noexcept {
  Peer& p = *peer(r);
  collectives::real::Link& l = links_[size_t(r)];
  l = {};
  l.mailbox = &p.mailbox();
  l.endpoint = &p.endpoint();
  l.may_pull = p.may_pull();
  l.commons = p.commons();
  if (p.mapped()) {
    l.shared = p.memory().mapped();
    l.shared_bytes = p.memory().bytes();
  } else {
    remote_.push_back(r);
  }
  recorder_.watch(r, &p.board());
  log::debug("rank {} is connected to {} over {}", config_.rank, p.name(), fabric_.domain(p.way())->name());
}

transport::RemoteRegion* Communicator::import_region(void* self, int32_t r, ByteView line) {
  return static_cast<Communicator*>(self)->peer(r)->import(line);
}

void Communicator::poll_domains(bool network) noexcept {
  using collectives::real::Machine;
  auto& done = polled_;
  for (size_t n = std::size(done); n == std::size(done);) {
    n = fabric_.poll(network, done);
    for (size_t i = 0; i < n; i++) {
      const uint64_t cookie = done[i].cookie;
      if (cookie >= kMessageCookie) {
        const auto r = int32_t((cookie - kMessageCookie) / transport::kMessageCookies);
        if (done[i].status == Code::ok) {
          peer(r)->messages().done(done[i]);
        } else if (done[i].status != Code::aborted) {
          peer_died(r);
        }
      } else if (cookie >= transport::kMailboxCookie) {
        const auto r = int32_t((cookie - transport::kMailboxCookie) / transport::kMailboxCookies);
        if (done[i].status == Code::ok) {
          peer(r)->mailbox().left(cookie);
        } else if (done[i].status != Code::aborted) {
          peer_died(r);
        }
      } else if (cookie >= Machine::kPullCookie) {
        machine_->pulled(done[i]);
      } else if (done[i].status != Code::ok && cookie < uint64_t(config_.size)) {
        peer_died(int32_t(cookie));
      }
    }
  }
}

// Posts what found no room before, and credit that is due.
void Communicator::flush_network() noexcept {
  for (int32_t r : remote_) peer(r)->mailbox().flush();
}

void Communicator::idle_network() noexcept {
  for (int32_t r : remote_) peer(r)->mailbox().idle();
}

bool Communicator::network_drained() const noexcept {
  return std::all_of(remote_.begin(), remote_.end(), [&](int32_t r) { return peer(r)->mailbox().drained(); });
}

}  // namespace plait::runtime
