// What plait's put with a signal costs over UCX, beside the same loop with bare UCP calls:
//
//   bench_ucx [-b BYTES] [-e BYTES] [-r ROUNDS] [-t SECONDS] [-o OFFSET] [TRANSPORTS [am | acked | put]]
//
// OFFSET: where what is sent, and where it goes, begins in its page; 16 if none, as with malloc.
//
// TRANSPORTS as UCX_TLS, "tcp" if none. The bare loop is UCX as it comes, which chooses the protocol:
//
//   am     active messages, whose target copies the bytes into a buffer, as plait's does. Of a stream 16 are
//          under way until UCX is done with them (plait: `reusable`), and the target answers the last one.
//   acked  the same, but a message of a stream is under way until the target has said that it came (plait:
//          `delivered`); it says so after each look that found some.
//   put    UCP's puts, with no signal; a stream of them is flushed in the end. Plait's as with am.
#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>

#include "base/clock.h"
#include "base/pages.h"
#include "perf/fabric/duel.h"
#include "transport/ucx/ucx.h"

namespace plait::perf {
namespace {

using fabric::Contestant;
using fabric::Kind;
using fabric::Load;
using fabric::Party;
using namespace transport;

constexpr int64_t kPatienceMs = 20'000;
constexpr size_t kWindow = 16;  // messages of a stream under way
constexpr unsigned kMessage = 1, kAnswer = 2;

enum class Mode : uint8_t { am, acked, put };

constexpr size_t kOffset = 16;

// What is sent, and behind it where it comes.
class Memory {
 public:
  Status make(size_t bytes, size_t offset) {
    pages_ = map_pages(bytes + offset);
    if (!pages_) return Status(Code::memory, "no memory for the messages");
    bytes_ = {pages_.data() + offset, bytes};
    std::ranges::fill(bytes_, std::byte(0));
    return {};
  }
  std::byte* data() const noexcept { return bytes_.data(); }
  size_t size() const noexcept { return bytes_.size(); }
  std::byte& operator[](size_t i) const noexcept { return bytes_[i]; }

 private:
  Mapping pages_;
  std::span<std::byte> bytes_;
};

std::string device_of(const std::string& transports) { return transports == "tcp" ? "lo" : ""; }

Status late() { return Status(Code::timeout, "nothing moved for 20 s"); }

class Plait final : public Contestant {
 public:
  Plait(std::string transports, Mode mode, size_t offset)
      : transports_(std::move(transports)),
        offset_(offset),
        streamed_(mode == Mode::acked ? When::delivered : When::reusable) {}

  Status meet(const Party& party, size_t most) override {
    rank_ = party.rank();
    ucx::Options options;
    options.transports = transports_;
    options.devices = device_of(transports_);
    auto domain = ucx::make_domain(options);
    if (!domain.ok()) return domain.status();
    domain_ = std::move(*domain);
    auto end = domain_->open(1, 1);
    if (!end.ok()) return end.status();
    end_ = std::move(*end);
    auto ticket = party.swap(end_->ticket());
    if (!ticket.ok()) return ticket.status();
    PLAIT_TRY(end_->connect(*ticket));
    PLAIT_TRY(wait([&] { return end_->state() != State::connecting; }));
    PLAIT_TRY(memory_.make(2 * most, offset_));
    auto region = domain_->expose({memory_.data(), memory_.size()}, Access::both);
    if (!region.ok()) return region.status();
    region_ = std::move(*region);
    auto key = party.swap(region_->key());
    if (!key.ok()) return key.status();
    auto remote = end_->import(*key);
    if (!remote.ok()) return remote.status();
    remote_ = std::move(*remote);
    most_ = most;
    // Both hear of each other before either stops polling.
    PLAIT_TRY(put(1, When::delivered));
    PLAIT_TRY(await(1));
    PLAIT_TRY(settle());
    for (int i = 0; i < 1000; ++i) domain_->poll({});
    return {};
  }

  Status run(const Load& load) override {
    if (load.kind == Kind::bandwidth) return rank_ == 0 ? stream(load) : await(seen_ + uint64_t(load.count));
    for (int i = 0; i < load.count; ++i) {
      if (rank_ == 0) PLAIT_TRY(put(load.bytes, When::never));
      PLAIT_TRY(await(seen_ + 1));
      if (rank_ == 1) PLAIT_TRY(put(load.bytes, i + 1 == load.count ? When::reusable : When::never));
    }
    return rank_ == 1 ? settle() : Status();
  }

