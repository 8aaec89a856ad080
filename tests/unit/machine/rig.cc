#include "rig.h"

#include <algorithm>
#include <new>
#include <thread>

#include "transport/wireup.h"

namespace plait::collectives::real::test {

using namespace transport;

namespace {
// Mailboxes, one a rank, its own unused: its commons lie there.
size_t mailbox_bytes() { return round_up(sizeof(LinkMemory), 4096); }
size_t control_bytes(int ranks) { return mailbox_bytes() * size_t(ranks); }
Commons* commons_in(std::byte* heap, int rank) {
  return reinterpret_cast<Commons*>(heap + mailbox_bytes() * size_t(rank));
}
}  // namespace

std::byte* Pages::map(size_t bytes) {
  void* pages =
      mmap(nullptr, std::max(bytes, size_t(1)), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(pages);
}

Rank::Rank(const World& setup, int rank, fake::FakeNetwork& network, transport::test::LocalWorld& local)
    : setup_(setup), rank_(rank), local_(local), peers_(size_t(setup.ranks)), links_(size_t(setup.ranks)) {
  heap_ = Pages(control_bytes(setup.ranks) + 2 * kRoom + stage_bytes(0));
  private_ = Pages(2 * kRoom);
  fake::FakeOptions own = setup.fabric;
  own.seed += uint64_t(rank) * 1'000'003;  // nonces are drawn from it
  domain_ = network.make_domain("fake" + std::to_string(rank), own);
  machine_ = std::make_unique<Machine>(links_, &Rank::allocate, nullptr, this);
  if (has_commons()) machine_->share(commons_in(heap_.data(), rank), setup.common == World::Common::crowded);
}

std::byte* Rank::buffer(size_t i) noexcept {
  const Shared shared = setup_.shared(rank_);
  const bool in_heap = shared == Shared::input_and_output || (shared == Shared::output_only && i == 1);
  return in_heap ? heap_.data() + control_bytes(setup_.ranks) + i * kRoom : private_.data() + i * kRoom;
}

Bound Rank::bound(size_t i) noexcept {
  std::byte* data = buffer(i);
  const bool shared = setup_.fabric.mapped && data >= heap_.data() && data < heap_.data() + heap_.size();
  return {data, shared, shared ? uint64_t(data - heap_.data()) : 0, {}};
}

Bound Rank::allocate(void* self, size_t bytes) {
  Rank& rank = *static_cast<Rank*>(self);
  if (bytes <= stage_bytes(0) && rank.setup_.fabric.mapped && rank.setup_.shared_scratch(rank.rank_)) {
    const size_t at = rank.heap_.size() - stage_bytes(0);
    return {rank.heap_.data() + at, true, at, {}};
  }
  auto& scratch = rank.scratch_.emplace_back(bytes);
  return {scratch.data(), false, 0, {}};
}

Status Rank::connect() {
  transport::test::LocalExchange exchange(local_, rank_);
  const Bounds bounds{Deadline::in_ms(20'000), nullptr};
  PLAIT_TRY(expose());
  shadow_ = Pages(sizeof(transport::Shadow) * size_t(setup_.ranks));
  auto shadow = domain_->expose({.base = shadow_.data(), .bytes = shadow_.size()}, Access::none);
  if (!shadow.ok()) return shadow.status();
  shadow_region_ = std::move(shadow).value();
  auto keys = exchange.allgather(this->keys(), bounds);
  if (!keys.ok()) return keys.status();
  auto endpoints = wire_up(*domain_, exchange, kMailboxCounters, bounds);
  if (!endpoints.ok()) return endpoints.status();
  for (int r = 0; r < setup_.ranks; r++) {
    if (r == rank_) continue;
    Peer& peer = peers_[size_t(r)];
    peer.endpoint = std::move((*endpoints)[size_t(r)]);
    const Bytes& theirs = (*keys)[size_t(r)];
    const size_t key_bytes = theirs.size() / size_t(setup_.ranks);
    auto remote = peer.endpoint->import(ByteView(theirs).subspan(key_bytes * size_t(rank_), key_bytes));
    if (!remote.ok()) return remote.status();
    peer.remote = std::move(remote).value();
    link(r);
  }
  return exchange.allgather({}, bounds).status();
}

// All of it where it is mapped, else to each peer its mailbox.
Status Rank::expose() {
  auto region = domain_->expose({.base = heap_.data(), .bytes = heap_.size()}, Access::both);
  if (!region.ok()) return region.status();
  region_ = std::move(region).value();
  for (int r = 0; r < setup_.ranks && !setup_.fabric.mapped; r++) {
    Peer& peer = peers_[size_t(r)];
    std::byte* mailbox = heap_.data() + mailbox_bytes() * size_t(r);
    auto own = domain_->expose({.base = mailbox, .bytes = mailbox_bytes()}, Access::both);
    if (!own.ok()) return own.status();
    peer.region = std::move(own).value();
    peer.landings = std::make_unique<Landings>(mailbox, kPartsOffset, kPartBytes, kRingParts, kStreams);
    if (!peer.region->steer(*peer.landings)) peer.landings.reset();
  }
  return {};
}

// By rank, for whom.
Bytes Rank::keys() const {
  Bytes keys;
  for (const Peer& peer : peers_) {
    const ByteView key = peer.region != nullptr ? peer.region->key() : region_->key();
    keys.insert(keys.end(), key.begin(), key.end());
  }
  return keys;
}

void Rank::link(int r) {
  Peer& peer = peers_[size_t(r)];
  Wire wire;
  wire.endpoint = peer.endpoint.get();
  wire.remote = peer.remote.get();
  wire.remote_offset = setup_.fabric.mapped ? mailbox_bytes() * uint64_t(rank_) : 0;
  std::byte* mapped = peer.remote->mapped();
  if (mapped != nullptr) {
    wire.mapped = reinterpret_cast<LinkHead*>(mapped + wire.remote_offset);
  } else {
    wire.shadow = reinterpret_cast<transport::Shadow*>(shadow_.data()) + r;
    wire.shadow_region = shadow_region_.get();
    wire.cookie = uint64_t(r) * kMailboxCookies;
    wire.any_source = !domain_->capabilities().local_needs_region;
    wire.drops_pages = !domain_->capabilities().holds_pages;
    wire.max_add = domain_->capabilities().max_add;
    wire.together = peer.landings != nullptr ? 16 : 4;
    wire.landings = peer.landings.get();
  }
  auto* own = reinterpret_cast<LinkHead*>(heap_.data() + mailbox_bytes() * size_t(r));
  peer.mailbox = std::make_unique<Mailbox>(wire, own);
  Link& link = links_[size_t(r)];
  link = {.mailbox = peer.mailbox.get(),
          .shared = mapped,
          .shared_bytes = heap_.size(),
          .endpoint = peer.endpoint.get()};
  if (mapped != nullptr) link.commons = commons_in(mapped, r);
}

Status Rank::run(Call call, bool in_place) {
  call.number = ++number_;
  call.eager_bytes = setup_.eager_bytes;
  call.network = !setup_.fabric.mapped || setup_.network(rank_);
  call.tag = 0xabcde00u + (uint32_t(number_) & 0x3f) * 2;
  call.input = bound(in_place ? 1 : 0);
  call.output = bound(1);
  volley_.forget();
  // Who runs a round so, and who does not, is no matter to the others.
  if ((number_ + uint64_t(rank_)) % 2 == 0) call.volley = &volley_;
  PLAIT_TRY(machine_->prepare(call));
  machine_->call() = call;
  machine_->start();
  const Deadline deadline = Deadline::in_ms(20'000);
  while (!machine_->step()) {
    poll();
    if (machine_->moved()) continue;
    for (auto& peer : peers_) {
      if (peer.mailbox) peer.mailbox->idle();
    }
    if (setup_.failed->load()) return Status(Code::aborted, "another rank failed");
    if (deadline.passed())
      return {Code::timeout, "rank " + std::to_string(rank_) + " waits for " + machine_->waiting_for()};
  }
  if (!machine_->status().ok()) setup_.failed->store(true);
  // While what it sent leaves a rank asks on, and looks about only if nothing moves.
  if (machine_->status().ok() && !has_commons() && (!machine_->step() || machine_->moved()))
    return {Code::internal, "an operation that is done moves on"};
  return machine_->status();
}

void Rank::poll() {
  Done done[16];
  const size_t n = domain_->poll(done);
  for (size_t i = 0; i < n; i++) {
    if (done[i].cookie < kMailboxCookie) continue;
    peers_[size_t((done[i].cookie - kMailboxCookie) / kMailboxCookies)].mailbox->left(done[i].cookie);
  }
  for (auto& peer : peers_) {
    if (peer.mailbox) peer.mailbox->flush();
  }
  std::this_thread::yield();
}

void run_ranks(const World& setup, const std::function<Status(int rank, Rank&)>& body) {
  fake::FakeNetwork network;
  transport::test::LocalWorld world(setup.ranks);
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int r = 0; r < setup.ranks; r++) ranks.push_back(std::make_unique<Rank>(setup, r, network, world));
  std::vector<Status> results(size_t(setup.ranks));
  std::vector<std::thread> threads;
  std::atomic<int> left{0};
  for (int r = 0; r < setup.ranks; r++) {
    threads.emplace_back([&, r] {
      Status status = ranks[size_t(r)]->connect();
      if (status.ok()) status = body(r, *ranks[size_t(r)]);
      results[size_t(r)] = status;
      // What was posted may still need polls of both sides: leave together.
      for (left++; left < setup.ranks;) ranks[size_t(r)]->poll();
    });
  }
  for (auto& t : threads) t.join();
  for (int r = 0; r < setup.ranks; r++)
    EXPECT_TRUE(results[size_t(r)].ok()) << "rank " << r << ": " << results[size_t(r)].text();
}

}  // namespace plait::collectives::real::test
