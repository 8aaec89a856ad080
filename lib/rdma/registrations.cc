#include "rdma/registrations.h"

#include <unistd.h>

#include <algorithm>

#include "base/bytes.h"

namespace plait::rdma {

namespace {

constexpr int kPeers = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

bool covers(const Span& outer, const Span& inner, bool whole) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(inner.base) - reinterpret_cast<uintptr_t>(outer.base);
  return whole ? at == 0 && inner.bytes == outer.bytes : in_bounds(at, inner.bytes, outer.bytes);
}

}  // namespace

Registrations::Registrations(std::unique_ptr<Registrar> registrar)
    : pid_(getpid()), registrar_(std::move(registrar)) {}

Registrations::~Registrations() {
  if (getpid() == pid_) drop(entries_);
}

void Registrations::keep(std::shared_ptr<Watch> watch, const Limits& limits) {
  const std::lock_guard guard(lock_);
  if (watch_ == nullptr) watch_ = std::move(watch);
  limits_ = {std::max(limits_.bytes, limits.bytes), std::max(limits_.count, limits.count)};
}

bool Registrations::keeps() const noexcept {
  const std::lock_guard guard(lock_);
  return watch_ != nullptr;
}

Result<Registrations::Held> Registrations::hold(const Span& span, int flags, bool whole) {
  if ((flags & kPeers) != 0 || span.dmabuf >= 0) {
    auto made = registrar_->take(span, flags);
    if (!made.ok()) return made.status();
    return Held(*made, [this, pid = pid_](ibv_mr* mr) {
      if (getpid() == pid) registrar_->give_back(mr);
    });
  }
  if (Held found = find(span, flags, whole); found != nullptr) return found;
  return register_one(span, flags);
}

// Where there is no watch, who uses just the same memory vouches for it.
Registrations::Held Registrations::find(const Span& span, int flags, bool whole) {
  const std::lock_guard guard(lock_);
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->stale || at->flags != flags || !covers(at->span, span, whole || !at->watched)) continue;
    if (at->watched ? watch_->holds(at->watch) : at->users != 0) {
      ++counts_.found;
      return lend(at);
    }
    at->stale = true;
  }
  return nullptr;
}

Registrations::Held Registrations::lend(Entries::iterator entry) {
  ++entry->users;
  return Held(entry->mr, [this, entry](ibv_mr*) { release(entry); });
}

// Watched before it is registered, so that nothing happens to it in between. Memory that may be locked can be
// short because of what is kept.
Result<Registrations::Held> Registrations::register_one(const Span& span, int flags) {
  Entries fresh(1), old;
  Entry& entry = fresh.front();
  entry.span = span;
  entry.flags = flags;
  {
    const std::lock_guard guard(lock_);
    old = surplus(limits_.bytes, limits_.count);
  }
  drop(old);
  entry.watched = begin_watch(entry);
  auto made = registrar_->take(span, flags);
  if (!made.ok() && made.status().code() == Code::memory) {
    {
      const std::lock_guard guard(lock_);
      old = surplus(0, 0);
    }
    if (!old.empty()) drop(old), made = registrar_->take(span, flags);
  }
  if (!made.ok()) {
    if (entry.watched) watch_->end(entry.watch);
    return made.status();
  }
  entry.mr = *made;
  const std::lock_guard guard(lock_);
  ++counts_.made;
  entries_.splice(entries_.end(), fresh);
  return lend(std::prev(entries_.end()));
}

bool Registrations::begin_watch(Entry& entry) {
  {
    const std::lock_guard guard(lock_);
    if (watch_ == nullptr || entry.span.bytes > limits_.bytes) return false;
  }
  const auto watched = watch_->begin(entry.span.base, entry.span.bytes);
  if (watched.ok()) entry.watch = *watched;
  return watched.ok();
}

void Registrations::release(Entries::iterator entry) noexcept {
  if (getpid() != pid_) return;
  Entries old;
  {
    const std::lock_guard guard(lock_);
    if (--entry->users != 0) return;
    entry->stale |= !entry->watched;
    entries_.splice(entries_.end(), entries_, entry);
    old = surplus(limits_.bytes, limits_.count);
  }
  drop(old);
}

Registrations::Entries Registrations::surplus(size_t bytes, size_t count) noexcept {
  Entries out;
  size_t kept = 0, kept_bytes = 0;
  for (auto at = entries_.end(); at != entries_.begin();) {
    --at;
    if (at->users != 0) continue;
    const bool stays = !at->stale && kept < count && kept_bytes + at->span.bytes <= bytes;
    if (stays) {
      ++kept;
      kept_bytes += at->span.bytes;
      continue;
    }
    const auto gone = at++;
    out.splice(out.end(), entries_, gone);
  }
  counts_.kept = kept;
  counts_.kept_bytes = kept_bytes;
  return out;
}

void Registrations::drop(Entries& dropped) noexcept {
  for (const Entry& entry : dropped) {
    registrar_->give_back(entry.mr);
    if (entry.watched) watch_->end(entry.watch);
  }
  dropped.clear();
}

void Registrations::tidy() noexcept {
  Entries old;
  {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock() || watch_ == nullptr || watch_->changes() == heard_) return;
    heard_ = watch_->changes();
    for (Entry& entry : entries_) entry.stale |= entry.watched && !watch_->holds(entry.watch);
    old = surplus(limits_.bytes, limits_.count);
  }
  drop(old);
}

Registrations::Counts Registrations::counts() const {
  const std::lock_guard guard(lock_);
  return counts_;
}

}  // namespace plait::rdma
