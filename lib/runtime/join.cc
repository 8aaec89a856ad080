// How a communicator comes to be: its ranks meet, tell each other where they are, and open the ways that join
// them.
#include <algorithm>
#include <map>
#include <string>

#include "base/fence.h"
#include "base/hash.h"
#include "base/log.h"
#include "runtime/communicator.h"
#include "runtime/operators.h"

namespace plait::runtime {

namespace {

// What ranks tell each other first. Behind it: the identity of the shared memory.
struct Info {
  uint32_t fences = 0;  // 1: it joined base/fence.h
  uint32_t tuning = 0;  // of its tuning file; 0: none
  uint32_t deterministic = 0;
  uint32_t programs = 0;    // of its files of programs; 0: it cannot use them
  uint32_t before_shm = 0;  // networks that it tries before shared memory
  uint32_t unused = 0;
  Seat seat;
};

uint32_t fingerprint(const collectives::Tuning* tuning) {
  if (tuning == nullptr) return 0;
  const uint64_t hash = fnv1a(collectives::write_tuning(*tuning));
  return std::max(1u, uint32_t(hash ^ hash >> 32));
}

}  // namespace

Communicator::Communicator(const Config& config)
    : config_(config),
      policy_(wait_policy(config.size > usable_cores())),
      fabric_(config.rank),
      ways_(size_t(config.size), Way::shm),
      peers_(size_t(config.size)),
      links_(size_t(config.size)),
      messages_(config.rank, config.size) {
  planner_ = std::make_unique<collectives::Planner>(config.rank, config.size);
  machine_ = std::make_unique<collectives::real::Machine>(links_, &Communicator::allocate_scratch,
                                                          &Communicator::import_region, this);
  short_.links.resize(size_t(config.size));
  short_.open.store(short_.links.data(), std::memory_order_relaxed);
  shapes_.resize(kShapes);
  latest_ = &shapes_[0];
}

Communicator::~Communicator() {
  end_record();
  for (auto& request : requests_) {
    if (request.magic == plait_request::kMagic) let_go(request.args.custom);
  }
  for (auto& link : links_) link = {};
  const bool broken = is_broken_.load();
  for (auto& peer : peers_) {
    // What broke it is to be read, and a stopped peer may still write, for as long as the process lives.
    if (broken && peer) peer->keep_memory();
    peer.reset();
  }
  for (plait_request& request : requests_) request.letter.region.reset();
  exposed_.clear();
  probe_.reset();
  fabric_.close();
  if (scratch_ != nullptr) arena_->free(scratch_);
  if (!broken && arena_ != nullptr)
    bounce_.drop(*arena_);  // else a peer that was stopped may still read and write there
  if (board_ != nullptr && !broken) arena_->free(reinterpret_cast<std::byte*>(stand_));
}

Result<std::unique_ptr<Communicator>> Communicator::create(const Config& config, uint32_t epoch) {
  std::unique_ptr<Communicator> comm(new Communicator(config));
  Recorder::Identity who;
  who.rank = config.rank;
  who.size = config.size;
  who.communicator = epoch;
  who.job = config.job;
  comm->begin_record(std::move(who));
  PLAIT_TRY(comm->record_creation(comm->join(epoch)));
  return comm;
}

collectives::real::Bound Communicator::allocate_scratch(void* self, size_t bytes) {
  auto* comm = static_cast<Communicator*>(self);
  if (comm->scratch_ != nullptr) comm->arena_->free(comm->scratch_);
  comm->scratch_ = nullptr;
  if (bytes == 0) return {};
  auto memory = comm->arena_->allocate(bytes);
  comm->scratch_ = memory.ok() ? *memory : nullptr;
  return {comm->scratch_, true, comm->scratch_ == nullptr ? 0 : comm->arena_->offset(comm->scratch_), {}};
}

Status Communicator::make_board() {
  auto arena = transport::shm::Arena::process();
  if (!arena.ok()) return arena.status();
  arena_ = *arena;
  auto block = arena_->allocate(sizeof(Stand));
  if (!block.ok()) return block.status();
  stand_ = new (*block) Stand();
  board_ = &stand_->board;
  board_->culprit.store(-1);
  board_->blamed.store(-1);
  return {};
}

// A rank alone agrees with itself.
Status Communicator::join_nobody() {
  PLAIT_TRY(read_programs());
  return programs_->add_to(*planner_);
}

std::string Communicator::name_of(int32_t rank) const {
  std::string name = "rank " + std::to_string(rank);
  if (group_ == nullptr) return name;
  const bootstrap::Contact& contact = group_->contact(rank);
  return name + " (" + contact.host + ", process " + std::to_string(contact.pid) + ")";
}

Status Communicator::join(uint32_t epoch) {
  PLAIT_TRY(make_board());
  if (config_.size == 1) return join_nobody();
  const transport::Bounds bounds{Deadline::in_ms(config_.bootstrap_timeout_ms), &abort_};
  auto membership = config_.membership(epoch);
  if (!membership.ok()) return membership.status();
  auto group = bootstrap::Group::join(*membership, bounds);
  if (!group.ok()) return group.status();
  group_ = std::move(group).value();
  PLAIT_TRY(settle_in(bounds));
  if (policy_.crowded) nudge(first_core(share_, levels_.near, config_.place()));
  return {};
}

// The group is there: how do its ranks lie, and what joins them?
Status Communicator::settle_in(const transport::Bounds& bounds) {
  Agreed agreed{.seating = {.ranks = config_.size}, .tuning = {}};
  PLAIT_TRY(share_identities(bounds, agreed));
  if (levels_.hosts > 1 || agreed.before_shm) PLAIT_TRY(join_networks(bounds, agreed));
  crowded_hosts_ = agreed.seating.cores > 0;
  has_commons_ =
      levels_.hosts == 1 && !agreed.before_shm && config_.size <= int32_t(collectives::kMaxOperands);
  if (has_commons_) machine_->share(&stand_->commons, crowded_hosts_);
  agreed.seating.commons = has_commons_;
  planner_->seat(agreed.seating);
  planner_->use(std::move(agreed.tuning));
  log::info("communicator of {} ranks, {} of them on this host; {} of the job's share {} cores here ({})",
            config_.size, levels_.near, share_.ranks, share_.cores,
            policy_.crowded ? "crowded" : "a core each");
  return {};
}

Result<std::shared_ptr<const collectives::Tuning>> Communicator::read_tuning() const {
  if (config_.tuning.empty()) return std::shared_ptr<const collectives::Tuning>();
  auto tuning = collectives::read_tuning(config_.tuning);
  if (!tuning.ok()) return tuning.status();
  return std::make_shared<const collectives::Tuning>(std::move(tuning).value());
}

// Rank `r` is deterministic and this one is not, or the other way around.
Status Communicator::unlike(int32_t r) const {
  const std::string other = name_of(r);
  return {Code::mismatch,
          (config_.deterministic ? "this rank is deterministic and " + other + " is not"
                                 : other + " is deterministic and this rank is not") +
              ": set PLAIT_DETERMINISTIC (plait_comm_config.deterministic) alike on all ranks"};
}

// After it every rank knows which ranks it shares memory with, and that from the same data, so that two ranks
// always agree.
Status Communicator::share_identities(const transport::Bounds& bounds, Agreed& agreed) {
  PLAIT_TRY(fabric_.open_shm(config_.host_id, *arena_));
  static const uint64_t word = 1;
  auto probe = fabric_.domain(Way::shm)->expose({.base = const_cast<uint64_t*>(&word), .bytes = sizeof word},
                                                transport::Access::read);
  if (probe.ok()) probe_ = std::move(probe).value();
  local_ = {config_.rank, &fabric_, arena_, board_, probe_.get()};

  const ByteView identity = fabric_.domain(Way::shm)->identity();
  fences_ = join_fences();
  Bytes mine;
  auto tuning = read_tuning();
  if (!tuning.ok()) return tuning.status();
  const Status programs = read_programs();
  const auto networks = parse_alternatives(config_.network);
  if (!networks.ok()) return networks.status();
  const auto device = near_device(*networks);
  if (!device.ok()) return device.status();
  Seat seat = my_seat();
  seat.device = *device;
  append(mine, Info{fences_, fingerprint(tuning->get()), config_.deterministic,
                    programs.ok() ? programs_->fingerprint() : 0, uint32_t(before_shared_memory(*networks)),
                    0, seat});
  mine.insert(mine.end(), identity.begin(), identity.end());
  auto all = group_->allgather(mine, bounds);
  if (!all.ok()) return all.status();
  std::map<std::string, int32_t> hosts;
  std::vector<Seat> seats(size_t(config_.size));
  int32_t differs = -1;
  uint32_t first_tuning = 0, first_programs = 0;
  bool programs_differ = false;
  for (int32_t r = 0; r < config_.size; r++) {
    ByteView view = (*all)[size_t(r)];
    Info info;
    if (!take(view, info)) return {Code::version, name_of(r) + " sent a broken description of itself"};
    if (info.deterministic != uint32_t(config_.deterministic)) return unlike(r);
    fences_ = fences_ && info.fences == 1;
    agreed.before_shm = agreed.before_shm || info.before_shm > 0;
    seats[size_t(r)] = info.seat;
    ways_[size_t(r)] = std::ranges::equal(view, identity) ? Way::shm : Way::network;
    const std::string host(reinterpret_cast<const char*>(view.data()), view.size());
    agreed.seating.host_of.push_back(hosts.try_emplace(host, int32_t(hosts.size())).first->second);
    if (r == 0) first_tuning = info.tuning;
    if (r == 0) first_programs = info.programs;
    programs_differ = programs_differ || info.programs == 0 || info.programs != first_programs;
    if (info.tuning != first_tuning && differs < 0) differs = r;
  }
  levels_.near = int32_t(std::count(ways_.begin(), ways_.end(), Way::shm));
  levels_.hosts = int32_t(hosts.size());
  share_ = share_of(seats, size_t(config_.rank));
  policy_ = wait_policy(share_.crowded());
  agreed.here = ranks_of_host(seats, agreed.seating.host_of, size_t(config_.rank));
  agreed.seating.cores = fewest_cores(seats, agreed.seating.host_of);
  if (differs >= 0) {
    log::warn("PLAIT_TUNING: {} and {} have different files, or one has none: nobody uses any", name_of(0),
              name_of(differs));
  } else {
    agreed.tuning = *tuning;
  }
  return agree_on_programs(programs, programs_differ, bounds);
}

// A child has them from its parent.
Status Communicator::read_programs() {
  if (programs_ != nullptr) return {};
  auto read = Programs::read(config_.programs);
  if (read.ok()) programs_ = std::move(read).value();
  return read.status();
}

// `mine`: of reading this rank's. `differ`: those of some ranks do, or cannot be used, as all ranks know.
Status Communicator::agree_on_programs(const Status& mine, bool differ, const transport::Bounds& bounds) {
  if (!differ) return programs_->add_to(*planner_);
  auto cards = group_->allgather(mine.ok() ? programs_->card() : card_of(mine), bounds);
  PLAIT_TRY(mine);
  if (!cards.ok()) return cards.status();
  return compare_cards(*cards, [&](int32_t rank) { return name_of(rank); });
}

}  // namespace plait::runtime
