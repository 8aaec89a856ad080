// What a back end gives to the conformance suite: a few domains of one process that reach each other.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace plait::transport::conformance {

class World {
 public:
  explicit World(std::vector<std::unique_ptr<Domain>> domains) : domains_(std::move(domains)) {}
  virtual ~World() = default;
  int size() const noexcept { return int(domains_.size()); }
  Domain& domain(int rank) noexcept { return *domains_[size_t(rank)]; }
  // Zeroed memory of `rank`, aligned to a page, that lives as long as the world. Back ends whose fast path
  // needs memory of their own allocator override it.
  virtual Memory allocate(int rank, size_t bytes);
  // `rank` dies as abruptly as the back end can show in one process; its objects are destroyed right after,
  // the domain last, by drop().
  virtual void kill(int /*rank*/) {}
  void drop(int rank) noexcept { domains_[size_t(rank)].reset(); }
  bool alive(int rank) const noexcept { return domains_[size_t(rank)] != nullptr; }

 protected:
  std::vector<std::unique_ptr<Domain>> domains_;

 private:
  struct Pages {
    void operator()(std::byte* p) const noexcept;
  };
  std::vector<std::unique_ptr<std::byte[], Pages>> memory_;
};

// The tests ask for three ranks.
constexpr int kRanks = 3;

// A test that a back end's library cannot pass.
struct Exclusion {
  // Of a test, or what several begin with; and the sentence that they print when they are skipped.
  std::string test, why;
};

struct Backend {
  std::string name;  // letters, digits, underscores
  std::function<Result<std::unique_ptr<World>>()>
      make;  // Code::unsupported: not on this machine, the text says why
  // False: hardware, or a library's own buffers, move the bytes, so that no poll bounds them (rule 8's 256
  // KiB).
  bool moves_in_poll = true;
  std::vector<Exclusion> excluded = {};

  friend void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }
};

// A world of kRanks domains made by `domain(rank)`.
Result<std::unique_ptr<World>> world_of(
    const std::function<Result<std::unique_ptr<Domain>>(int rank)>& domain);

}  // namespace plait::transport::conformance
