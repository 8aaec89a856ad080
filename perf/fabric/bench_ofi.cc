// plait's endpoints on a provider of libfabric beside a bare loop over the same provider: a write whose
// remote data tell the target that it is there (bare: of any size in one fi_writedata), polled. PROVIDER is
// "tcp", with a second argument its address; "shm" ...
#include <rdma/fi_rma.h>

#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/pages.h"
#include "fabric/endpoint.h"
#include "fabric/explain.h"
#include "perf/fabric/duel.h"
#include "transport/ofi/ofi.h"

namespace plait::perf::fabric {
namespace {

using namespace transport;
using plait::fabric::Fid;
using plait::fabric::Info;
using plait::fabric::reason;

constexpr int64_t kPatienceMs = 20'000;
constexpr uint64_t kWindow = 64;

Status out_of_time(const char* who) {
  return Status(Code::timeout, std::string(who) + ": nothing moves for 20 s");
}

class Ours final : public Contestant {
 public:
  explicit Ours(const ofi::Options& options) : options_(options) {}

  Status meet(const Party& party, size_t most) override {
    rank_ = party.rank();
    auto domain = ofi::make_domain(options_);
    if (!domain.ok()) return domain.status();
    domain_ = std::move(*domain);
    memory_ = map_pages(2 * most);
    std::memset(memory_.data(), 1, memory_.size());
    most_ = most;
    auto region = domain_->expose({memory_.data(), 2 * most}, Access::write);
    auto end = domain_->open(2, 1);
    for (const Status& s : {region.status(), end.status()}) PLAIT_TRY(s);
    region_ = std::move(*region);
    end_ = std::move(*end);
    const auto ticket = party.swap(end_->ticket());
    if (!ticket.ok()) return ticket.status();
    PLAIT_TRY(end_->connect(*ticket));
    if (!until([&] { return end_->state() == State::ready; }))
      return Status(Code::peer, std::string(end_->error()));
    const auto key = party.swap(region_->key());
    if (!key.ok()) return key.status();
    auto remote = end_->import(*key);
    if (!remote.ok()) return remote.status();
    remote_ = std::move(*remote);
    return {};
  }

  Status run(const Load& load) override {
    Transfer t{Verb::put,
               When::never,
               {0, 1},
               region_->slice(0, load.bytes).value(),
               remote_->slice(most_, load.bytes).value(),
               0};
    Transfer credit{Verb::put, When::never, {1, 1}, {}, {}, 0};
    bool fine = true;
    for (uint64_t i = 0; i < uint64_t(load.count) && fine; ++i) {
      if (load.kind == Kind::latency) {
        if (rank_ == 0) fine = post(t);
        fine = fine && until([&] { return end_->counter(0) > got_; });
        ++got_;
        if (rank_ == 1) fine = fine && post(t);
      } else if (rank_ == 0) {
        fine = until([&] { return end_->counter(1) + kWindow > credits_; }) && post(t);
        ++credits_;
      } else {
        fine = until([&] { return end_->counter(0) > got_; }) && post(credit);
        ++got_;
      }
    }
    if (load.kind == Kind::bandwidth && rank_ == 0)
      fine = fine && until([&] { return end_->counter(1) == credits_; });
    return fine                    ? Status()
           : end_->error().empty() ? out_of_time("plait")
                                   : Status(Code::peer, std::string(end_->error()));
  }

  void progress() override { domain_->poll({}); }

 private:
  bool post(const Transfer& t) {
    return until([&] { return end_->post({&t, 1}) == 1; });
  }
  template <class Holds>
  bool until(Holds holds) {
    Done done[16];
    for (uint64_t spins = 1; !holds(); ++spins) {
      domain_->poll(done);
      if (spins % 65536 == 0 && (end_->state() == State::failed || over(spins))) return false;
    }
    return true;
  }
  bool over(uint64_t spins) {
    if (spins == 65536) deadline_ = Deadline::in_ms(kPatienceMs);
    return deadline_.passed();
  }

