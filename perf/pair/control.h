// The TCP connection between the two sides, over which everything goes but the bytes that are measured. It is
// that of the bootstrap: with PLAIT_SECRET_FILE both prove that they know the secret and nobody on the way
// can change a word; without, it is plain, as perftest's is.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "bootstrap/link.h"
#include "perf/pair/words.h"
#include "transport/exchange.h"

namespace plait::perf::pair {

using Seconds = double;

class Control final : public transport::Exchange {
 public:
  // Waits for a client that says a hello, whoever else comes to the port: see await_client(). Code::timeout.
  static Result<std::unique_ptr<Control>> serve(uint16_t port, const bootstrap::SecretPtr& secret,
                                                Seconds wait,
                                                const std::function<void(uint16_t)>& listening = {});
  // Code::peer says why nobody answers there.
  static Result<std::unique_ptr<Control>> dial(const std::string& host, uint16_t port,
                                               const bootstrap::SecretPtr& secret, Seconds wait);

  // Both tell who they are; Code::mismatch says in which options they differ. `timeout`: of all that is heard
  // from then on, without a word of the other side.
  Status greet(const Hello& mine, Seconds timeout);
  const Hello& theirs() const noexcept { return theirs_; }
  // "the server (a:18515, host a, process 4711)"
  const std::string& other() const noexcept { return other_; }
  Address local() const noexcept { return link_->local(); }
  bool server() const noexcept { return server_; }
  bool authenticated() const noexcept { return authenticated_; }
  // Called by look() for each interim result of the other side's.
  void on_row(std::function<Status(const Row&)> call) { on_row_ = std::move(call); }
  // Readable when look() has something to do.
  int wait_fd() const noexcept { return poller_->fd(); }

  Status say(Kind kind, ByteView about = {});
  // Looks what came, without waiting. Code::peer: the other side went, or said why it failed.
  Status look();
  // The next message if it is there: of `kind`, or it is an error. Words of life are none.
  Result<std::optional<Bytes>> heard(Kind kind);
  // Waits for it; `meanwhile` is called over and over, and is to sleep or not as it likes.
  Result<Bytes> hear(Kind kind, const std::function<Status()>& meanwhile = {});
  // Is the next message of this kind?
  bool next_is(Kind kind) const noexcept;
  // The last word, as well as it may: the other side is to say it, too.
  void fail(const Status& why);
  // A word of life, once a second at most.
  Status keep_alive(int64_t now);
  // What became due: nothing was heard for too long.
  Status overdue(int64_t now) const;

  // transport::Exchange: the server is rank 0.
  int rank() const noexcept override { return server_ ? 0 : 1; }
  int size() const noexcept override { return 2; }
  Result<std::vector<Bytes>> allgather(ByteView mine, const transport::Bounds& bounds) override;

 private:
  Control(std::unique_ptr<bootstrap::Poller> poller, bool server, bool authenticated)
      : poller_(std::move(poller)), server_(server), authenticated_(authenticated) {}
  Status lost(const Status& why) const;
  Status nap();
  Status sort(Kind kind, ByteView about);

  struct Word {
    Kind kind;
    Bytes about;
  };
  std::unique_ptr<bootstrap::Poller> poller_;
  std::unique_ptr<bootstrap::Link> link_;
  std::deque<Word> inbox_;
  bool server_, authenticated_;
  std::string other_;
  Hello theirs_;
  std::function<Status(const Row&)> on_row_;
  int64_t timeout_ns_ = 10'000'000'000;
  int64_t heard_ns_ = 0, said_ns_ = 0;
};

}  // namespace plait::perf::pair
