// Ranks as threads, each with a real machine over a fake fabric: programs run for real, in one process.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/machine/real/machine.h"
#include "support/local_exchange.h"
#include "transport/fake/fake.h"

namespace plait::collectives::real::test {

// Which memory of a rank its peers may map.
enum class Shared : uint8_t { none, input_and_output, output_only };

struct World {
  int ranks = 2;
  transport::fake::FakeOptions fabric;
  std::function<Shared(int rank)> shared = [](int) { return Shared::input_and_output; };
  // Has this rank more peers, in the same call, that map no memory? Those of an unmapped fabric all have.
  std::function<bool(int rank)> network = [](int) { return false; };
  size_t eager_bytes = 0;  // Call::eager_bytes
  // Do ranks have commons, and do they share cores there? Of fabrics that map memory.
  enum class Common : uint8_t { none, a_core_each, crowded } common = Common::none;
  // Where peers may map a rank's scratch memory, in which stages lie.
  std::function<bool(int rank)> shared_scratch = [](int) { return true; };
  // Some rank's call failed: the others of that call end with Code::aborted when they get no further.
  std::shared_ptr<std::atomic<bool>> failed = std::make_shared<std::atomic<bool>>(false);
};

// Zeroed memory, aligned as lines must be. Pages that are never used cost nothing, which with sanitizers is
// much: each has several of what these note beside it.
class Pages {
 public:
  Pages() = default;
  explicit Pages(size_t bytes) : data_(map(bytes), Unmap{bytes}) {}
  std::byte* data() const noexcept { return data_.get(); }
  size_t size() const noexcept { return data_.get_deleter().bytes; }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(std::byte* p) const noexcept { munmap(p, bytes); }
  };
  static std::byte* map(size_t bytes);
  std::unique_ptr<std::byte, Unmap> data_;
};

// One rank's view of a world. Everything but the constructor belongs to the rank's thread.
class Rank {
 public:
  static constexpr size_t kRoom = size_t(3) << 20;  // of input, and of output

  Rank(const World& setup, int rank, transport::fake::FakeNetwork& network,
       transport::test::LocalWorld& local);
  Status connect();
  // Runs `call` to its end, bounded by 20 s. Its buffers and number are set here.
  Status run(Call call, bool in_place);
  // Moves what others wait for.
  void poll();
  std::byte* input() noexcept { return buffer(0); }
  std::byte* output() noexcept { return buffer(1); }
  // What a job has the buffers hold; here, as memory that is used again costs sanitizers less than new memory
  // does.
  struct Images {
    std::vector<float> input, output, want;
  };
  Images& images() noexcept { return images_; }
  bool has_commons() const noexcept {
    return setup_.common != World::Common::none && setup_.fabric.mapped && setup_.ranks > 1;
  }
  uint32_t on_commons() const noexcept { return machine_->on_commons(); }
  // That `peer` told of by itself: lines of the first stream. Unmapped fabrics.
  uint64_t credit_alone(int peer) const noexcept {
    return peers_[size_t(peer)].endpoint->counter(0).load(std::memory_order_relaxed);
  }
  bool is_crowded() const noexcept { return setup_.common == World::Common::crowded; }

 private:
  struct Peer {
    std::unique_ptr<transport::Landings> landings;  // of its mailbox ...
    std::unique_ptr<transport::Region> region;      // ... which it gets at by this, where it maps nothing
    std::unique_ptr<transport::Endpoint> endpoint;
    std::unique_ptr<transport::RemoteRegion> remote;
    std::unique_ptr<transport::Mailbox> mailbox;
  };
  std::byte* buffer(size_t i) noexcept;
  Bound bound(size_t i) noexcept;
  static Bound allocate(void* self, size_t bytes);
  void link(int peer);
  Status expose();
  Bytes keys() const;

  const World& setup_;
  const int rank_;
  transport::test::LocalWorld& local_;
  Pages heap_, shadow_, private_;
  std::vector<Pages> scratch_;
  Images images_;
  std::unique_ptr<transport::Domain> domain_;
  std::unique_ptr<transport::Region> region_, shadow_region_;
  std::vector<Peer> peers_;
  std::vector<Link> links_;
  std::unique_ptr<Machine> machine_;
  Volley volley_;
  uint64_t number_ = 0;
};

// Runs `body(rank, Rank&)` on a thread a rank, after they connected; fails the test where one says why.
void run_ranks(const World& setup, const std::function<Status(int rank, Rank&)>& body);

}  // namespace plait::collectives::real::test
