// Ping-pong: the client's message, then the server's, and so on; of reads, the client's alone.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "perf/pair/measure.h"

namespace plait::perf::pair {
namespace {

using transport::Transfer;
using transport::Verb;
using transport::When;

// One side of a ping-pong.
class Player {
 public:
  explicit Player(Session& session, size_t bytes)
      : session_(session), bytes_(bytes), lane_(session.lane(0)) {}
  virtual ~Player() = default;
  virtual void prepare() {}
  virtual Status serve_up() = 0;  // sends the next one
  // Waits for the next one of the other side. False: none will come, where that may be so.
  virtual Result<bool> take_back(bool may_end) = 0;
  // What was sent last is on its way, whether or not this side moves any more.
  virtual Status finish() { return {}; }
  uint64_t wrong() const noexcept { return wrong_; }

 protected:
  bool checks() const noexcept { return session_.options().validate; }
  Status post(const Transfer& t) {
    for (;;) {
      if (lane_.endpoint->post({&t, 1}) == 1) return {};
      session_.harvest([](size_t) {});
      PLAIT_TRY(session_.rest());
    }
  }
  uint16_t counter() const noexcept { return bytes_ <= kShortBytes ? kShortCounter : kLongCounter; }

  Session& session_;
  const size_t bytes_;
  Lane& lane_;
  uint64_t wrong_ = 0;
};

class WritePlayer final : public Player {
 public:
  WritePlayer(Session& session, size_t bytes) : Player(session, bytes) { taken_ = seen(); }

  Status serve_up() override {
    Transfer t;
    t.signal = {counter(), 1};
    t.local = session_.out(0, 0, bytes_);
    t.remote = session_.there(0, 0, bytes_);
    if (checks()) fill({t.local.data, bytes_}, session_.stream(0, false), sent_);
    sent_++;
    return post(t);
  }
  Result<bool> take_back(bool may_end) override {
    auto came = session_.await([this] { return seen() > taken_; }, may_end);
    if (!came.ok() || !*came) return came;
    taken_++;
    if (checks()) {
      const auto slice = session_.in(0, 0, bytes_);
      wrong_ += count_wrong({slice.data, bytes_}, session_.stream(0, true), number_++);
    }
    return came;
  }

 private:
  uint64_t seen() const noexcept {
    return lane_.endpoint->counter(counter()).load(std::memory_order_acquire);
  }
  uint64_t taken_ = 0, sent_ = 0, number_ = 0;
};

class SendPlayer final : public Player {
 public:
  using Player::Player;
  void prepare() override { post_receives(session_, 0); }

  Status serve_up() override {
    const auto slice = session_.out(0, 0, bytes_);
    if (checks()) fill({slice.data, bytes_}, session_.stream(0, false), lane_.sent);
    lane_.sent++;
    PLAIT_TRY(session_.await([this] { return left(); }).status());
    request_ = lane_.messages->send(kDataTag, slice);
    if (request_ == nullptr) return session_.health();
    lane_.messages->progress();
    return {};
  }
  Status finish() override {
    return session_.await([this] { return left() && lane_.messages->flushed(); }).status();
  }
  Result<bool> take_back(bool may_end) override {
    auto came = session_.await([this] { return left() && lane_.receives.front()->done(); }, may_end);
    if (!came.ok() || !*came) return came;
    wrong_ += take_received(session_, 0, bytes_);
    post_receives(session_, 0);
    return came;
  }

 private:
  bool left() {
    if (request_ == nullptr) return true;
    if (!request_->done()) return false;
    lane_.messages->release(request_);
    request_ = nullptr;
    return true;
  }
  transport::MessageRequest* request_ = nullptr;
};

// Only a client plays; the other side's memory answers.
class ReadPlayer final : public Player {
 public:
  using Player::Player;