  void progress() override { domain_->poll({}); }

 private:
  template <class F>
  Status wait(F holds) {
    for (int64_t n = 0, end = 0; !holds(); ++n) {
      dones_ += domain_->poll(some_);
      if (n % 1024 != 0) continue;
      if (end == 0) end = now_ns() + kPatienceMs * 1'000'000;
      if (end_->state() == State::failed) return Status(Code::peer, std::string(end_->error()));
      if (now_ns() > end) return late();
    }
    return {};
  }
  Status await(uint64_t signals) {
    seen_ = signals;
    return wait([&] { return end_->counter(0).load(std::memory_order_acquire) >= signals; });
  }
  Status settle() {
    PLAIT_TRY(wait([&] { return dones_ != 0; }));
    dones_ = 0;
    return {};
  }
  Status put(size_t bytes, When when) {
    const LocalSlice from{memory_.data(), bytes, region_.get()};
    const Transfer t{Verb::put, when, {0, 1}, from, {remote_.get(), most_, bytes}, 2};
    return end_->post({&t, 1}) == 1 ? Status() : wait([&] { return end_->post({&t, 1}) == 1; });
  }
  Status stream(const Load& load) {
    for (int i = 0; i < load.count; ++i) {
      PLAIT_TRY(put(load.bytes, i + 1 == load.count ? When::delivered : streamed_));
      PLAIT_TRY(wait([&] { return size_t(i) + 1 - dones_ < kWindow; }));
    }
    PLAIT_TRY(wait([&] { return dones_ == size_t(load.count); }));
    dones_ = 0;
    return {};
  }

  const std::string transports_;
  const size_t offset_;
  const When streamed_;
  int rank_ = 0;
  Memory memory_;
  std::unique_ptr<Domain> domain_;
  std::unique_ptr<Region> region_;
  std::unique_ptr<Endpoint> end_;
  std::unique_ptr<RemoteRegion> remote_;
  size_t most_ = 0, dones_ = 0;
  uint64_t seen_ = 0;
  std::array<Done, 64> some_;
};

Status check(ucs_status_t status, const char* what) {
  return status == UCS_OK ? Status()
                          : Status(Code::system, std::string(what) + ": " + ucs_status_string(status));
}

class Bare final : public Contestant {
 public:
  Bare(std::string transports, Mode mode, size_t offset)
      : transports_(std::move(transports)),
        offset_(offset),
        puts_(mode == Mode::put),
        acked_(mode == Mode::acked) {}

  Status meet(const Party& party, size_t most) override {
    rank_ = party.rank();
    PLAIT_TRY(memory_.make(2 * most, offset_));
    most_ = most;
    PLAIT_TRY(start());
    ucp_worker_attr_t attr{};
    attr.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
    PLAIT_TRY(check(ucp_worker_query(worker_, &attr), "ucp_worker_query"));
    auto address = party.swap({reinterpret_cast<const std::byte*>(attr.address), attr.address_length});
    if (!address.ok()) return address.status();
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(address->data());
    PLAIT_TRY(check(ucp_ep_create(worker_, &params, &end_), "ucp_ep_create"));
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address = memory_.data();
    map.length = memory_.size();
    ucp_mem_h handle = nullptr;
    PLAIT_TRY(check(ucp_mem_map(context_, &map, &handle), "ucp_mem_map"));
    void* key = nullptr;
    size_t key_bytes = 0;
    PLAIT_TRY(check(ucp_rkey_pack(context_, handle, &key, &key_bytes), "ucp_rkey_pack"));
    auto theirs = party.swap({static_cast<const std::byte*>(key), key_bytes});
    if (!theirs.ok()) return theirs.status();
    PLAIT_TRY(check(ucp_ep_rkey_unpack(end_, theirs->data(), &key_), "ucp_ep_rkey_unpack"));
    const auto mine = reinterpret_cast<uint64_t>(memory_.data() + most);
    auto base = party.swap(bytes_of(mine));
    if (!base.ok()) return base.status();
    std::memcpy(&there_, base->data(), sizeof there_);
    return {};
  }

