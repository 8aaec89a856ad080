#include "rdma/memory_watch.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "base/pages.h"
#include "base/per_process.h"

namespace plait::rdma {

namespace {

// The last is of Linux 5.19, since when a page that a device holds stays its process's whoever forks.
constexpr uint64_t kFeatures = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE |
                               UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL

struct WatchOfProcess {
  std::mutex lock;
  std::weak_ptr<MemoryWatch> watch;
};
PerProcess<WatchOfProcess> watch_of_process;

uintptr_t page_down(uintptr_t at) noexcept { return at / kPageBytes * kPageBytes; }

// Read by calls alone: to allocate for it would be a change of what is read.
Result<std::string> own_maps() {
  const Fd file(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[8192];
  ssize_t got = 0;
  while (file && (got = read(file.get(), piece, sizeof piece)) > 0) text.append(piece, size_t(got));
  if (!file || got < 0) return Status::system(errno, "/proc/self/maps");
  return text;
}

// "7f0c-7f0e rw-p 00000000 00:00 0   [heap]"
struct Line {
  uintptr_t begin = 0, end = 0;
  bool plain = false;
};
Line parse(std::string_view text) noexcept {
  Line line;
  const char* const stop = text.data() + text.size();
  auto [dash, error] = std::from_chars(text.data(), stop, line.begin, 16);
  if (error != std::errc() || dash == stop || *dash != '-') return {};
  auto [space, error2] = std::from_chars(dash + 1, stop, line.end, 16);
  if (error2 != std::errc()) return {};
  std::string_view rest(space, size_t(stop - space));
  constexpr std::string_view kPlain = " rw-p 00000000 00:00 0";
  line.plain = rest.starts_with(kPlain);
  if (!line.plain) return line;
  rest.remove_prefix(kPlain.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  line.plain = rest.empty() || rest == "[heap]" || rest.starts_with("[anon:");
  return line;
}

}  // namespace

bool is_private_memory(std::string_view maps, uintptr_t begin, uintptr_t end) noexcept {
  while (!maps.empty() && begin < end) {
    const size_t length = std::min(maps.find('\n'), maps.size());
    const Line line = parse(maps.substr(0, length));
    maps.remove_prefix(std::min(length + 1, maps.size()));
    if (line.end <= begin) continue;
    if (line.begin > begin || !line.plain) return false;
    begin = line.end;
  }
  return begin >= end;
}

Result<std::shared_ptr<MemoryWatch>> MemoryWatch::of_process(bool trusting) {
  const auto all = watch_of_process.get(
      []() -> Result<std::unique_ptr<WatchOfProcess>> { return std::make_unique<WatchOfProcess>(); });
  if (!all.ok()) return all.status();
  const std::lock_guard guard((*all)->lock);
  auto watch = (*all)->watch.lock();
  if (watch == nullptr) {
    watch = std::make_shared<MemoryWatch>();
    PLAIT_TRY(watch->start());
    (*all)->watch = watch;
  }
  if (!trusting) PLAIT_TRY(watch->misses_guards());
  return watch;
}

MemoryWatch::MemoryWatch() noexcept : pid_(getpid()) {}

Status MemoryWatch::start() {
  events_ = Fd(int(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
  if (!events_)
    return Status(Code::unsupported,
                  std::string(Status::system(errno, "userfaultfd is not permitted").text()));
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kFeatures;
  if (ioctl(events_.get(), UFFDIO_API, &api) != 0)
    return Status(Code::unsupported, "this kernel's userfaultfd cannot do it (Linux 5.19 can)");
  stop_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) return Status::system(errno, "an eventfd");
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(
      &thread_, nullptr,
      [](void* self) -> void* {
        static_cast<MemoryWatch*>(self)->listen();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  running_ = error == 0;
  return running_ ? Status() : Status::system(error, "a thread that hears what is unmapped");
}

// In a forked child the thread is not there, and nothing of the child's is watched.
MemoryWatch::~MemoryWatch() {
  if (!running_ || getpid() != pid_) return;
  eventfd_write(stop_.get(), 1);
  pthread_join(thread_, nullptr);
}

// Tries it, on a page of its own.
Status MemoryWatch::misses_guards() {
  const Mapping page = map_pages(kPageBytes);
  if (!page) return Status(Code::memory, "no page to try it on");
  *page.data() = std::byte(1);
  const auto watched = begin(page.data(), kPageBytes);
  if (!watched.ok()) return watched.status();
  const bool missed = madvise(page.data(), kPageBytes, kGuardInstall) == 0 && holds(*watched);
  end(*watched);
  if (!missed) return {};
  return Status(Code::unsupported,
                "this kernel (Linux 6.13 and later) does not tell when guards are put into memory");
}

Result<uint32_t> MemoryWatch::begin(const void* base, size_t bytes) {
  const uintptr_t from = page_down(reinterpret_cast<uintptr_t>(base));
  const uintptr_t to = round_up(reinterpret_cast<uintptr_t>(base) + bytes, kPageBytes);
  const auto maps = own_maps();
  if (!maps.ok()) return maps.status();
  if (!is_private_memory(*maps, from, to))
    return Status(Code::unsupported, "memory that is shared, or a file's, can lose its pages without notice");
  const std::lock_guard change(changing_);
  auto place = ranges_.end();
  {
    const std::lock_guard guard(lock_);
    place = std::ranges::find(ranges_, uintptr_t{0}, &Range::end);
    if (place == ranges_.end()) return Status(Code::memory, "so much memory is watched already");
    *place = {from, to, Range::good};
  }
  uffdio_register wish{};
  wish.range = {from, to - from};
  wish.mode = UFFDIO_REGISTER_MODE_WP;  // no page is ever protected: there are no faults to answer
  if (ioctl(events_.get(), UFFDIO_REGISTER, &wish) == 0) return uint32_t(place - ranges_.begin());
  const Status status = Status::system(errno, "userfaultfd: watching memory (does somebody else?)");
  const std::lock_guard guard(lock_);
  *place = {};
  return status;
}

// An unmapping that is over was read, and taken in, since it returns no sooner. One that is not over makes
// the ioctl fail. What comes later is no matter of who asks now. So: first the ioctl, then the mark.
bool MemoryWatch::holds(uint32_t watched) noexcept {
  Range& range = ranges_[watched];
  uffdio_writeprotect nothing{};
  nothing.range = {range.begin, kPageBytes};
  const bool mapped = ioctl(events_.get(), UFFDIO_WRITEPROTECT, &nothing) == 0;
  const std::lock_guard guard(lock_);
  return mapped && range.state == Range::good;
}

// What others watch, too, stays watched: once too much is no harm. What is gone may be somebody else's now.
void MemoryWatch::end(uint32_t watched) noexcept {
  const std::lock_guard change(changing_);
  Range range;
  bool shared = false;
  {
    const std::lock_guard guard(lock_);
    range = std::exchange(ranges_[watched], {});
    shared = std::ranges::any_of(ranges_, [&](const Range& r) { return r.overlaps(range.begin, range.end); });
  }
  uffdio_range whole{range.begin, range.end - range.begin};
  if (range.state != Range::gone && !shared) ioctl(events_.get(), UFFDIO_UNREGISTER, &whole);
}

void MemoryWatch::spoil(uintptr_t from, uintptr_t to, bool emptied) noexcept {
  for (Range& range : ranges_) {
    if (!range.overlaps(from, to) || range.state == Range::gone) continue;
    range.state = emptied ? Range::emptied : Range::gone;
  }
}

void MemoryWatch::listen() noexcept {
  pthread_setname_np(pthread_self(), "plait-memory");
  pollfd both[] = {{events_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (both[1].revents == 0) {
    poll(both, 2, -1);
    const std::lock_guard guard(lock_);
    uffd_msg told;
    while (read(events_.get(), &told, sizeof told) == ssize_t(sizeof told)) {
      heard_.fetch_add(1, std::memory_order_relaxed);
      if (told.event == UFFD_EVENT_REMAP) {
        spoil(told.arg.remap.from, told.arg.remap.from + told.arg.remap.len, false);
        spoil(told.arg.remap.to, told.arg.remap.to + told.arg.remap.len, false);
      } else {
        spoil(told.arg.remove.start, told.arg.remove.end, told.event == UFFD_EVENT_REMOVE);
      }
    }
  }
}

}  // namespace plait::rdma
