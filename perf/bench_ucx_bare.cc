#include "perf/bench_ucx_bare.h"

#include <ucp/api/ucp.h>

#include <cstring>
#include <deque>

#include "base/clock.h"

namespace plait::perf {
namespace {

using fabric::Contestant;
using fabric::Kind;
using fabric::Load;
using fabric::Party;

constexpr unsigned kMessage = 1, kAnswer = 2;

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

}  // namespace

std::unique_ptr<Contestant> make_bare(const std::string& transports, Mode mode, size_t offset) {
  return std::make_unique<Bare>(transports, mode, offset);
}

}  // namespace plait::perf
