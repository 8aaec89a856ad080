#include "unit/rails/link_faults.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "rdma/ports.h"
#include "transport/hooks/wrap.h"

namespace plait::transport::rails {

namespace {

// Keeps the latest endpoint in sight.
class SeenDomain final : public hooks::WrappedDomain {
 public:
  SeenDomain(std::unique_ptr<Domain> inner, Endpoint*& latest)
      : WrappedDomain(std::move(inner)), latest_(latest) {}
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override {
    auto end = inner().open(counters, cookie);
    if (end.ok()) latest_ = end->get();
    return end;
  }

 private:
  Endpoint*& latest_;
};

std::string interface_of(int rank, size_t rail) { return "v" + device_of(rank, rail).substr(3); }

std::string netem(int rank, size_t rail, const std::string& what) {
  return "tc qdisc replace dev " + interface_of(rank, rail) + " root netem limit 20000" + what;
}

std::string drop(const char* how, int rank, size_t rail) {
  return std::string("iptables -w ") + how + " INPUT -i " + interface_of(rank, rail) +
         " -p udp --dport 4791 -j DROP";
}

constexpr std::string_view kNames[] = {"drop", "cut", "delay", "late", "jitter", "loss", "error", "down"};

}  // namespace

std::string device_of(int rank, size_t rail) { return "rxe" + std::to_string(2 * rail + size_t(rank) + 1); }

bool shell(const std::string& line) { return std::system(line.c_str()) == 0; }

std::string why_no_rails(size_t rails) {
  const std::vector<rdma::Port> ports = rdma::find_ports();
  for (size_t rail = 0; rail < rails; ++rail) {
    for (int rank = 0; rank < 2; ++rank) {
      const std::string device = device_of(rank, rail);
      const auto port = std::ranges::find(ports, device, &rdma::Port::device);
      if (port == ports.end() || !port->why_not.empty())
        return "no device " + device + " here: tests/lab/vm/run bash -c 'bash tests/lab/vm/roce.sh 2 && ...'";
    }
  }
  return "";
}

struct VerbsRails::Ends {
  Endpoint* latest[2][kRails] = {};
};

VerbsRails::VerbsRails(size_t mortal) : ends_(std::make_shared<Ends>()), mortal_(mortal) {}

MakeRail VerbsRails::make() const {
  return [ends = ends_, mortal = mortal_](int rank, size_t rail) {
    verbs::Options options;
    options.device = device_of(rank, rail);
    options.label = "verbs:" + options.device;
    options.timeout = 14;
    options.retries = rail == mortal ? 5 : 7;
    return std::make_unique<SeenDomain>(std::move(verbs::make_domain(options).value()),
                                        ends->latest[rank][rail]);
  };
}

void VerbsRails::fail(int rank, size_t rail) const { verbs::force_error(*ends_->latest[rank][rail]); }

std::string LinkFault::text() const {
  return std::string(kNames[size_t(kind)]) + " " + std::to_string(amount) + " on rail " +
         std::to_string(rail) + " at rank " + std::to_string(rank) + ", after " + std::to_string(pause_ms) +
         " ms, for " + std::to_string(for_ms) + " ms";
}

std::string LinkFault::begin() const {
  const std::string ms = std::to_string(amount) + "ms";
  switch (kind) {
    case Kind::drop:
      return drop("-A", rank, rail);
    case Kind::cut:
      return drop("-A", rank, rail) + " && " + drop("-A", 1 - rank, rail);
    case Kind::delay:
    case Kind::late:
      return netem(rank, rail, " delay " + ms);
    case Kind::jitter:
      return netem(rank, rail, " delay " + ms + " " + ms);
    case Kind::loss:
      return netem(rank, rail, " loss " + std::to_string(amount) + "%");
    case Kind::down:
      return "ip link set " + interface_of(rank, rail) + " down";
    case Kind::error:
      break;
  }
  return "";
}

// What netem holds back still comes, late and out of order.
std::string LinkFault::end() const {
  switch (kind) {
    case Kind::drop:
      return drop("-D", rank, rail);
    case Kind::cut:
      return drop("-D", rank, rail) + " && " + drop("-D", 1 - rank, rail);
    case Kind::error:
      return "";
    case Kind::down:
      return "ip link set " + interface_of(rank, rail) + " up";
    default:
      return netem(rank, rail, " delay 0ms");
  }
}

std::vector<LinkFault> make_schedule(uint64_t seed, size_t rails, size_t faults, size_t mortal,
                                     std::string_view kind) {
  using Kind = LinkFault::Kind;
  std::mt19937_64 random(seed);
  auto below = [&](size_t n) { return size_t(random() % n); };
  // Lost acknowledgements and packets that are late are what matters most.
  const Kind kinds[] = {Kind::drop, Kind::drop,   Kind::drop, Kind::late,  Kind::late,  Kind::cut,
                        Kind::loss, Kind::jitter, Kind::loss, Kind::delay, Kind::error, Kind::down};
  std::vector<LinkFault> schedule;
  for (size_t i = 0; i < faults; ++i) {
    LinkFault f;
    f.kind = kinds[below(std::size(kinds))];
    const auto wanted = std::ranges::find(kNames, kind);
    if (wanted != std::end(kNames)) f.kind = Kind(wanted - std::begin(kNames));
    f.rail = mortal < rails ? mortal : below(rails);
    f.rank = int(below(2));
    f.pause_ms = int64_t(below(300));
    f.for_ms = int64_t(20 + below(700));
    f.amount = f.kind == Kind::late   ? int(200 + below(600))
               : f.kind == Kind::loss ? int(5 + below(40))
                                      : int(1 + below(25));
    schedule.push_back(f);
  }
  return schedule;
}

LinkFaults::LinkFaults(std::vector<LinkFault> schedule, const VerbsRails& rails)
    : schedule_(std::move(schedule)), rails_(rails) {
  if (!schedule_.empty()) until_ = Deadline::in_ms(schedule_[0].pause_ms);
}

LinkFaults::~LinkFaults() {
  if (command_.valid()) command_.wait();
}

// The transfers go on meanwhile.
void LinkFaults::run(const std::string& command, Phase then) {
  phase_ = then;
  running_ = command;
  command_ = std::async(std::launch::async, [command] { return command.empty() || shell(command) ? 0 : 1; });
}

void LinkFaults::note(const std::string& what) {
  char at[32];
  std::snprintf(at, sizeof at, "\n  %6.2f s: ", double(latest_ns_ - first_ns_) / 1e9);
  story_ += at + what;
}

void LinkFaults::step(Pair& pair, std::mt19937_64&) {
  const int64_t now = now_ns();
  if (first_ns_ == 0) first_ns_ = latest_ns_ = now;
  longest_ns_ = std::max(longest_ns_, now - std::exchange(latest_ns_, now));
  if (over()) return;
  const LinkFault& f = schedule_[next_];
  if (phase_ == Phase::pause || phase_ == Phase::hurting) {
    if (!until_.passed()) return;
    if (phase_ == Phase::hurting) return run(f.end(), Phase::ending);
    if (!pair.all_live()) return;  // one that lives is left
    note(f.text());
    if (f.kind == LinkFault::Kind::error) rails_.fail(f.rank, f.rail);
    return run(f.begin(), Phase::beginning);
  }
  if (command_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  if (command_.get() != 0 && failed_.empty()) failed_ = running_;
  if (phase_ == Phase::beginning) {
    note("it is so");
    phase_ = Phase::hurting;
    until_ = Deadline::in_ms(f.for_ms);
    return;
  }
  note("it is healed");
  phase_ = Phase::pause;
  // What the rail owes from before it was healed may be found late still, and it dead: no rail to rely on.
  constexpr int64_t kWeakMs = 500;
  if (++next_ < schedule_.size()) until_ = Deadline::in_ms(kWeakMs + schedule_[next_].pause_ms);
}

void LinkFaults::heal_all(Pair& pair) {
  if (command_.valid()) command_.wait();
  if (!over() && (phase_ == Phase::beginning || phase_ == Phase::hurting)) shell(schedule_[next_].end());
  next_ = schedule_.size();
  for (size_t i = 0; i < pair.rails; ++i) {
    for (int rank = 0; rank < 2; ++rank)
      shell("tc qdisc delete dev " + interface_of(rank, i) + " root 2>/dev/null");
  }
}

std::string LinkFaults::now() const {
  return std::to_string(next_) + " of " + std::to_string(schedule_.size()) +
         " faults are over, the longest pause of polling was " + std::to_string(longest_ns_ / 1'000'000) +
         " ms" + story_;
}

}  // namespace plait::transport::rails