  Status run(const Load& load) override {
    if (load.kind == Kind::bandwidth) return acked_ ? acked_stream(load) : stream(load);
    for (int i = 0; i < load.count; ++i) {
      if (rank_ == 0) PLAIT_TRY(puts_ ? put_one(load.bytes) : send_one(load.bytes));
      PLAIT_TRY(puts_ ? await_byte(load.bytes) : await(seen_ + 1));
      if (rank_ == 1) PLAIT_TRY(puts_ ? put_one(load.bytes) : send_one(load.bytes));
    }
    return drain(0);
  }

  void progress() override { ucp_worker_progress(worker_); }

 private:
  Status start() {
    ucp_config_t* config = nullptr;
    PLAIT_TRY(check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read"));
    ucp_config_modify(config, "TLS", transports_.c_str());
    if (const std::string device = device_of(transports_); !device.empty())
      ucp_config_modify(config, "NET_DEVICES", device.c_str());
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA;
    PLAIT_TRY(check(ucp_init(&params, config, &context_), "ucp_init"));
    ucp_config_release(config);
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    PLAIT_TRY(check(ucp_worker_create(context_, &worker, &worker_), "ucp_worker_create"));
    ucp_am_handler_param_t handler{};
    handler.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.arg = this;
    for (const unsigned id : {kMessage, kAnswer}) {
      handler.id = id;
      handler.cb = id == kMessage ? on_message : on_answer;
      PLAIT_TRY(check(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler"));
    }
    return {};
  }

  static ucs_status_t on_message(void* arg, const void*, size_t, void* data, size_t bytes,
                                 const ucp_am_recv_param_t* param) {
    Bare& me = *static_cast<Bare*>(arg);
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      std::memcpy(me.memory_.data() + me.most_, data, bytes);
      ++me.came_;
      return UCS_OK;
    }
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.cb.recv_am = [](void* request, ucs_status_t, size_t, void* owner) {
      ++static_cast<Bare*>(owner)->came_;
      ucp_request_free(request);
    };
    how.user_data = arg;
    void* request = ucp_am_recv_data_nbx(me.worker_, data, me.memory_.data() + me.most_, bytes, &how);
    if (request == nullptr) ++me.came_;
    return UCS_INPROGRESS;
  }

  static ucs_status_t on_answer(void* arg, const void*, size_t, void* data, size_t bytes,
                                const ucp_am_recv_param_t*) {
    if (bytes == sizeof answered_) std::memcpy(&static_cast<Bare*>(arg)->answered_, data, bytes);
    return UCS_OK;
  }

  template <class F>
  Status wait(F holds) {
    for (int64_t n = 0, end = 0; !holds(); ++n) {
      ucp_worker_progress(worker_);
      if (n % 1024 != 0) continue;
      if (end == 0) end = now_ns() + kPatienceMs * 1'000'000;
      if (now_ns() > end) return late();
    }
    return {};
  }
  Status await(uint64_t count) {
    seen_ = count;
    return wait([&] { return came_ >= count; });
  }
  Status await_byte(size_t bytes) {
    ++turn_;
    const volatile std::byte* last = memory_.data() + most_ + bytes - 1;
    return wait([&] { return *last == std::byte(turn_); });
  }
  // Waits until no more than `most` of what was posted is under way.
  Status drain(size_t most) {
    while (posted_.size() > most) {
      PLAIT_TRY(wait([&] { return ucp_request_check_status(posted_.front()) != UCS_INPROGRESS; }));
      ucp_request_free(posted_.front());
      posted_.pop_front();
    }
    return {};
  }
  Status posted(void* request) {
    if (UCS_PTR_IS_ERR(request)) return check(UCS_PTR_STATUS(request), "posting");
    if (request != nullptr) posted_.push_back(request);
    return drain(kWindow - 1);
  }
  Status send_one(size_t bytes) {
    return posted(ucp_am_send_nbx(end_, kMessage, nullptr, 0, memory_.data(), bytes, &plain_));
  }
  Status put(size_t bytes) { return posted(ucp_put_nbx(end_, memory_.data(), bytes, there_, key_, &plain_)); }
  Status put_one(size_t bytes) {
    memory_[bytes - 1] = std::byte(rank_ == 0 ? turn_ + 1 : turn_);
    return put(bytes);
  }
  Status stream(const Load& load) {
    if (rank_ == 1) {
      if (puts_) return await(seen_ + 1);
      PLAIT_TRY(await(seen_ + uint64_t(load.count)));
      PLAIT_TRY(send_one(1));
      return drain(0);
    }
    for (int i = 0; i < load.count; ++i) PLAIT_TRY(puts_ ? put(load.bytes) : send_one(load.bytes));
    PLAIT_TRY(drain(0));
    if (!puts_) return await(seen_ + 1);
    PLAIT_TRY(posted(ucp_ep_flush_nbx(end_, &plain_)));
    PLAIT_TRY(drain(0));
    PLAIT_TRY(send_one(1));
    return drain(0);
  }

  // Says how many came: of two answers that wait the first may say what the second does.
  Status answer(uint64_t came) {
    if (told_ == came) return {};
    told_ = came;
    return posted(ucp_am_send_nbx(end_, kAnswer, nullptr, 0, &told_, sizeof told_, &plain_));
  }
  Status answer_stream(uint64_t count) {
    const uint64_t before = seen_;
    told_ = 0;
    while (told_ != count) {
      PLAIT_TRY(await(before + told_ + 1));
      PLAIT_TRY(answer(came_ - before));
    }
    seen_ = before + count;
    return drain(0);
  }
  Status acked_stream(const Load& load) {
    if (rank_ == 1) return answer_stream(uint64_t(load.count));
    answered_ = 0;
    for (int i = 0; i < load.count; ++i) {
      PLAIT_TRY(send_one(load.bytes));
      PLAIT_TRY(wait([&] { return uint64_t(i) + 1 - answered_ < kWindow; }));
    }
    PLAIT_TRY(wait([&] { return answered_ == uint64_t(load.count); }));
    return drain(0);
  }

  const std::string transports_;
  const size_t offset_;
  const bool puts_, acked_;
  int rank_ = 0;
  Memory memory_;
  size_t most_ = 0;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h end_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  uint64_t there_ = 0, came_ = 0, seen_ = 0, told_ = 0, answered_ = 0;
  uint8_t turn_ = 0;
  ucp_request_param_t plain_{};
  std::deque<void*> posted_;
};

// `-o OFFSET`, out of the arguments. False: that is no place in a page.
bool take_offset(std::vector<std::string>& rest, size_t& offset) {
  const auto at = std::ranges::find(rest, "-o");
  if (at == rest.end()) return true;
  if (at + 1 == rest.end()) return false;
  const std::string text = *(at + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), offset);
  rest.erase(at, at + 2);
  return error == std::errc() && end == text.data() + text.size() && offset < kPageBytes;
}

int run(int argc, char** argv) {
  fabric::Options options;
  std::vector<std::string> rest;
  size_t offset = kOffset;
  const Status parsed = fabric::parse(argc, argv, options, rest);
  constexpr std::array<std::string_view, 3> kModes = {"am", "acked", "put"};
  const bool placed = take_offset(rest, offset);
  const auto mode = rest.size() < 2 ? kModes.begin() : std::ranges::find(kModes, rest[1]);
  if (!parsed.ok() || !placed || rest.size() > 2 || mode == kModes.end()) {
    std::fprintf(stderr,
                 "%s\nbench_ucx [-b BYTES] [-e BYTES] [-r ROUNDS] [-t SECONDS] [-o OFFSET] [TRANSPORTS [am | "
                 "acked | put]]\n",
                 std::string(parsed.text()).c_str());
    return 2;
  }
  const std::string transports = rest.empty() ? "tcp" : rest[0];
  const auto chosen = Mode(mode - kModes.begin());
  const auto make = [&](int which) -> Result<std::unique_ptr<Contestant>> {
    if (which == 0) return std::unique_ptr<Contestant>(std::make_unique<Plait>(transports, chosen, offset));
    return std::unique_ptr<Contestant>(std::make_unique<Bare>(transports, chosen, offset));
  };
  return fabric::duel("ucx over " + transports + ", bare: " + std::string(*mode), make, options);
}

}  // namespace
}  // namespace plait::perf

int main(int argc, char** argv) { return plait::perf::run(argc, argv); }