  const ofi::Options options_;
  int rank_ = 0;
  size_t most_ = 0;
  uint64_t got_ = 0, credits_ = 0;
  Deadline deadline_;
  Mapping memory_;
  std::unique_ptr<Domain> domain_;
  std::unique_ptr<Region> region_;
  std::unique_ptr<Endpoint> end_;
  std::unique_ptr<RemoteRegion> remote_;
};

class Bare final : public Contestant {
 public:
  Bare(const ofi::Options& options, bool sleeps) : options_(options), sleeps_(sleeps) {}

  Status meet(const Party& party, size_t most) override {
    rank_ = party.rank();
    // What its own benchmarks ask for: one thread, and the order that a target which watches remote data
    // needs.
    fi_info* hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_WAW;
    hints->fabric_attr->prov_name = strdup(options_.provider.c_str());
    fi_info* info = nullptr;
    const char* node = options_.address.empty() ? nullptr : options_.address.c_str();
    int rc = fi_getinfo(FI_VERSION(1, 17), node, nullptr, node != nullptr ? FI_SOURCE | FI_NUMERICHOST : 0,
                        hints, &info);
    fi_freeinfo(hints);
    if (rc != 0) return Status(Code::unsupported, "bare: " + reason(rc));
    info_.reset(info);
    PLAIT_TRY(open());
    inject_ = info->tx_attr->inject_size;
    memory_ = map_pages(2 * most);
    std::memset(memory_.data(), 1, memory_.size());
    most_ = most;
    fid_mr* mr = nullptr;
    rc = fi_mr_reg(domain_.get(), memory_.data(), 2 * most, FI_REMOTE_WRITE | FI_WRITE | FI_SEND | FI_RECV, 0,
                   uint64_t(77 + rank_), 0, &mr, nullptr);
    if (rc != 0) return Status(Code::system, "bare: fi_mr_reg: " + reason(rc));
    mr_.reset(mr);
    return meet_peer(party);
  }

  Status run(const Load& load) override {
    bool fine = true;
    for (int i = 0; i < load.count && fine; ++i) {
      if (load.kind == Kind::latency) {
        if (rank_ == 0) fine = write(load.bytes, 0);
        fine = fine && until([&] { return seen_[0] > got_; });
        ++got_;
        if (rank_ == 1) fine = fine && write(load.bytes, 0);
      } else if (rank_ == 0) {
        fine = until([&] { return seen_[1] + kWindow > credits_; }) && write(load.bytes, 0);
        ++credits_;
      } else {
        fine = until([&] { return seen_[0] > got_; }) && write(0, 1);
        ++got_;
      }
    }
    if (load.kind == Kind::bandwidth && rank_ == 0)
      fine = fine && until([&] { return seen_[1] == credits_; });
    return fine ? Status() : out_of_time("bare");
  }

  void progress() override {
    until([turn = 0]() mutable { return turn++ != 0; });
  }

 private:
  struct Place {
    uint64_t base, key;
  };

  Status open() {
    fid_fabric* fabric = nullptr;
    fid_domain* domain = nullptr;
    fid_av* av = nullptr;
    fid_cq* cq = nullptr;
    fid_ep* ep = nullptr;
    fi_av_attr av_attr{};
    fi_cq_attr cq_attr{};
    cq_attr.size = 1024;
    cq_attr.format = FI_CQ_FORMAT_DATA;
    cq_attr.wait_obj = sleeps_ ? FI_WAIT_FD : FI_WAIT_NONE;
    int rc = fi_fabric(info_->fabric_attr, &fabric, nullptr);
    if (rc == 0) fabric_.reset(fabric), rc = fi_domain(fabric, info_.get(), &domain, nullptr);
    if (rc == 0) domain_.reset(domain), rc = fi_av_open(domain, &av_attr, &av, nullptr);
    if (rc == 0) av_.reset(av), rc = fi_cq_open(domain, &cq_attr, &cq, nullptr);
    if (rc == 0) cq_.reset(cq), rc = fi_endpoint(domain, info_.get(), &ep, nullptr);
    if (rc == 0) ep_.reset(ep), rc = fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV);
    if (rc == 0) rc = fi_ep_bind(ep, &av->fid, 0);
    if (rc == 0) rc = fi_enable(ep);
    return rc == 0 ? Status() : Status(Code::system, "bare: " + reason(rc));
  }

