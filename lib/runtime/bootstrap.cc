#include "runtime/bootstrap.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/channel.h"

namespace plait::runtime {
namespace {

using transport::Bounds;

constexpr uint64_t kMagic = 0x315449414c50ull;  // "PLAIT1"

struct Hello {
  uint64_t magic = kMagic;
  uint32_t version = kWireVersion;
  int32_t size = 0, rank = 0;
  uint32_t epoch = 0;
};

struct Address {
  sockaddr_un address{};
  socklen_t length = 0;
};

// An abstract name: no file to clean up, gone with its holder.
Address address_of(const Config& config, uint32_t epoch) {
  const std::string name =
      "plait/" + std::to_string(::geteuid()) + "/" + config.job.substr(0, 80) + "/" + std::to_string(epoch);
  Address a;
  a.address.sun_family = AF_UNIX;
  const size_t bytes = std::min(name.size(), sizeof a.address.sun_path - 1);
  std::memcpy(a.address.sun_path + 1, name.data(), bytes);
  a.length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  return a;
}

Result<Fd> make_socket() {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Status::system(errno, "socket(AF_UNIX)");
  return fd;
}

void nap_ms(long ms) {
  timespec t{0, ms * 1'000'000};
  ::nanosleep(&t, nullptr);
}

std::string ranks_text(const std::vector<Fd>& sockets) {
  std::string text;
  int named = 0, missing = 0;
  for (size_t r = 1; r < sockets.size(); r++) {
    if (sockets[r]) continue;
    missing++;
    if (named++ < 8) text += (text.empty() ? "" : ", ") + std::to_string(r);
  }
  if (missing > 8) text += " and " + std::to_string(missing - 8) + " more";
  return (missing == 1 ? "rank " : "ranks ") + text;
}

// Rank 0: every other rank connects to it.
class Root final : public transport::Exchange {
 public:
  Root(const Config& config, uint32_t epoch)
      : config_(config), epoch_(epoch), sockets_(size_t(config.size)) {}

  Status gather_ranks(const Bounds& bounds) {
    auto listener = make_socket();
    if (!listener.ok()) return listener.status();
    const Address a = address_of(config_, epoch_);
    if (::bind(listener->get(), reinterpret_cast<const sockaddr*>(&a.address), a.length) != 0) {
      if (errno != EADDRINUSE) return Status::system(errno, "binding the job's socket");
      return {Code::mismatch, "job \"" + config_.job +
                                  "\" has a rank 0 on this host already: two ranks were given rank 0, or two "
                                  "jobs the same name"};
    }
    if (::listen(listener->get(), 1024) != 0) return Status::system(errno, "listen");
    for (int missing = config_.size - 1; missing > 0;) {
      Status status = await(listener->get(), POLLIN, bounds);
      if (status.ok()) status = admit(listener->get(), &missing, bounds);
      if (!status.ok()) {
        status = refuse(status);
        tell_latecomers(listener->get(), status);
        return status;
      }
    }
    return {};
  }

  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return config_.size; }

  Result<std::vector<Bytes>> allgather(ByteView mine, const Bounds& bounds) override {
    std::vector<Bytes> all(size_t(config_.size));
    all[0].assign(mine.begin(), mine.end());
    for (size_t r = 1; r < all.size(); r++) {
      auto bytes = receive_frame(sockets_[r].get(), bounds);
      if (!bytes.ok()) return refuse(named(bytes.status(), r));
      all[r] = std::move(bytes).value();
    }
    Bytes packed;
    for (const Bytes& b : all) {
      append(packed, uint32_t(b.size()));
      packed.insert(packed.end(), b.begin(), b.end());
    }
    for (size_t r = 1; r < all.size(); r++) {
      Status status = send_frame(sockets_[r].get(), Frame::data, packed, bounds);
      if (!status.ok()) return refuse(named(status, r));
    }
    return all;
  }

 private:
  static Status named(const Status& status, size_t rank) {
    return {status.code(), "bootstrap: rank " + std::to_string(rank) + ": " + std::string(status.text())};
  }

  Status admit(int listener, int* missing, const Bounds& bounds) {
    Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd)
      return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? Status()
                                                                        : Status::system(errno, "accept");
    if (!check_user(fd.get()).ok()) return {};  // not one of us: dropped
    Bounds soon = bounds;
    auto bytes = receive_frame(fd.get(), soon);
    Hello hello;
    if (!bytes.ok() || bytes->size() != sizeof hello)
      return bytes.status().code() == Code::timeout ? bytes.status() : Status();
    std::memcpy(&hello, bytes->data(), sizeof hello);
    Status fits = check(hello);
    if (!fits.ok()) {
      (void)send_frame(fd.get(), Frame::failure, encode(fits), bounds);
      return fits;
    }
    sockets_[size_t(hello.rank)] = std::move(fd);
    --*missing;
    return {};
  }