  Status serve_up() override {
    Transfer t;
    t.verb = Verb::get;
    t.when = When::delivered;
    t.signal.counter = counter();
    t.cookie = Session::transfer_cookie(0);
    t.local = session_.out(0, 0, bytes_);
    t.remote = session_.there(0, 0, bytes_);
    if (checks()) std::memset(t.local.data, 0, bytes_);
    return post(t);
  }
  Result<bool> take_back(bool) override {
    bool done = false;
    while (!done) {
      session_.harvest([&](size_t) { done = true; });
      if (!done) PLAIT_TRY(session_.rest());
    }
    session_.moved();
    const auto slice = session_.out(0, 0, bytes_);
    if (checks()) wrong_ += count_wrong({slice.data, bytes_}, session_.stream(0, true), 0);
    return true;
  }
};

std::unique_ptr<Player> make_player(Session& session, size_t bytes) {
  switch (session.options().tool.operation) {
    case Operation::write:
      return std::make_unique<WritePlayer>(session, bytes);
    case Operation::send:
      return std::make_unique<SendPlayer>(session, bytes);
    case Operation::read:
      return std::make_unique<ReadPlayer>(session, bytes);
  }
  return nullptr;
}

class Latency {
 public:
  Latency(Session& session, size_t bytes, const Length& length)
      : session_(session),
        options_(session.options()),
        length_(length),
        player_(make_player(session, bytes)) {
    result_.row.bytes = bytes;
  }

  Result<Latencies> run() {
    const bool reads = options_.tool.operation == Operation::read, client = !session_.control().server();
    player_->prepare();
    if (reads && !client && options_.validate) offer_to_reader(session_, {result_.row.bytes, 1});
    PLAIT_TRY(meet_at(session_, result_.row.bytes));
    if (client) PLAIT_TRY(length_.seconds == 0 ? count_out() : play_for(length_.seconds));
    if (!client && !reads) PLAIT_TRY(answer());
    PLAIT_TRY(player_->finish());
    result_.row.wrong = player_->wrong();
    auto theirs = swap_rows(session_, result_.row);
    if (!theirs.ok()) return theirs.status();
    if (!client) result_.row.latency = theirs->latency;
    result_.row.iterations = std::max(result_.row.iterations, theirs->iterations);
    result_.row.wrong += theirs->wrong;
    return std::move(result_);
  }

 private:
  Status turn() {
    PLAIT_TRY(player_->serve_up());
    return player_->take_back(false).status();
  }

  Status count_out() {
    std::vector<int64_t>& samples = result_.samples;
    samples.reserve(length_.iterations);
    int64_t begin = now_ns();
    while (samples.size() < length_.iterations) {
      PLAIT_TRY(turn());
      const int64_t end = now_ns();
      samples.push_back(end - begin);
      session_.progress().reached(samples.size());
      PLAIT_TRY(session_.pulse(end));
      begin = options_.validate || options_.gap_us != 0 ? pause(end) : end;
    }
    std::vector<int64_t> sorted = samples;
    result_.row.latency = latency_of(sorted, share_of(options_.tool.operation));
    result_.row.iterations = samples.size();
    return {};
  }

  // --latency_gap, from the end of a turn on. The time after it.
  int64_t pause(int64_t end) const noexcept {
    int64_t now = now_ns();
    for (; now - end < int64_t{options_.gap_us} * 1000; now = now_ns()) cpu_relax();
    return now;
  }

  // Keeps no samples, however long it takes.
  Status play_for(uint32_t seconds) {
    const int64_t begin = now_ns(), most = int64_t(seconds) * 1'000'000'000;
    int64_t now = begin;
    uint64_t turns = 0;
    for (; now - begin < most; turns++) {
      PLAIT_TRY(turn());
      now = now_ns();
      PLAIT_TRY(session_.pulse(now));
    }
    const double each_ns = double(now - begin) / double(turns);
    result_.row.iterations = turns;
    result_.row.latency.average = each_ns * share_of(options_.tool.operation) / 1e3;
    result_.row.latency.per_second = 1e9 / each_ns;
    return {};
  }

  // The server's side: as many as come.
  Status answer() {
    const uint64_t most = length_.seconds == 0 ? length_.iterations : UINT64_MAX;
    for (uint64_t i = 0; i < most; i++) {
      auto came = player_->take_back(length_.seconds != 0);
      if (!came.ok() || !*came) return came.status();
      PLAIT_TRY(player_->serve_up());
    }
    return {};
  }

  Session& session_;
  const Options& options_;
  const Length length_;
  std::unique_ptr<Player> player_;
  Latencies result_;
};

}  // namespace

Result<Latencies> measure_latency(Session& session, size_t bytes, const Length& length) {
  return Latency(session, bytes, length).run();
}

}  // namespace plait::perf::pair