  Status meet_peer(const Party& party) {
    Bytes address(256);
    size_t bytes = address.size();
    if (const int rc = fi_getname(&ep_->fid, address.data(), &bytes); rc != 0)
      return Status(Code::system, "bare: " + reason(rc));
    address.resize(bytes);
    const auto theirs = party.swap(address);
    if (!theirs.ok()) return theirs.status();
    if (fi_av_insert(av_.get(), theirs->data(), 1, &peer_, 0, nullptr) != 1)
      return Status(Code::system, "bare: fi_av_insert");
    const bool virt = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    const Place mine{virt ? uint64_t(memory_.data()) : 0, fi_mr_key(mr_.get())};
    const auto place = party.swap(bytes_of(mine));
    if (!place.ok()) return place.status();
    ByteView view = *place;
    if (!take(view, place_)) return Status(Code::internal, "bare: out of step");
    // One there and one back connect them.
    PLAIT_TRY(run({Kind::latency, 8, 1}));
    return party.swap({}, [&] { progress(); }).status();
  }

  bool write(size_t bytes, uint64_t what) {
    ssize_t rc = -FI_EAGAIN;
    return until([&] {
             rc = bytes <= inject_
                      ? fi_inject_writedata(ep_.get(), memory_.data(), bytes, what, peer_,
                                            place_.base + most_, place_.key)
                      : fi_writedata(ep_.get(), memory_.data(), bytes, fi_mr_desc(mr_.get()), what, peer_,
                                     place_.base + most_, place_.key, &contexts_[next_++ % 512]);
             return rc != -FI_EAGAIN;
           }) &&
           rc == 0;
  }
  template <class Holds>
  bool until(Holds holds) {
    fi_cq_data_entry entries[16];
    for (uint64_t spins = 1; !holds(); ++spins) {
      const ssize_t n = fi_cq_read(cq_.get(), entries, 16);
      if (n < 0 && n != -FI_EAGAIN) return false;
      for (ssize_t i = 0; i < n; ++i) {
        if ((entries[i].flags & FI_REMOTE_CQ_DATA) != 0) seen_[entries[i].data % 2]++;
      }
      if (spins == 65536) deadline_ = Deadline::in_ms(kPatienceMs);
      if (spins % 65536 == 0 && deadline_.passed()) return false;
    }
    return true;
  }

  const ofi::Options options_;
  const bool sleeps_;  // could: its queue has a descriptor
  int rank_ = 0;
  size_t most_ = 0, inject_ = 0, next_ = 0;
  uint64_t got_ = 0, credits_ = 0, seen_[2] = {};
  Deadline deadline_;
  Mapping memory_;
  Info info_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  Fid<fid_mr> mr_;
  Fid<fid_ep> ep_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  Place place_{};
  std::array<fi_context2, 512> contexts_{};
};

}  // namespace
}  // namespace plait::perf::fabric

// bench_ofi [-b BYTES] [-e BYTES] [-r ROUNDS] [-t SECONDS] [spin] [PROVIDER [ADDRESS [messages]]]
int main(int argc, char** argv) {
  using namespace plait::perf::fabric;
  Options options;
  std::vector<std::string> rest;
  const plait::Status parsed = parse(argc, argv, options, rest);
  if (!parsed.ok()) {
    std::fprintf(stderr, "%s\n", std::string(parsed.text()).c_str());
    return 2;
  }
  plait::transport::ofi::Options own;
  // As plait's, the bare loop's queue offers a descriptor to sleep on, though nobody sleeps here.
  const bool sleeps = std::erase(rest, "spin") == 0;
  if (!rest.empty()) own.provider = rest[0];
  if (rest.size() > 1) own.address = rest[1];
  if (rest.size() > 2 && rest[2] == "messages") own.mode = plait::transport::ofi::Mode::messages;
  if (own.provider == "tcp" && own.address.empty()) own.address = "127.0.0.1";
  return duel(
      "libfabric " + own.provider,
      [&](int which) -> plait::Result<std::unique_ptr<Contestant>> {
        if (which == 0) return std::unique_ptr<Contestant>(std::make_unique<Ours>(own));
        return std::unique_ptr<Contestant>(std::make_unique<Bare>(own, sleeps));
      },
      options);
}
