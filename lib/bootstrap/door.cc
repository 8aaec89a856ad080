#include "bootstrap/door.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"

namespace plait::bootstrap {
namespace {

// Strangers may take a quarter of the process's descriptors at most.
size_t most_trying() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 64;
  return std::clamp<size_t>(size_t(std::min<rlim_t>(files.rlim_cur, 1 << 20)) / 4, 16, 1024);
}

bool older_than(int64_t since_ns, int64_t ms) { return now_ns() - since_ns > ms * 1'000'000; }

bool shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

Door::Door(const Self& self, Poller& poller) : self_(self), poller_(poller), limit_(most_trying()) {}

Door::~Door() {
  for (auto& listener : listeners_) poller_.remove(listener->id);
}

Status Door::open(Fd fd, bool known) {
  auto listener = std::make_unique<Listener>();
  listener->id = poller_.add(fd.get(), true, false, listener.get());
  if (listener->id == 0) return Status::system(errno, "epoll_ctl");
  listener->fd = std::move(fd);
  listener->known = known;
  listeners_.push_back(std::move(listener));
  return {};
}

void Door::close_known() {
  std::erase_if(listeners_, [&](auto& listener) {
    if (listener->known) poller_.remove(listener->id);
    return listener->known;
  });
}

void Door::poll() {
  std::erase_if(trying_, [&](auto& link) { return !look_at(link); });
  if (paused_ && make_room(false)) pause(false);
  if (!paused_) {
    for (auto& listener : listeners_) take_in(*listener);
  }
  while (!leaving_.empty() && (leaving_.front()->state() == Link::State::closed ||
                               older_than(leaving_since_.front(), kLingerMs) || leaving_.size() > 1024)) {
    leaving_.pop_front();
    leaving_since_.pop_front();
  }
}

void Door::take_in(Listener& listener) {
  if (!std::exchange(listener.waiting, false)) return;
  for (int i = 0; i < kAcceptAtOnce; i++) {
    if (!make_room(false)) return pause(true);
    Address from;
    Fd fd = accept_from(listener.fd.get(), &from);
    if (fd) {
      if (admit(std::move(fd), from)) continue;
    } else if (errno == EAGAIN) {
      return;
    } else if (shortage(errno)) {
      if (shortage_.empty()) {
        shortage_ =
            std::string("accepting: ") + std::strerror(errno) + "; raise the limit of open files (ulimit -n)";
        log::warn("bootstrap: {}", shortage_);
      }
      if (!make_room(true)) return pause(true);
    }
  }
  listener.waiting = true;  // perhaps more: next time
}

bool Door::admit(Fd fd, const Address& from) {
  std::string who = to_string(from.with_port(0));
  if (!from.valid()) {
    const Process process = peer_process(fd.get());
    who = "process " + std::to_string(process.pid) + " of this host";
    if (Status status = check_user(process); !status.ok()) {
      stranger(who, status);
      return false;
    }
  }
  trying_.push_back(std::make_unique<Link>(poller_, std::move(fd), std::move(who),
                                           Handshake::listener(self_.trusted), Link::State::greeting));
  return true;
}

// Is there room for one more? `anyhow`: somebody must go, however short its time was.
bool Door::make_room(bool anyhow) {
  if (trying_.size() < limit_ && !anyhow) return true;
  if (trying_.empty() || (!anyhow && !older_than(trying_.front()->since_ns(), kGiveWayMs))) return false;
  stranger(trying_.front()->who(), {Code::auth, "too many try at once, and it did not prove itself yet"});
  trying_.pop_front();
  return true;
}

void Door::pause(bool paused) {
  paused_ = paused;
  for (auto& listener : listeners_) {
    poller_.change(listener->id, !paused, false);
    listener->waiting = !paused;
  }
}

bool Door::look_at(std::unique_ptr<Link>& link) {
  if (auto message = link->receive()) {
    ByteView view = *message;
    Hello hello;
    if (take_kind(view) != Kind::hello || !decode(view, hello)) {
      stranger(link->who(), {Code::auth, "it proved itself, but its first message makes no sense"});
      return false;
    }
    judge(std::move(link), hello);
    return false;
  }
  if (link->state() == Link::State::closed) {
    stranger(link->who(), link->status());
    return false;
  }
  if (!older_than(link->since_ns(), kPatienceMs)) return true;
  stranger(link->who(),
           {Code::auth, "it did not prove itself within " + std::to_string(kPatienceMs / 1000) + " s"});
  return false;
}

// It knows the secret; is it of this job, and does it mean us?
void Door::judge(std::unique_ptr<Link> link, const Hello& hello) {
  const Claim& claim = link->claim();
  const std::string here =
      "rank " + std::to_string(self_.rank) + " of job \"" + self_.job + "\" listens there";
  std::string wrong;
  if (claim.job != self_.job_hash) {
    wrong = here + ", not this job";
  } else if (claim.epoch != self_.epoch) {
    wrong = here + " for its communicator " + std::to_string(self_.epoch) + ", not " +
            std::to_string(claim.epoch);
  } else if (claim.listener != self_.rank) {
    wrong = here + ", not rank " + std::to_string(claim.listener);
  } else if (claim.dialer < 0 ||
             (claim.purpose != uint32_t(Purpose::tree) && claim.purpose != uint32_t(Purpose::meeting))) {
    wrong = "rank " + std::to_string(claim.dialer) + " or its purpose makes no sense";
  }
  if (!wrong.empty()) {
    return refuse(std::move(link), {true, 0, {Code::mismatch, wrong}});
  }
  const Address local = link->local().with_port(0);
  if (local.valid() && reached_.size() < 8 &&
      std::find(reached_.begin(), reached_.end(), local) == reached_.end()) {
    reached_.push_back(local);
  }
  arrivals_.push_back({std::move(link), hello});
}

std::optional<Arrival> Door::next() {
  if (arrivals_.empty()) return std::nullopt;
  Arrival arrival = std::move(arrivals_.front());
  arrivals_.pop_front();
  return arrival;
}

void Door::refuse(std::unique_ptr<Link> link, const Refusal& refusal) {
  link->send(encode(refusal));
  let_go(std::move(link));
}

void Door::let_go(std::unique_ptr<Link> link) {
  if (!link || link->state() == Link::State::closed) return;
  link->finish();
  leaving_.push_back(std::move(link));
  leaving_since_.push_back(now_ns());
}

bool Door::all_flushed() const noexcept {
  return std::all_of(leaving_.begin(), leaving_.end(),
                     [](auto& link) { return link->state() == Link::State::closed || link->flushed(); });
}

// Once for each address, and not for ever new ones: a log is no place for a flood.
void Door::stranger(const std::string& who, const Status& why) {
  if (why.code() != Code::peer) last_refused_ = who + ": " + std::string(why.text());
  // Who only hangs up is worth less than a warning, and must not use up the one that its address gets.
  const bool hung_up = why.code() == Code::peer;
  if (logged_.size() >= kMostLogged || !logged_.insert(hung_up ? who + " hung up" : who).second) return;
  const auto level = hung_up ? log::Level::info : log::Level::warn;
  log::line(level, "bootstrap of job \"{}\": rank {} refused {}: {}{}", self_.job, self_.rank, who,
            why.text(), logged_.size() == kMostLogged ? " (further addresses are not logged)" : "");
}

std::string Door::hint() const {
  std::string text;
  if (!last_refused_.empty()) text += "; refused meanwhile: " + last_refused_;
  if (!shortage_.empty()) text += "; " + shortage_;
  return text;
}

}  // namespace plait::bootstrap
