#include "runtime/communicator.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/fence.h"
#include "base/log.h"
#include "runtime/bootstrap.h"
#include "runtime/peer.h"
#include "transport/shm/shm.h"
#include "transport/wireup.h"

namespace plait::runtime {

using collectives::Collective;
using transport::LinkMemory;

namespace {

// What ranks tell each other before they connect.
struct Info {
  uint64_t block = 0;   // offset of the block in the rank's arena
  uint64_t fences = 0;  // 1: it joined base/fence.h
  uint32_t identity_bytes = 0, key_bytes = 0;
};

size_t block_bytes(int32_t size) noexcept {
  return round_up(sizeof(Board), 4096) + sizeof(LinkMemory) * size_t(size);
}

// The LinkMemory that the owner of a block keeps for rank `peer`.
uint64_t link_offset(uint64_t block, int32_t peer) noexcept {
  return block + round_up(sizeof(Board), 4096) + sizeof(LinkMemory) * uint64_t(peer);
}

// With more ranks than cores, where a rank starts decides how well the cores are shared: each is put on its
// own core once and then left to the scheduler (8 ranks on 2 cores: 7 us an operation without, 3 us with).
void nudge(int32_t rank) noexcept {
  cpu_set_t old, one;
  if (sched_getaffinity(0, sizeof old, &old) != 0) return;
  const int cores = CPU_COUNT(&old);
  if (cores <= 0) return;
  int skip = rank % cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &old) || skip-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof old, &old);
    return;
  }
}

}  // namespace

Communicator::Communicator(const Config& config)
    : config_(config),
      policy_(wait_policy(config.size)),
      peers_(size_t(config.size)),
      links_(size_t(config.size)) {
  planner_ = std::make_unique<collectives::Planner>(config.rank, config.size);
  machine_ = std::make_unique<collectives::real::Machine>(links_, &Communicator::allocate_scratch,
                                                          &Communicator::import_region, this);
  shapes_.resize(kShapes);
  latest_ = &shapes_[0];
}

Communicator::~Communicator() {
  end_record();
  for (auto& link : links_) link = {};
  for (auto& peer : peers_) peer.reset();  // endpoints before regions
  exposed_.clear();
  arena_region_.reset();
  domain_.reset();
  if (scratch_ != nullptr) arena_->free(scratch_);
  // What broke it is to be read on its board for as long as the process lives: peers may come to look later.
  if (block_ != nullptr && !is_broken_.load()) arena_->free(block_);
}

Result<std::unique_ptr<Communicator>> Communicator::create(const Config& config, uint32_t epoch) {
  std::unique_ptr<Communicator> comm(new Communicator(config));
  comm->begin_record(epoch);
  PLAIT_TRY(comm->record_creation(comm->connect(epoch)));
  return comm;
}

collectives::real::Bound Communicator::allocate_scratch(void* self, size_t bytes) {
  auto* comm = static_cast<Communicator*>(self);
  if (comm->scratch_ != nullptr) comm->arena_->free(comm->scratch_);
  auto memory = comm->arena_->allocate(bytes);
  comm->scratch_ = memory.ok() ? *memory : nullptr;
  return {comm->scratch_, true, comm->scratch_ == nullptr ? 0 : comm->arena_->offset(comm->scratch_), {}};
}

Status Communicator::connect(uint32_t epoch) {
  auto arena = transport::shm::Arena::process();
  if (!arena.ok()) return arena.status();
  arena_ = *arena;
  auto block = arena_->allocate(block_bytes(config_.size));
  if (!block.ok()) return block.status();
  block_ = *block;
  board_ = new (block_) Board();
  board_->culprit.store(-1);
  if (config_.size == 1) return {};
  const transport::Bounds bounds{Deadline::in_ms(config_.bootstrap_timeout_ms), &abort_};
  auto exchange = meet_on_host(config_, epoch, bounds);
  if (!exchange.ok()) return exchange.status();
  PLAIT_TRY(connect_peers(**exchange, bounds));
  if (policy_.crowded) nudge(config_.rank);
  log::info("communicator of {} ranks over {} ({}), {} cores", config_.size, domain_->name(),
            policy_.crowded ? "sharing cores" : "a core each", usable_cores());
  return {};
}

