#include "transport/shm/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/per_process.h"
#include "base/process_number.h"
#include "transport/shm/map.h"

namespace plait::transport::shm {

namespace {

// What RLIMIT_FSIZE allows must be asked first: ftruncate() beyond it sends SIGXFSZ.
size_t file_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur;
}

size_t machine_memory() noexcept {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return Arena::kSmallest;
  return std::clamp(size_t(pages) * size_t(page), Arena::kSmallest, Arena::kLargest);
}

Status cannot(size_t bytes, std::string_view call) {
  return Status(Code::memory, "no shared memory: " + std::string(call) + " of " +
                                  std::to_string(bytes >> 20) + " MiB: " + std::strerror(errno) +
                                  "; look at ulimit -v and ulimit -f");
}

struct Made {
  Fd fd;
  Mapping mapping;
};

Result<Made> make_file(size_t bytes) {
  Fd fd(memfd_create("plait", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return Status::system(errno, "no shared memory: memfd_create");
  if (ftruncate(fd.get(), off_t(bytes)) != 0) return cannot(bytes, "ftruncate");
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Status::system(errno, "no shared memory: sealing the memfd");
  Mapping mapping = map_shared(fd.get(), bytes);
  if (!mapping) return cannot(bytes, "mmap");
  return Made{std::move(fd), std::move(mapping)};
}

}  // namespace

std::array<uint64_t, 2> random_nonce() noexcept {
  std::array<uint64_t, 2> nonce{};
  while (getrandom(&nonce, sizeof nonce, 0) != ssize_t(sizeof nonce)) {
  }
  return nonce;
}

Result<Arena*> Arena::process() {
  static PerProcess<Arena> arena;
  return arena.get([] { return create(machine_memory()); });
}

Result<std::unique_ptr<Arena>> Arena::create(size_t bytes) {
  bytes = std::min(bytes, file_limit()) / kLarge * kLarge;
  if (bytes == 0)
    return Status(Code::memory, "no shared memory: the limit of file sizes (ulimit -f) is below 2 MiB");
  size_t least = std::min(bytes, kSmallest);
  auto made = make_file(bytes);
  while (!made.ok() && made.status().code() == Code::memory && bytes / 2 >= least) {
    bytes = bytes / 2 / kLarge * kLarge;
    made = make_file(bytes);
  }
  if (!made.ok()) return made.status();
  struct stat about {};
  if (fstat(made->fd.get(), &about) != 0) return Status::system(errno, "no shared memory: fstat");
  ArenaIdentity identity{about.st_dev, about.st_ino, random_nonce()};
  // The first page tells who maps it that it is what it was said to be.
  std::memcpy(made->mapping.data(), &identity, sizeof identity);
  return std::unique_ptr<Arena>(new Arena(std::move(made->fd), std::move(made->mapping), identity, getpid()));
}

Arena::Arena(Fd fd, Mapping mapping, const ArenaIdentity& identity, int pid)
    : fd_(std::move(fd)),
      mapping_(std::move(mapping)),
      identity_(identity),
      pid_(pid),
      process_(process_number()),
      bound_(std::min(kBound, bytes() / 64)) {
  free_.give(kAlign, bytes() - kAlign);
}

Result<std::byte*> Arena::allocate(size_t wanted, Fill fill, size_t align) {
  if (wanted == 0) return Status(Code::invalid, "0 bytes of shared memory asked for");
  if (process_number() != process_)
    return Status(Code::state,
                  "shared memory of process " + std::to_string(pid_) + " asked for in its forked child");
  align = std::max(align, wanted >= kLarge ? kLarge : kAlign);
  std::lock_guard lock(mutex_);
  const std::optional<size_t> offset = take(wanted, align);
  if (!offset) {
    return Status(Code::memory, "shared memory is full: " + std::to_string(wanted) + " bytes asked for, " +
                                    std::to_string(used_) + " of " + std::to_string(bytes()) + " in use");
  }
  Block& block = blocks_[*offset];
  block.offset = *offset;
  block.bytes = round_up(wanted, kAlign);
  clean(block.offset, block.bytes, fill);
  used_ += block.bytes;
  return base() + *offset;
}

std::optional<size_t> Arena::take(size_t wanted, size_t align) {
  if (wanted > bytes()) return std::nullopt;
  const size_t size = round_up(wanted, kAlign);
  auto offset = free_.take(size, align);
  if (!offset && kept_.bytes() > 0) {
    give_back(0);
    offset = free_.take(size, align);
  }
  return offset;
}

bool Arena::free(std::byte* p) {
  if (process_number() != process_) return false;
  std::lock_guard lock(mutex_);
  Block* block = live_at(p);
  if (block == nullptr) return false;
  soil(block->offset, block->bytes);
  if (block->pins != 0) {
    block->state = State::leaving;
    return true;
  }
  used_ -= block->bytes;
  release(*block);
  return true;
}

bool Arena::keep(std::byte* p) {
  if (process_number() != process_) return false;
  {
    std::lock_guard lock(mutex_);
    Block* block = live_at(p);
    if (block == nullptr) return false;
    if (block->pins == 0 && block->bytes <= bound_ && Kept::fits(block->bytes)) {
      block->state = State::kept;
      used_ -= block->bytes;
      kept_.put(*block);
      give_back(bound_);
      return true;
    }
  }
  return free(p);
}

std::byte* Arena::reuse(size_t size, size_t align) {
  if (!Kept::fits(size) || process_number() != process_) return nullptr;
  std::lock_guard lock(mutex_);
  auto* block = static_cast<Block*>(kept_.take(size, align));
  if (block == nullptr) return nullptr;
  block->state = State::live;
  used_ += block->bytes;
  return base() + block->offset;
}

void Arena::give_back(size_t most) {
  while (kept_.bytes() > most) {
    KeptBlock* block = kept_.take_oldest();
    soil(block->offset, block->bytes);
    release(*block);
  }
}

void Arena::set_bound(size_t most) {
  if (process_number() != process_) return;
  std::lock_guard lock(mutex_);
  bound_ = most;
  give_back(most);
}

void Arena::trim() {
  if (process_number() != process_) return;
  std::lock_guard lock(mutex_);
  give_back(0);
  std::erase_if(dirty_, [&](const auto& range) { return punch(range.first, range.second); });
}

bool Arena::pin(const std::byte* p, size_t bytes) {
  std::lock_guard lock(mutex_);
  const auto found = block_of(p, bytes);
  if (found == blocks_.end() || found->second.state != State::live) return false;
  ++blocks_[found->first].pins;
  pins_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Arena::unpin(const std::byte* p) {
  std::lock_guard lock(mutex_);
  const auto found = block_of(p, 1);
  if (found == blocks_.end() || found->second.pins == 0) return;
  Block& block = blocks_[found->first];
  pins_.fetch_sub(1, std::memory_order_relaxed);
  if (--block.pins != 0 || block.state != State::leaving) return;
  soil(block.offset, block.bytes);  // again: a peer may have stored since
  used_ -= block.bytes;
  release(block);
}

bool Arena::pinned(const std::byte* p) const {
  if (pins_.load(std::memory_order_relaxed) == 0) return false;
  std::lock_guard lock(mutex_);
  const auto block = block_of(p, 1);
  return block != blocks_.end() && block->second.pins != 0;
}

void Arena::release(KeptBlock& block) {
  free_.give(block.offset, block.bytes);
  blocks_.erase(block.offset);
}

size_t Arena::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

size_t Arena::kept() const {
  std::lock_guard lock(mutex_);
  return kept_.bytes();
}

size_t Arena::bound() const {
  std::lock_guard lock(mutex_);
  return bound_;
}

size_t Arena::resident() const noexcept {
  struct stat about {};
  return fstat(fd(), &about) == 0 ? size_t(about.st_blocks) * 512 : 0;
}

size_t Arena::size_of(const std::byte* p) const {
  std::lock_guard lock(mutex_);
  const auto block = block_of(p, 1);
  if (block == blocks_.end() || block->first != offset(p) || block->second.state != State::live) return 0;
  return block->second.bytes;
}

Arena::Block* Arena::live_at(const std::byte* p) {
  const auto block = owns(p, 1) ? blocks_.find(offset(p)) : blocks_.end();
  return block == blocks_.end() || block->second.state != State::live ? nullptr : &block->second;
}

Arena::Blocks::const_iterator Arena::block_of(const std::byte* p, size_t size) const {
  if (!owns(p, size)) return blocks_.end();
  auto block = blocks_.upper_bound(offset(p));
  if (block == blocks_.begin()) return blocks_.end();
  --block;
  return in_bounds(offset(p) - block->first, size, block->second.bytes) ? block : blocks_.end();
}

void Arena::clean(size_t offset, size_t size, Fill fill) {
  auto range = dirty_.upper_bound(offset);
  if (range != dirty_.begin()) --range;
  while (range != dirty_.end() && range->first < offset + size) {
    size_t start = range->first, end = start + range->second;
    if (end <= offset) {
      ++range;
      continue;
    }
    size_t from = std::max(start, offset), to = std::min(end, offset + size);
    if (fill == Fill::zeroes) std::memset(base() + from, 0, to - from);
    range = dirty_.erase(range);
    if (start < from) dirty_[start] = from - start;
    if (to < end) range = dirty_.emplace(to, end - to).first;
  }
}

void Arena::soil(size_t offset, size_t size) {
  if (size < kGiveBack || !punch(offset, size)) dirty_[offset] = size;
}

bool Arena::punch(size_t offset, size_t size) noexcept {
  return fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(offset), off_t(size)) == 0;
}

void Arena::zero(std::byte* p, size_t size) noexcept {
  constexpr size_t kWorthAsking = size_t{64} << 10;
  if (size < kWorthAsking) {
    std::memset(p, 0, size);
    return;
  }
  const auto end = off_t(offset(p) + size);
  for (auto at = off_t(offset(p)); at < end;) {
    const off_t data = lseek(fd(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return;  // holes to the end
    const off_t from = data < 0 ? at : std::min(data, end);
    const off_t hole = data < 0 ? end : lseek(fd(), from, SEEK_HOLE);
    const off_t to = hole < 0 ? end : std::min(hole, end);
    std::memset(base() + from, 0, size_t(to - from));
    at = to;
  }
}

}  // namespace plait::transport::shm
