#include "transport/shm/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/fence.h"
#include "base/per_process.h"
#include "transport/shm/map.h"

namespace plait::transport::shm {

namespace {

Status not_an_arena(std::string_view what) {
  return Status(Code::auth, "the peer's shared memory is not what it said: " + std::string(what));
}

// A peer that could shrink its file would kill us at the next load.
Status check_file(const ArenaIdentity& identity, uint64_t bytes, int fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return not_an_arena(std::strerror(errno));
  if (about.st_dev != identity.device || about.st_ino != identity.inode) return not_an_arena("another file");
  if (bytes < Arena::kAlign || uint64_t(about.st_size) != bytes) return not_an_arena("another size");
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return not_an_arena("not sealed against shrinking");
  return {};
}

}  // namespace

Result<Process*> Process::get() {
  static PerProcess<Process> process;
  return process.get([]() -> Result<std::unique_ptr<Process>> {
    auto arena = Arena::process();
    if (!arena.ok()) return arena.status();
    return std::make_unique<Process>(**arena);
  });
}

Process::Process(Arena& arena) noexcept
    : arena_(arena),
      pid_(getpid()),
      nonce_(random_nonce()[0]),
      light_(join_fences()),
      controls_(arena),
      words_(arena),
      records_(arena) {}

void Process::heavy_barrier() const noexcept {
  if (light_) heavy_fence();
}

bool Process::is_this() const noexcept { return getpid() == pid_; }

Result<std::shared_ptr<PeerArena>> Process::map(const ArenaIdentity& identity, uint64_t bytes, const Fd& fd) {
  PLAIT_TRY(check_file(identity, bytes, fd.get()));
  std::lock_guard lock(mutex_);
  std::weak_ptr<PeerArena>& known = arenas_[identity];
  if (auto arena = known.lock()) return arena;
  auto arena = std::make_shared<PeerArena>();
  arena->base = arena_.base();
  arena->bytes = bytes;
  if (identity != arena_.identity()) {
    arena->mapping = map_shared(fd.get(), bytes);
    if (!arena->mapping) {
      return Status(Code::memory, "no address space for " + std::to_string(bytes >> 20) +
                                      " MiB of a peer's shared memory: " + std::strerror(errno) +
                                      "; look at ulimit -v");
    }
    arena->base = arena->mapping.data();
  }
  if (std::memcmp(arena->base, &identity, sizeof identity) != 0) return not_an_arena("another nonce");
  known = arena;
  return arena;
}

Result<std::shared_ptr<DomainWords>> Process::new_words() {
  auto words = words_.make();
  if (!words.ok()) return words.status();
  return std::shared_ptr<DomainWords>(*words, [this](DomainWords* gone) { words_.release(gone); });
}

uint64_t Process::link_up(Control* control, std::shared_ptr<DomainWords> words) {
  std::lock_guard lock(mutex_);
  links_[++last_link_] = {control, std::move(words), false};
  return last_link_;
}

void Process::link_down(uint64_t link, bool peer_dead) {
  std::lock_guard lock(mutex_);
  auto& down = links_[link];
  down.gone = true;
  if (peer_dead) down.control->detached.store(1, std::memory_order_relaxed);
  reap();
}

void Process::retire(RegionRecord* record, const std::byte* pinned) {
  record->live.store(0, std::memory_order_seq_cst);
  std::lock_guard lock(mutex_);
  retired_.push_back({record, pinned, last_link_});
  reap();
}

void Process::reap() {
  for (auto link = links_.begin(); link != links_.end();) {
    auto& [control, words, gone] = link->second;
    if (gone && control->detached.load(std::memory_order_acquire) != 0) {
      controls_.release(control);
      link = links_.erase(link);
    } else {
      ++link;
    }
  }
  uint64_t oldest = links_.empty() ? UINT64_MAX : links_.begin()->first;
  for (auto it = retired_.begin(); it != retired_.end();) {
    if (it->record->importers.load(std::memory_order_seq_cst) == 0 || it->link < oldest) {
      if (it->pinned != nullptr) arena_.unpin(it->pinned);
      records_.release(it->record);
      it = retired_.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace plait::transport::shm
