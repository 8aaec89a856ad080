// What all domains of a process have in common: its arena, blocks shared with peers, mappings of peers'
// arenas.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "base/file.h"
#include "transport/shm/arena.h"
#include "transport/shm/shared.h"

namespace plait::transport::shm {

// A peer process's arena, mapped whole; this process's own: as it is.
struct PeerArena {
  std::byte* base = nullptr;
  size_t bytes = 0;
  Mapping mapping;  // empty for the own

  // The T at `offset`; null when it does not lie in the arena, aligned.
  template <class T>
  T* at(uint64_t offset) const noexcept {
    if (offset % alignof(T) != 0 || offset > bytes || bytes - offset < sizeof(T)) return nullptr;
    return reinterpret_cast<T*>(base + offset);
  }
};

class Process {
 public:
  static Result<Process*> get();
  explicit Process(Arena& arena) noexcept;

  Arena& arena() noexcept { return arena_; }
  // False in a forked child, which may touch nothing of its parent's: objects it inherited go without a word.
  bool is_this() const noexcept;
  // Random; peers find it at its address when they try to read this process.
  const uint64_t& nonce() const noexcept { return nonce_; }

  // Whether heavy_barrier() works here: it makes every running thread of all processes that have this true
  // pass a full fence, so that their store-then-load needs none. Nothing where it is false: there both sides
  // use seq_cst.
  bool light() const noexcept { return light_; }
  void heavy_barrier() const noexcept;

  // Maps (once a process, however often asked) the arena that `fd` is said to be. Code::auth when it is not.
  Result<std::shared_ptr<PeerArena>> map(const ArenaIdentity& identity, uint64_t bytes, const Fd& fd);

  // An endpoint's control block. From link_up() on its peer may touch it, and import regions.
  Result<Control*> new_control() { return controls_.make(); }
  uint64_t link_up(Control* control, std::shared_ptr<DomainWords> words);
  // The endpoint is gone. Its blocks are reused once the peer has detached, or when it is known dead.
  void link_down(uint64_t link, bool peer_dead);
  void drop_control(Control* control) { controls_.release(control); }  // of an endpoint that never was up

  Result<std::shared_ptr<DomainWords>> new_words();

  Result<RegionRecord*> new_record() { return records_.make(); }
  // Revokes. What is pinned, if anything, stays so until every importer closed or died.
  void retire(RegionRecord* record, const std::byte* pinned);

 private:
  struct Link {
    Control* control = nullptr;
    std::shared_ptr<DomainWords> words;
    bool gone = false;
  };
  struct Retired {
    RegionRecord* record;
    const std::byte* pinned;
    uint64_t link;  // those up to here may have imported it
  };
  void reap();  // under mutex_

  Arena& arena_;
  const int pid_;
  const uint64_t nonce_;
  const bool light_;
  SharedPool<Control> controls_;
  SharedPool<DomainWords> words_;
  SharedPool<RegionRecord> records_;
  std::mutex mutex_;
  std::map<ArenaIdentity, std::weak_ptr<PeerArena>> arenas_;
  std::map<uint64_t, Link> links_;
  uint64_t last_link_ = 0;
  std::list<Retired> retired_;
};

}  // namespace plait::transport::shm
