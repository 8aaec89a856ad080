// Who comes to the domain's listener, and the peers that it knows, until they die.
#include <cerrno>

#include "base/log.h"
#include "transport/shm/domain.h"

namespace plait::transport::shm {

namespace {

constexpr size_t kGreeters = 1024;  // beyond two an endpoint

}  // namespace

void ShmDomain::accept_all() noexcept {
  for (int i = 0; i < 64; ++i) {
    Fd socket = accept_from(listener_.get());
    if (!socket) return;
    auto who = peer_of(socket.get());
    Status status = who.ok() ? check_user(*who) : who.status();
    if (status.ok() && greeters_.size() >= kGreeters + 2 * endpoints_.size())
      status = Status(Code::memory, "shm: too many connections");
    if (status.ok()) status = watch(socket.get(), Watch::greeter, ++last_id_);
    if (status.ok()) {
      greeters_[last_id_] = {std::move(socket), *who};
    } else {
      log::warn("shm: a connection was refused: {}", status.text());
    }
  }
}

// Somebody's first message. What is no hello for an endpoint of ours is sent away.
void ShmDomain::hear(uint64_t id) noexcept {
  auto greeter = greeters_.find(id);
  if (greeter == greeters_.end()) return;
  Greeting greeting;
  Fd fds[2];
  ssize_t got = receive_message(greeter->second.socket.get(),
                                std::as_writable_bytes(std::span(&greeting.hello, 1)), fds);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  unwatch(greeter->second.socket.get());
  greeting.socket = std::move(greeter->second.socket);
  greeting.who = greeter->second.who;
  greeting.arena = std::move(fds[0]);
  greeting.event = std::move(fds[1]);
  greeters_.erase(greeter);
  auto endpoint = by_nonce_.find(greeting.hello.to);
  if (got == sizeof greeting.hello && greeting.arena && endpoint != by_nonce_.end())
    endpoint->second->greeted(std::move(greeting));
}

Result<std::shared_ptr<Peer>> ShmDomain::meet(Greeting& greeting) {
  const Hello& hello = greeting.hello;
  auto& known = peers_[{hello.arena, hello.words}];
  if (auto peer = known.lock()) {
    if (peer->pid == greeting.who.pid && peer->process == hello.process && peer->domain == hello.domain)
      return peer;
    return Status(Code::auth, "two processes claim to be one: " + peer->name() + " and process " +
                                  std::to_string(greeting.who.pid));
  }
  auto met = shm::meet(process_, hello, greeting.who, std::move(greeting.arena), std::move(greeting.event),
                       allow_cma_);
  if (!met.ok()) return met.status();
  const auto& peer = *met;
  if (peer->pidfd && watch(peer->pidfd.get(), Watch::peer, ++last_id_).ok()) watched_[last_id_] = peer;
  if (!peer->light) sleepable_ = false;  // its stores and its look at our flag are not ordered for us
  known = peer;
  std::erase_if(peers_, [](auto& entry) { return entry.second.expired(); });
  std::erase_if(watched_, [](auto& entry) { return entry.second.expired(); });
  return met;
}

void ShmDomain::peer_died(uint64_t id) noexcept {
  auto watched = watched_.find(id);
  auto peer = watched == watched_.end() ? nullptr : watched->second.lock();
  if (peer == nullptr) return;
  unwatch(peer->pidfd.get());
  watched_.erase(watched);
  for (auto& [endpoint_id, endpoint] : endpoints_) {
    if (endpoint->peer() == peer) endpoint->lost();
  }
}

}  // namespace plait::transport::shm
