// Moving bytes: what is small acts in post(), all else in pieces in poll().
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <typeinfo>

#include "transport/shm/cma.h"
#include "transport/shm/domain.h"
#include "transport/shm/endpoint.h"

namespace plait::transport::shm {

namespace {

// Small transfers cost a poll more than their bytes: a system call each, with CMA.
constexpr size_t kLeastCharge = 2048;

const PeerRegion& region_of(const Transfer& transfer) noexcept {
  return *static_cast<const PeerRegion*>(transfer.remote.region);
}

}  // namespace

size_t ShmEndpoint::post(std::span<const Transfer> transfers) noexcept {
  size_t taken = 0;
  for (const Transfer& transfer : transfers) {
    if (state_ != State::ready || ops_.size() + dones_.size() >= kDepth) break;
    if (const char* why = refusal(transfer)) {
      fail(Code::invalid, std::string("a transfer was refused: ") + why);
      break;
    }
    const bool small = transfer.verb == Verb::put && transfer.remote.bytes <= kInline && ops_.empty() &&
                       (transfer.remote.bytes == 0 || region_of(transfer).at() != nullptr);
    if (!small) {
      enqueue(transfer);
    } else if (!act_now(transfer)) {
      break;
    }
    ++taken;
  }
  return taken;
}

bool ShmEndpoint::sent(uint16_t counter) const noexcept {
  for (const Op* op = ops_.first(); op != nullptr; op = op->next)
    if (op->transfer.signal.counter == counter) return false;
  return true;
}

// Null when it keeps to the contract.
const char* ShmEndpoint::refusal(const Transfer& transfer) const noexcept {
  if (const char* why = refusal_of(transfer, their_counters_)) return why;
  if (transfer.verb == Verb::flush || transfer.remote.bytes == 0) return nullptr;
  const RemoteRegion& remote = *transfer.remote.region;
  if (typeid(remote) != typeid(PeerRegion)) return "no remote region of shared memory";
  if (region_of(transfer).endpoint() != this) return "the remote region was imported by another endpoint";
  return nullptr;
}

bool ShmEndpoint::act_now(const Transfer& transfer) noexcept {
  if (!begin_write()) return false;
  if (transfer.remote.bytes != 0) {
    const PeerRegion& region = region_of(transfer);
    if (!region.live()) {
      end_write();
      fail(Code::invalid, peer_->name() + " destroyed the region that a put goes to");
      return false;
    }
    copy_word_last(region.at() + transfer.remote.offset, transfer.local.data, transfer.remote.bytes);
  }
  signal(transfer.signal);
  end_write();
  notify();
  if (transfer.when != When::never) complete(transfer, Code::ok);
  return true;
}

void ShmEndpoint::enqueue(const Transfer& transfer) noexcept {
  Op& op = ops_.push();
  op.transfer = transfer;
  op.moved = 0;
  if (transfer.verb == Verb::put && transfer.local.bytes <= kInline && transfer.local.bytes != 0) {
    std::memcpy(op.bytes.data(), transfer.local.data, transfer.local.bytes);
    op.transfer.local.data = op.bytes.data();
  }
  domain_->has_work(*this);
}

size_t ShmEndpoint::progress(size_t budget) noexcept {
  while (!ops_.empty() && budget != 0 && state_ == State::ready) {
    Op& op = ops_.front();
    const size_t bytes = std::min({op.transfer.remote.bytes - op.moved, budget, kPiece});
    if (!move_piece(op, bytes)) break;
    budget -= std::min(budget, std::max(bytes, kLeastCharge));
    if (op.moved != op.transfer.remote.bytes && op.transfer.verb != Verb::flush) continue;
    const Transfer transfer = op.transfer;
    ops_.pop();
    if (transfer.when != When::never) complete(transfer, Code::ok);
  }
  return budget;
}

// Moves the next `bytes`, and signals after the last. False when the endpoint failed over it.
bool ShmEndpoint::move_piece(Op& op, size_t bytes) noexcept {
  if (op.transfer.verb == Verb::flush) return true;
  if (bytes != 0 && !region_of(op.transfer).live()) {
    fail(Code::invalid, peer_->name() + " destroyed the region of a transfer");
    return false;
  }
  if (op.transfer.verb == Verb::get) {
    if (bytes != 0 && !get_piece(op, bytes)) return false;
    op.moved += bytes;
    return true;
  }
  if (!begin_write()) return false;
  bool moved = bytes == 0 || put_piece(op, bytes);
  if (moved) {
    op.moved += bytes;
    if (op.moved == op.transfer.remote.bytes) signal(op.transfer.signal);
  }
  end_write();
  if (moved && op.moved == op.transfer.remote.bytes) notify();
  return moved;
}

bool ShmEndpoint::put_piece(const Op& op, size_t bytes) noexcept {
  const PeerRegion& region = region_of(op.transfer);
  const std::byte* from = op.transfer.local.data + op.moved;
  const uint64_t offset = op.transfer.remote.offset + op.moved;
  if (region.at() == nullptr) {
    if (!peer_->alive(socket_.get())) return short_count(-1, bytes, region.address() + offset);
    return short_count(cma_write(peer_->pid, region.address() + offset, from, bytes), bytes,
                       region.address() + offset);
  }
  if (op.transfer.remote.bytes <= kInline) {
    copy_word_last(region.at() + offset, from, bytes);
  } else {
    std::memmove(region.at() + offset, from, bytes);
  }
  return true;
}

bool ShmEndpoint::get_piece(const Op& op, size_t bytes) noexcept {
  const PeerRegion& region = region_of(op.transfer);
  std::byte* to = op.transfer.local.data + op.moved;
  const uint64_t offset = op.transfer.remote.offset + op.moved;
  if (region.at() != nullptr) {
    std::memmove(to, region.at() + offset, bytes);
  } else {
    // The number of a dead process may be another's by now.
    const ssize_t got =
        peer_->alive(socket_.get()) ? cma_read(peer_->pid, region.address() + offset, to, bytes) : -1;
    if (!short_count(got, bytes, region.address() + offset)) return false;
  }
  if (region.live()) return true;
  fail(Code::invalid, peer_->name() + " destroyed a region while it was read");
  return false;
}

// True when all was moved.
bool ShmEndpoint::short_count(ssize_t moved, size_t bytes, uint64_t address) noexcept {
  if (moved == ssize_t(bytes)) return true;
  const int error = moved < 0 ? errno : EFAULT;
  if (!peer_->alive(socket_.get())) {
    readable();  // says what the socket has to say
    lost();
  } else if (error == ESRCH) {  // its memory is gone already, its sockets not yet
    fail(Code::peer, peer_->name() + " exited or was killed");
  } else {
    char where[32];
    std::snprintf(where, sizeof where, "0x%llx", static_cast<unsigned long long>(address));
    fail(Code::system, std::to_string(moved < 0 ? 0 : moved) + " of " + std::to_string(bytes) + " bytes at " +
                           where + " of " + peer_->name() + " could be reached (" + std::strerror(error) +
                           "): was the memory unmapped before its region was destroyed?");
  }
  return false;
}

// The peer's close() waits while `writing` is 1. Its heavy barrier makes this store visible before the load,
// where both processes take part; else the order of seq_cst does.
bool ShmEndpoint::begin_write() noexcept {
  uint64_t grant = 0;
  if (peer_->light) {
    theirs_->writing.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    grant = theirs_->grant.load(std::memory_order_acquire);
  } else {
    theirs_->writing.exchange(1, std::memory_order_seq_cst);
    grant = theirs_->grant.load(std::memory_order_seq_cst);
  }
  if (grant == peer_ticket_.endpoint) return true;
  end_write();
  fail(Code::peer, peer_->name() + " closed this endpoint");
  return false;
}

void ShmEndpoint::signal(const Signal& signal) noexcept {
  if (signal.add == 0) return;
  uint64_t& sum = sent_[signal.counter];
  sum += signal.add;
  theirs_->counters[signal.counter].store(sum, std::memory_order_release);
}

void ShmEndpoint::complete(const Transfer& transfer, Code code) noexcept {
  dones_.push({transfer.cookie, code});
  domain_->has_work(*this);
}

}  // namespace plait::transport::shm
