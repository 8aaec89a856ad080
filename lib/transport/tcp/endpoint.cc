#include "transport/tcp/endpoint.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "transport/misuse.h"
#include "transport/tcp/domain.h"
#include "transport/tcp/socket.h"

namespace plait::transport::tcp {

TcpEndpoint::TcpEndpoint(TcpDomain& domain, uint64_t id, const Ticket& ticket, uint64_t cookie)
    : domain_(&domain),
      id_(id),
      nonce_(ticket.endpoint),
      cookie_(cookie),
      counter_count_(ticket.counters),
      greeting_(std::make_unique<Greeting>()),
      counter_words_(std::make_unique<std::atomic<uint64_t>[]>(ticket.counters)),
      ops_(domain.pools().ops),
      dones_(domain.pools().dones) {
  counters_ = counter_words_.get();
  lanes_.reserve(1 + ticket.bulk_lanes);
  for (size_t i = 0; i <= ticket.bulk_lanes; ++i)
    lanes_.emplace_back(*this, Lane(i), domain.pools(), domain.engine());
  greeting_->links.reserve(lanes_.size() + 1);
  for (size_t i = 0; i < lanes_.size(); ++i) greeting_->links.emplace_back(Lane(i));
  greeting_->links.emplace_back(Lane::pulse);
  Parties& parties = greeting_->parties;
  parties.mine = ticket;
  parties.host = domain.host();
  parties.buffers = domain.buffers();
  parties.poller = &domain.poller();
  parties.tls = domain.tls();
  parties.watch_id = watch_id(Lane{});
}

TcpEndpoint::~TcpEndpoint() {
  close();
  if (domain_ != nullptr) domain_->forget(*this);
}

RegionTable& TcpEndpoint::regions() noexcept { return domain_->regions(); }

Result<std::unique_ptr<RemoteRegion>> TcpEndpoint::import(ByteView key) {
  if (state_ == State::opened || state_ == State::closed) return import_out_of_turn(kMaker.name);
  return PeerRegion::make(kMaker, this, their_domain_, key);
}

std::string TcpEndpoint::peer_name() const {
  if (!greeting_) return peer_name_;
  std::string name = "peer " + to_string(greeting_->parties.theirs.addresses[0]);
  for (const Link& link : greeting_->links) {
    if (link.hello().pid != 0) return name + " (" + sender_of(link.hello()) + ")";
  }
  return name;
}

void TcpEndpoint::finished(Op& op, Code code) noexcept {
  if (op.when != When::never) {
    dones_.push({op.cookie, code});
    domain_->has_work(*this);
  }
  ops_.give(op);
}

void TcpEndpoint::refuse(Refusal refusal) noexcept {
  Header last;
  last.kind = uint8_t(FrameKind::error);
  last.value = uint64_t(refusal);
  for (Connection& lane : lanes_) lane.last_word(last);
  fail(Code::auth, peer_name() + " sent " + describe(refusal));
}

void TcpEndpoint::refused(Refusal refusal) noexcept {
  fail(Code::invalid, peer_name() + " refused " + describe(refusal));
}

// All that had come before is still received: the ends of the connections may be seen in any order.
void TcpEndpoint::end(Code code, std::string why) noexcept {
  ending_ = true;
  end_code_ = code;
  end_text_ = peer_name() + std::move(why);
  domain_->has_work(*this);
}

void TcpEndpoint::goodbye() noexcept { end(Code::peer, " closed this endpoint"); }

void TcpEndpoint::ended(int error) noexcept {
  if (ending_) return;
  if (error == 0 || error == ECONNRESET || error == EPIPE)
    return end(Code::peer, " closed its connection: it exited or was killed");
  end(Code::peer,
      " did not answer (" + std::string(std::strerror(error)) + "): its host is down, or the link is cut");
}

void TcpEndpoint::broken_seal(const char* why) noexcept {
  if (ending_) return;
  end(Code::auth, std::string(": what came over TLS is not what it sent (OpenSSL: ") + why +
                      "): somebody changed it on the way");
}

void TcpEndpoint::progress(size_t& budget) noexcept {
  if (!ending_ || state_ != State::ready) return;
  bool more = false;
  for (Connection& lane : lanes_) {
    if (lane.up()) more |= !domain_->engine().drain(lane, budget);
  }
  if (!more && state_ == State::ready) fail(end_code_, std::move(end_text_));
}

void TcpEndpoint::fail(Code code, std::string text) noexcept {
  if (state_ == State::failed || state_ == State::closed) return;
  log::info("{}: endpoint failed: {}", domain_->name(), text);
  error_ = std::move(text);
  domain_->changed(*this, state_, State::failed);
  state_ = State::failed;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].up()) domain_->engine().remove(lanes_[i]);
    leaving_[i] = lanes_[i].stop();
  }
  leaving_[size_t(Lane::pulse)] = std::move(pulse_);
  for (Fd& socket : leaving_) {
    if (!socket) continue;
    domain_->poller().remove(socket.get());  // a dead peer's would keep wait_fd() readable
    shutdown(socket.get(), SHUT_WR);
  }
  drop_links();
  drop_ops(code);
  dones_.push_own({cookie_, code});
  domain_->has_work(*this);
}

void TcpEndpoint::drop_links() noexcept {
  if (!greeting_) return;
  for (Link& link : greeting_->links) link.drop(greeting_->parties);
}

void TcpEndpoint::drop_ops(Code code) noexcept {
  while (Op* op = ops_.newest()) finished(*op, code);
}

void TcpEndpoint::close() noexcept {
  if (state_ == State::closed || domain_ == nullptr || !domain_->is_this_process()) return;
  if (state_ == State::ready) {
    Header last;
    last.kind = uint8_t(FrameKind::goodbye);
    for (Connection& lane : lanes_) lane.last_word(last);
  }
  domain_->changed(*this, state_, State::closed);
  state_ = State::closed;
  hang_up();
  drop_ops(Code::aborted);
}

void TcpEndpoint::hang_up() noexcept {
  for (Connection& lane : lanes_) {
    if (lane.up()) {
      domain_->poller().remove(lane.fd());
      domain_->engine().remove(lane);
    }
    lane.stop();
  }
  if (pulse_) domain_->poller().remove(pulse_.get());
  pulse_.reset();
  drop_links();
  for (Fd& socket : leaving_) socket.reset();
}

void TcpEndpoint::orphan() noexcept {
  close();
  dones_.clear();
  domain_ = nullptr;
}

}  // namespace plait::transport::tcp