  // Those who are about to dial hear why, too, instead of nothing until their deadline.
  static void tell_latecomers(int listener, const Status& status) {
    const Bounds soon{Deadline::in_ms(status.code() == Code::timeout ? 0 : 500), nullptr};
    while (await(listener, POLLIN, soon).ok()) {
      Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd || !check_user(fd.get()).ok()) continue;
      (void)send_frame(fd.get(), Frame::failure, encode(status), soon);
      (void)receive_frame(fd.get(), soon);  // its hello: closing over unread bytes would cut the answer off
    }
  }

  Status check(const Hello& hello) const {
    if (hello.magic != kMagic || hello.version != kWireVersion) {
      return {Code::version, "a rank speaks wire version " + std::to_string(hello.version) +
                                 ", rank 0 speaks " + std::to_string(kWireVersion) +
                                 ": all ranks must run the same plait"};
    }
    const std::string who = "rank " + std::to_string(hello.rank);
    if (hello.size != config_.size) {
      return {Code::mismatch, who + " says the job has " + std::to_string(hello.size) +
                                  " ranks, rank 0 says " + std::to_string(config_.size)};
    }
    if (hello.rank <= 0 || hello.rank >= config_.size) return {Code::mismatch, who + " is out of range"};
    if (sockets_[size_t(hello.rank)])
      return {Code::mismatch, who + " came twice: two processes were given the same rank"};
    return {};
  }

  // Tells everybody who is here why it failed, and says it itself.
  Status refuse(Status status) {
    if (status.code() == Code::timeout &&
        std::count_if(sockets_.begin() + 1, sockets_.end(), [](auto& s) { return !s; }) > 0) {
      status = Status(Code::timeout,
                      "bootstrap of job \"" + config_.job + "\": " + ranks_text(sockets_) +
                          " did not come before the deadline; did they start, with the same PLAIT_JOB?");
    }
    const Bounds soon{Deadline::in_ms(200), nullptr};
    for (const Fd& fd : sockets_) {
      if (fd) (void)send_frame(fd.get(), Frame::failure, encode(status), soon);
    }
    return status;
  }

  const Config config_;
  const uint32_t epoch_;
  std::vector<Fd> sockets_;
};

class Leaf final : public transport::Exchange {
 public:
  Leaf(const Config& config, uint32_t epoch) : config_(config), epoch_(epoch) {}

  Status join(const Bounds& bounds) {
    PLAIT_TRY(dial(bounds));
    PLAIT_TRY(check_user(socket_.get()));
    Hello hello;
    hello.size = config_.size;
    hello.rank = config_.rank;
    hello.epoch = epoch_;
    return explain(send_frame(socket_.get(), Frame::data, bytes_of(hello), bounds));
  }

  int rank() const noexcept override { return config_.rank; }
  int size() const noexcept override { return config_.size; }

  Result<std::vector<Bytes>> allgather(ByteView mine, const Bounds& bounds) override {
    Status sent = send_frame(socket_.get(), Frame::data, mine, bounds);
    // Rank 0 may have said why it closes.
    if (!sent.ok() && sent.code() != Code::peer) return explain(sent);
    auto packed = receive_frame(socket_.get(), grace(bounds));
    if (!packed.ok()) return explain(packed.status());
    return unpack(*packed);
  }

 private:
  // Rank 0 knows best who is missing: it gets a moment to say so before this rank's own deadline speaks.
  static Bounds grace(const Bounds& bounds) {
    return {Deadline::in_ms(bounds.deadline.left_ms(1'000'000'000) + 500), bounds.abort};
  }

  Status explain(const Status& status) const {
    if (status.code() == Code::peer)
      return {Code::peer, "bootstrap of job \"" + config_.job + "\": rank 0 went away"};
    if (status.code() == Code::timeout && status.text() == "the deadline passed") {
      return {Code::timeout,
              "bootstrap of job \"" + config_.job + "\": rank 0 did not answer before the deadline"};
    }
    return status;
  }

  Status dial(const Bounds& bounds) {
    const Address a = address_of(config_, epoch_);
    for (;;) {
      auto fd = make_socket();
      if (!fd.ok()) return fd.status();
      if (::connect(fd->get(), reinterpret_cast<const sockaddr*>(&a.address), a.length) == 0) {
        socket_ = std::move(fd).value();
        return {};
      }
      if (errno != ECONNREFUSED && errno != ENOENT && errno != EAGAIN && errno != EINTR) {
        return Status::system(errno, "connecting to rank 0 of job \"" + config_.job + "\"");
      }
      if (bounds.aborted()) return {Code::aborted, "the communicator was aborted"};
      if (bounds.deadline.passed()) {
        return {Code::timeout, "bootstrap of job \"" + config_.job +
                                   "\": rank 0 did not come before the deadline; did it start, " +
                                   "on this host, with the same PLAIT_JOB?"};
      }
      nap_ms(2);
    }
  }

  Result<std::vector<Bytes>> unpack(ByteView packed) const {
    std::vector<Bytes> all(size_t(config_.size));
    for (Bytes& b : all) {
      uint32_t bytes = 0;
      if (!take(packed, bytes) || bytes > packed.size())
        return Status(Code::version, "rank 0 sent a broken exchange");
      b.assign(packed.begin(), packed.begin() + bytes);
      packed = packed.subspan(bytes);
    }
    return all;
  }

  const Config config_;
  const uint32_t epoch_;
  Fd socket_;
};

}  // namespace

Result<std::unique_ptr<transport::Exchange>> meet_on_host(const Config& config, uint32_t epoch,
                                                          const Bounds& bounds) {
  if (config.rank == 0) {
    auto root = std::make_unique<Root>(config, epoch);
    PLAIT_TRY(root->gather_ranks(bounds));
    return std::unique_ptr<transport::Exchange>(std::move(root));
  }
  auto leaf = std::make_unique<Leaf>(config, epoch);
  PLAIT_TRY(leaf->join(bounds));
  return std::unique_ptr<transport::Exchange>(std::move(leaf));
}

}  // namespace plait::runtime
