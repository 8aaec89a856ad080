// Makes a domain misbehave by a plan, to test what stands above it. Transfers are hit as they are posted;
// stores through RemoteRegion::mapped() are not seen.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "transport/hooks/wrap.h"

namespace plait::transport::hooks {

enum class Fault : uint8_t {
  none,
  drop,      // never sent: `reusable` says ok, `delivered` says nothing until the endpoint closes or fails
  delay,     // sent after some polls; later transfers on its counter wait behind it
  corrupt,   // one bit of the bytes that land is wrong (put: at the target, get: here)
  fail,      // not sent, and its Done says Code::peer; `never` fails the endpoint
  lose_ack,  // sent, and its Done says Code::peer though it may have landed
  kill,      // the link dies before it: the endpoint fails with its cookie, the inner one closes
  fail_on,   // it and every later one on its counter fail: as in real transports, where a later signal would
            // say that this one had landed
  mute,  // sent, but its Done does not come before the endpoint closes or fails
};
constexpr size_t kFaults = 9;

struct FaultRule {
  Fault fault = Fault::drop;
  int endpoint = -1;  // in the order of open(); -1: any
  uint64_t nth = 0;   // hits this one of the transfers it looks at, from 1; 0: each with `probability`
  double probability = 0;
  uint32_t polls = 16;  // delay: of this domain
};

struct FaultPlan {
  uint64_t seed = 1;
  std::vector<FaultRule> rules;  // for each transfer the first that hits counts
};

class FaultEndpoint;

// What outlives an endpoint as long as Dones of it are under way.
struct FaultLink {
  bool killed = false;
  size_t owed = 0;  // Dones wanted and not harvested
};

class FaultDomain final : public WrappedDomain {
 public:
  FaultDomain(std::unique_ptr<Domain> inner, FaultPlan plan);
  ~FaultDomain() override;
  // Counts from now on.
  void add(const FaultRule& rule);
  void clear() noexcept { rules_.clear(); }
  // The links of all endpoints open now die.
  void kill_links() noexcept;
  // While it is so the inner domain is not polled: nothing comes in, nothing is done, nobody is told.
  // Afterwards what was under way goes on, late.
  void freeze(bool on) noexcept { frozen_ = on; }
  // As kill_links(), and no endpoint can be opened while it is so.
  void take_down(bool on) noexcept;
  // How many transfers were hit so far.
  uint64_t hits(Fault fault) const noexcept { return hits_[size_t(fault)]; }

  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;

 private:
  friend class FaultEndpoint;
  struct Rule {
    FaultRule rule;
    uint64_t seen = 0;
  };
  // What is behind a cookie given to the inner domain, which is an index of this.
  struct Slot {
    uint64_t cookie = 0;
    FaultEndpoint* owner = nullptr;   // of an endpoint's own cookie
    std::shared_ptr<FaultLink> link;  // of a transfer's
    std::byte* flip = nullptr;        // corrupt this byte when it is there
    bool lose = false, mute = false;
  };
  struct Verdict {
    Fault fault = Fault::none;
    uint32_t polls = 0;
  };
  Verdict judge(int endpoint) noexcept;
  uint64_t random() noexcept;
  uint64_t take_slot(Slot slot);
  // Nothing: it was muted.
  std::optional<Done> translate(Done done) noexcept;
  // A Done of our own making; `link` when it is a transfer's.
  void give(uint64_t cookie, Code code, std::shared_ptr<FaultLink> link) {
    ready_.push_back({{cookie, code}, std::move(link)});
  }
  LocalSlice scratch_byte(std::byte value) noexcept;

  std::vector<Rule> rules_;
  uint64_t random_;
  std::array<uint64_t, kFaults> hits_{};
  std::vector<FaultEndpoint*> endpoints_;
  int opened_ = 0;
  bool frozen_ = false, down_ = false;
  std::vector<Slot> slots_;
  std::vector<uint64_t> free_;
  struct Own {
    Done done;
    std::shared_ptr<FaultLink> link;
  };
  std::vector<Own> ready_;
  std::array<std::byte, 4096> scratch_{};  // sources of corrupted bytes, used in turn
  size_t scratch_next_ = 0;
  std::unique_ptr<Region> scratch_region_;
};

}  // namespace plait::transport::hooks
