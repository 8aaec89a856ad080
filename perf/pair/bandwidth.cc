#include <algorithm>

#include "base/clock.h"
#include "perf/pair/measure.h"

namespace plait::perf::pair {
namespace {

using Interim = std::function<Status(const Row&)>;

class Bandwidth {
 public:
  Bandwidth(Session& session, size_t bytes, const Length& length, const Interim& interim)
      : session_(session),
        options_(session.options()),
        sends_(options_.bidirectional || session.control().server() == options_.reversed),
        takes_(options_.bidirectional || !sends_),
        length_(length),
        load_{bytes, length.seconds == 0 ? length.iterations : 0},
        interim_(interim) {}

  Result<Row> run() {
    prepare();
    PLAIT_TRY(meet_at(session_, load_.bytes));
    Row mine;
    mine.bytes = load_.bytes;
    if (outgoing_) PLAIT_TRY(send(mine));
    if (takes_) PLAIT_TRY(take_in());
    mine.wrong = (outgoing_ ? outgoing_->wrong() : 0) + (incoming_ ? incoming_->wrong() : 0);
    auto theirs = swap_rows(session_, mine);
    if (!theirs.ok()) return theirs;
    mine.bandwidth = together(mine.bandwidth, theirs->bandwidth);
    mine.iterations = std::max(mine.iterations, theirs->iterations);
    mine.wrong += theirs->wrong;
    return mine;
  }

 private:
  void prepare() {
    switch (options_.tool.operation) {
      case Operation::write:
        if (sends_) outgoing_ = make_writer(session_, load_);
        if (takes_ && options_.validate) incoming_ = make_write_checker(session_, load_);
        return;
      case Operation::read:
        if (takes_ && options_.validate) offer_to_reader(session_, load_);
        if (sends_) outgoing_ = make_reader(session_, load_);
        return;
      case Operation::send:
        if (sends_) outgoing_ = make_sender(session_, load_);
        if (takes_) incoming_ = make_receiver(session_, load_);
        return;
    }
  }

  bool step() {
    bool moved = session_.harvest([this](size_t lane) {
      if (outgoing_) outgoing_->done(lane);
    });
    if (outgoing_ && !outgoing_->finished()) moved = outgoing_->step() || moved;
    if (incoming_) moved = incoming_->step() || moved;
    return moved;
  }

  Status send(Row& mine) {
    const int64_t begin = now_ns(), interval = int64_t(length_.seconds) * 1'000'000'000;
    Pace pace = pace_from(begin);
    int64_t end = begin + interval;
    uint64_t total = 0;
    while (!outgoing_->finished()) {
      if (!step()) {
        PLAIT_TRY(session_.rest());
        continue;
      }
      const int64_t now = now_ns();
      const uint64_t arrived = outgoing_->arrived();
      pace.arrived(arrived, now);
      session_.progress().reached(total += arrived);
      PLAIT_TRY(session_.pulse(now));
      if (length_.infinite && is_over()) outgoing_->stop();
      if (length_.seconds == 0 || now < end) continue;
      if (!length_.infinite) outgoing_->stop();
      if (length_.infinite && !is_over()) PLAIT_TRY(tell(pace));
      if (length_.infinite) pace = pace_from(now);
      end = now + interval;
    }
    pace.arrived(outgoing_->arrived(), now_ns());
    pace.end(now_ns());
    fill_row(pace, mine);
    return session_.control().say(Kind::sent);
  }

  // Until the other side has sent all of its own, and that is here.
  Status take_in() {
    const std::function<bool()> turn = [this] { return step(); };
    auto sent = session_.control().hear(
        Kind::sent, [&] { return session_.serve(incoming_ ? turn : std::function<bool()>()); });
    if (!sent.ok()) return sent.status();
    while (incoming_ && !incoming_->finished()) {
      if (step()) {
        session_.moved();
      } else {
        PLAIT_TRY(session_.rest());
      }
    }
    return {};
  }

  // The client is interrupted, and says so by having sent all.
  bool is_over() const { return interrupted() || session_.control().next_is(Kind::sent); }

  Pace pace_from(int64_t begin) const {
    return Pace(uint64_t{session_.depth()} * session_.lanes(), begin, !options_.no_peak);
  }
  void fill_row(const Pace& pace, Row& row) const {
    row.bytes = load_.bytes;
    row.iterations = pace.count();
    row.bandwidth = pace.row(load_.bytes);
  }
  Status tell(const Pace& pace) {
    Row row;
    fill_row(pace, row);
    return interim_(row);
  }

  Session& session_;
  const Options& options_;
  const bool sends_, takes_;
  const Length length_;
  const Load load_;
  const Interim& interim_;
  std::unique_ptr<Stream> outgoing_, incoming_;
};

}  // namespace

Result<Row> measure_bandwidth(Session& session, size_t bytes, const Length& length,
                              const std::function<Status(const Row&)>& interim) {
  return Bandwidth(session, bytes, length, interim).run();
}

}  // namespace plait::perf::pair