Status Communicator::connect_peers(transport::Exchange& exchange, const transport::Bounds& bounds) {
  auto domain = transport::shm::make_domain({.host_id = config_.host_id});
  if (!domain.ok()) return domain.status();
  domain_ = std::move(domain).value();
  auto region = domain_->expose({.base = arena_->base(), .bytes = arena_->bytes()}, transport::Access::both);
  if (!region.ok()) return region.status();
  arena_region_ = std::move(region).value();

  const ByteView identity = domain_->identity(), key = arena_region_->key();
  Bytes mine;
  fences_ = join_fences();
  append(mine, Info{arena_->offset(block_), fences_, uint32_t(identity.size()), uint32_t(key.size())});
  mine.insert(mine.end(), identity.begin(), identity.end());
  mine.insert(mine.end(), key.begin(), key.end());
  auto infos = exchange.allgather(mine, bounds);
  if (!infos.ok()) return infos.status();
  for (int32_t r = 0; r < config_.size; r++) {
    if (r == config_.rank) continue;
    ByteView view = (*infos)[size_t(r)];
    Info info;
    if (!take(view, info) || view.size() != size_t(info.identity_bytes) + info.key_bytes) {
      return {Code::version, "rank " + std::to_string(r) + " sent a broken description of itself"};
    }
    if (!domain_->reaches(view.first(info.identity_bytes))) {
      return {Code::unsupported,
              "rank " + std::to_string(r) + " is on another host than rank " + std::to_string(config_.rank) +
                  " (boot id and network namespace, or PLAIT_HOST_ID, differ); this version joins ranks of "
                  "one host only"};
    }
  }
  auto endpoints = transport::wire_up(*domain_, exchange, transport::kMailboxCounters, bounds);
  if (!endpoints.ok()) return endpoints.status();
  for (int32_t r = 0; r < config_.size; r++) {
    if (r == config_.rank) continue;
    peers_[size_t(r)] = std::make_unique<Peer>();
    peers_[size_t(r)]->endpoint = std::move((*endpoints)[size_t(r)]);
    PLAIT_TRY(make_link(r, (*infos)[size_t(r)]));
  }
  // The exchange inside: nobody returns, and perhaps leaves, before everybody has what it needs of it.
  return agree_on_pulling(exchange, bounds);
}

Status Communicator::make_link(int32_t r, ByteView view) {
  Peer& peer = *peers_[size_t(r)];
  Info info;
  take(view, info);
  auto region = peer.endpoint->import(view.subspan(info.identity_bytes));
  if (!region.ok()) return region.status();
  peer.arena = std::move(region).value();
  std::byte* base = peer.arena->mapped();
  const uint64_t bytes = peer.arena->bytes();
  if (base == nullptr || !in_bounds(info.block, block_bytes(config_.size), bytes)) {
    return {Code::internal, "rank " + std::to_string(r) + "'s shared memory is not mapped as it should be"};
  }
  auto* own = new (block_ + link_offset(0, r)) LinkMemory;
  transport::Wire wire;
  wire.endpoint = peer.endpoint.get();
  wire.remote = peer.arena.get();
  wire.remote_offset = link_offset(info.block, config_.rank);
  wire.mapped = reinterpret_cast<LinkMemory*>(base + wire.remote_offset);
  peer.mailbox.emplace(wire, own);
  fences_ = fences_ && info.fences == 1;
  peer.board = reinterpret_cast<Board*>(base + info.block);
  links_[size_t(r)] = {&*peer.mailbox, base, bytes, 0, 0, peer.endpoint.get(), false};
  return {};
}

const Board* Communicator::board_of(int32_t peer) const noexcept { return peers_[size_t(peer)]->board; }

Status Communicator::broken() const {
  if (!is_broken_.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(error_mutex_);
  return broken_;
}

std::string Communicator::last_error() const {
  std::lock_guard lock(error_mutex_);
  return last_error_;
}

void Communicator::note_error(const Status& status) {
  std::lock_guard lock(error_mutex_);
  last_error_ = status.text();
}

void Communicator::abort() noexcept {
  abort_.store(true, std::memory_order_release);
  int32_t none = 0;
  board_->code.compare_exchange_strong(none, int32_t(Code::aborted));
}

bool Communicator::all_left() const noexcept {
  for (const auto& peer : peers_) {
    if (peer && !peer->gone && peer->board->leaving.load(std::memory_order_acquire) == 0) return false;
  }
  return true;
}

void Communicator::wake_peers() noexcept {
  for (const auto& peer : peers_) {
    if (peer && !peer->gone) peer->endpoint->notify();
  }
}

Status Communicator::leave() noexcept {
  if (config_.size == 1) return {};
  check(nullptr);
  if (!is_broken_.load()) {
    board_->leaving.store(1, std::memory_order_release);
    wake_peers();
    const Deadline deadline = Deadline::in_ms(config_.timeout_ms);
    Waiter waiter(policy_);
    while (!all_left() && !is_broken_.load()) {
      const Turn turn = waiter.next();
      if (turn == Turn::again) continue;
      check(nullptr);
      if (deadline.passed()) {
        fail({Code::timeout,
              "plait_comm_destroy: not every rank destroyed its communicator before the deadline"},
             -1);
      }
      if (turn == Turn::sleep && !all_left()) sleep();
    }
  }
  const Status status = broken();
  wake_peers();
  if (!status.ok()) shut_gates();
  return status;
}

// After an error nobody waits for peers to come back to plait; but what they can reach of this rank may be
// freed once this returns. Their gates are shut, and a step that one of them is in, some microseconds, is
// waited for.
void Communicator::shut_gates() noexcept {
  constexpr int64_t kPatienceMs = 2000;  // it was stopped by a signal or a debugger
  for (const auto& peer : peers_) {
    if (peer && !peer->gone) peer->board->gate.revoked.store(1, std::memory_order_seq_cst);
  }
  heavy_fence();
  const Deadline deadline = Deadline::in_ms(kPatienceMs);
  for (int32_t r = 0; r < config_.size; r++) {
    const auto& peer = peers_[size_t(r)];
    while (peer && !peer->gone && peer->board->gate.inside.load(std::memory_order_acquire) != 0) {
      if (deadline.passed()) {
        log::error("rank {}: rank {} stopped amid an operation: do not free or reuse its buffers yet",
                   config_.rank, r);
        break;
      }
      sched_yield();
      poll_domain();  // it may have died
    }
  }
}

}  // namespace plait::runtime
