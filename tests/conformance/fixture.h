// The fixture of every test: a world, endpoints, regions and the Dones they gave, torn down in the right
// order. Most tests are one thread that polls all ranks in turn; those with a thread a rank let each use its
// own Rank only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <list>

#include "base/clock.h"
#include "conformance/backends.h"

namespace plait::transport::conformance {

constexpr int64_t kPatienceMs = 30'000;  // what a wait may take before its test fails

// A wait that ends with its test when it has taken kPatienceMs, and then says how it went: whether it looked
// all the while, or the machine, or something that it called, stood still.
class Patience {
 public:
  bool is_over();  // at each look

 private:
  const Deadline deadline_ = Deadline::in_ms(kPatienceMs);
  int64_t looked_ns_ = now_ns(), longest_ns_ = 0;
  uint64_t looks_ = 0;
};

// A pattern that differs from byte to byte and seed to seed, and after 64 KiB from what lies there again;
// `begin`: of it, what lies from there on.
void fill_pattern(std::byte* to, size_t bytes, uint8_t seed) noexcept;
bool holds_pattern(const std::byte* at, size_t bytes, uint8_t seed, size_t begin = 0) noexcept;

// Own memory of one rank, exposed.
struct Buffer {
  int rank = 0;
  Memory memory;
  std::unique_ptr<Region> region;

  std::byte* data() const noexcept { return static_cast<std::byte*>(memory.base); }
  size_t size() const noexcept { return memory.bytes; }
  LocalSlice local(size_t offset, size_t bytes) const { return region->slice(offset, bytes).value(); }
  void fill(uint8_t seed) noexcept;
  bool holds(uint8_t seed, size_t offset = 0, size_t bytes = SIZE_MAX) const noexcept;
  bool all(std::byte value) const noexcept;
};

// A rank's domain and the Dones it gave.
struct Rank {
  Domain* domain = nullptr;
  std::vector<Done> dones;

  void poll();
  int count(uint64_t cookie) const noexcept;
  int oks(uint64_t cookie) const noexcept;
};

// One side of a link. Its own cookie is unique in a test and not below kFirstEndCookie.
struct Side {
  int rank = 0;
  uint64_t cookie = 0;
  std::unique_ptr<Endpoint> end;
  Bytes ticket;  // of `end`, which may have none any more once it is ready
  std::vector<std::unique_ptr<RemoteRegion>> remotes;

  // Gives null, and fails the test, when `buffer` cannot be imported.
  RemoteRegion* import(const Buffer& buffer);
};

struct Link {
  Side a, b;
};

constexpr uint64_t kFirstEndCookie = 1'000'000;

Transfer put(LocalSlice from, RemoteSlice to, Signal signal = {}, When when = When::never,
             uint64_t cookie = 0);
Transfer get(LocalSlice to, RemoteSlice from, uint64_t cookie, uint16_t counter = 0);
Transfer signal_only(Signal signal, When when = When::never, uint64_t cookie = 0);

class Conformance : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override;
  void TearDown() override;

  Rank& rank(int i) { return ranks_[size_t(i)]; }
  const Capabilities& caps() { return world_->domain(0).capabilities(); }
  World& world() { return *world_; }

  Buffer& buffer(int rank, size_t bytes, Access access = Access::none);
  Side open(int rank, uint16_t counters);
  // A connected link: both sides ready. Fails the test and gives an unready one when that does not happen.
  Link& link(int a, int b, uint16_t counters = 2);
  bool make_ready(Side& a, Side& b);
  // Polls every living rank once.
  void poll_all();
  // Polls every living rank until `holds`; false when kPatienceMs have passed.
  bool pump(const std::function<bool()>& holds);
  // Posts all, polling every rank where the endpoint takes but a prefix.
  bool post_all(Side& side, std::vector<Transfer> transfers);
  bool post_one(Side& side, const Transfer& transfer) { return post_all(side, {transfer}); }
  // Posts bytes of `from` to the same offsets of `to`, in parts of at most max_transfer; signal and Done with
  // the last.
  bool put_bytes(Side& side, const Buffer& from, RemoteRegion* to, Signal signal, When when, uint64_t cookie);
  uint64_t next_cookie() noexcept { return ++cookie_; }
  // Destroys all that `rank` has, abruptly where the back end can, and its domain.
  void kill(int rank);
  // A transfer that must not succeed: true when its cookie or its endpoint's came with an error and the
  // former never with ok.
  bool fails(Side& side, const Transfer& transfer);

 private:
  std::unique_ptr<World> world_;
  std::vector<Rank> ranks_;
  std::list<Buffer> buffers_;
  std::list<Link> links_;
  uint64_t cookie_ = 0, end_cookie_ = kFirstEndCookie;
};

}  // namespace plait::transport::conformance
