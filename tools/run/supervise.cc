#include "tools/run/supervise.h"

#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace plait::run {
namespace {

// How long output may trickle in after the last rank ended: something outside its process group may hold the
// pipe open.
constexpr int64_t kDrainMs = 500;
// How long the others get to come to where they miss the rank that failed.
constexpr int64_t kSettleMs = 150;
// How often is looked whether ranks have written their records.
constexpr int kLookMs = 5;

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

std::string seconds_text(double s) {
  std::string text = std::to_string(s);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

int64_t to_ns(double seconds) { return int64_t(seconds * 1e9); }

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string end_text(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return "exited with status " + std::to_string(WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  return "was killed by signal " + std::to_string(signal) + " (" + signal_name(signal) + ")" +
         (WCOREDUMP(wait_status) ? ", core dumped" : "");
}

}  // namespace

int Supervisor::run() {
  Inherited inherited{};
  if (!take_signals(inherited)) return 1;
  inherited.files = raise_file_limit();
  if (options_.timeout_s > 0) timeout_at_ = Deadline::in_ns(to_ns(options_.timeout_s));
  if (!start(inherited)) stop(SIGKILL);
  loop();
  say_differences();
  loop();  // until it is written
  return status_.value_or(0);
}

bool Supervisor::take_signals(Inherited& inherited) {
  sigset_t ours;
  sigemptyset(&ours);
  for (int s : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}) sigaddset(&ours, s);
  sigprocmask(SIG_BLOCK, &ours, &inherited.signals);
  signal(SIGPIPE, SIG_IGN);
  signals_.reset(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) fprintf(stderr, "plait-run: signalfd: %s\n", strerror(errno));
  return bool(signals_);
}

bool Supervisor::start(const Inherited& inherited) {
  Launch launch(options_, job_, inherited);
  std::string error;
  const auto started = [&](int status) {
    if (status == 0) return true;
    say(error);
    fail(status);
    return false;
  };
  if (!started(launch.begin(error))) return false;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    Child child;
    if (!started(launch.start(rank, child, error))) return false;
    std::string prefix = options_.prefix ? "[" + std::to_string(rank) + "] " : "";
    Lines out(prefix, options_.shows(rank) ? &stdout_ : nullptr), err(prefix, &stderr_);
    ends_.watch(child.pid);
    ranks_.push_back({std::move(child), std::move(out), std::move(err), true, {}});
    ++running_;
  }
  return true;
}

void Supervisor::loop() {
  while (!done()) {
    poll_once();
    on_deadlines();
  }
}

bool Supervisor::done() const {
  if (running_ > 0 || !stdout_.empty() || !stderr_.empty()) return false;
  auto open = [](const Rank& r) { return r.child.out || r.child.err; };
  return drain_until_.passed() || std::none_of(ranks_.begin(), ranks_.end(), open);
}

void Supervisor::watch(std::vector<pollfd>& polled, std::vector<Lines*>& readers) {
  polled.push_back({signals_.get(), POLLIN, 0});
  for (Sink* sink : {&stdout_, &stderr_}) polled.push_back({sink->empty() ? -1 : sink->fd(), POLLOUT, 0});
  auto add = [&](const Fd& fd, Lines& lines) {
    if (!fd || (lines.sink() != nullptr && lines.sink()->full())) return;
    polled.push_back({fd.get(), POLLIN, 0});
    readers.push_back(&lines);
  };
  for (Rank& rank : ranks_) {
    add(rank.child.out, rank.out);
    add(rank.child.err, rank.err);
  }
}

void Supervisor::poll_once() {
  std::vector<pollfd> polled;
  std::vector<Lines*> readers;
  watch(polled, readers);
  if (poll(polled.data(), polled.size(), next_deadline_ms()) <= 0) return;
  if (polled[1].revents != 0) stdout_.write_some();
  if (polled[2].revents != 0) stderr_.write_some();
  if (stdout_.broken() && !stopping_) {  // "| head" has seen enough
    fail(128 + SIGPIPE);
    stop();
  }
  size_t next = 3;
  for (Rank& rank : ranks_) {
    for (auto [fd, lines] : {std::pair(&rank.child.out, &rank.out), std::pair(&rank.child.err, &rank.err)}) {
      if (next - 3 >= readers.size() || readers[next - 3] != lines) continue;
      if (polled[next++].revents != 0) read_pipe(*fd, *lines);
    }
  }
  if (polled[0].revents != 0) on_signals();
}

void Supervisor::read_pipe(Fd& fd, Lines& lines) {
  std::array<char, 1 << 16> buffer;
  ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got > 0) {
    lines.feed({buffer.data(), size_t(got)});
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    lines.finish();
    fd.reset();
  }
}

// What a rank wrote before it ended comes before our word about its end.
void Supervisor::drain(Rank& rank) {
  for (auto [fd, lines] : {std::pair(&rank.child.out, &rank.out), std::pair(&rank.child.err, &rank.err)}) {
    struct pollfd p = {fd->get(), POLLIN, 0};
    while (*fd && poll(&p, 1, 0) > 0) read_pipe(*fd, *lines);
  }
}

void Supervisor::on_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == ssize_t(sizeof info)) {
    int signal = int(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (signal == SIGUSR1) {
      if (!examining_ && !stopping_) examine(false);
      continue;
    }
    bool again = stopping_;
    say(signal_name(signal) + (again ? " again: killing all ranks" : ", passed on to all ranks"));
    stop(again ? SIGKILL : signal);
  }
  reap();
}

void Supervisor::reap() {
  std::vector<End> ended;
  const std::vector<pid_t> order = ends_.take();
  siginfo_t info{};
  // WNOWAIT: as long as the rank is a zombie its process group's number cannot be another's, so that what it
  // left behind there can be ended safely.
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    kill(-info.si_pid, SIGKILL);
    int wait_status = 0;
    waitpid(info.si_pid, &wait_status, 0);
    auto is_it = [&](const Rank& r) { return r.child.pid == info.si_pid; };
    auto found = std::find_if(ranks_.begin(), ranks_.end(), is_it);
    info = {};
    if (found == ranks_.end()) continue;
    found->running = false;
    --running_;
    found->fate = "it " + end_text(wait_status);
    drain(*found);
    ended.push_back({int(found - ranks_.begin()), wait_status});
  }
  const auto place = [&](const End& e) {
    return std::find(order.begin(), order.end(), ranks_[size_t(e.rank)].child.pid) - order.begin();
  };
  std::stable_sort(ended.begin(), ended.end(),
                   [&](const End& a, const End& b) { return place(a) < place(b); });
  // Of several that ended since the last look, one killed by a signal is the likelier cause.
  std::stable_partition(ended.begin(), ended.end(), [](const End& e) { return WIFSIGNALED(e.wait_status); });
  for (const End& end : ended) report(end);
  if (running_ == 0 && !ended.empty()) drain_until_ = Deadline::in_ms(kDrainMs);
}

void Supervisor::report(const End& end) {
  int status = exit_status(end.wait_status);
  if (status == 0) return;
  const bool killed = WIFSIGNALED(end.wait_status), first = !status_;
  // Those that notice a rank's end may end before the kernel is done with that one. It was killed, or left no
  // word of an error, and they did.
  const bool told = !killed && collector_.told_error(end.rank);
  const bool cause = exited_ && !stopping_ && (killed || (told_ && !told));
  if (first || cause || options_.keep_going) {
    say("rank " + std::to_string(end.rank) + " " + end_text(end.wait_status));
  }
  if (first) exited_ = !killed, told_ = told;
  if (cause) exited_ = false, status_ = status;
  fail(status);
  if (!options_.keep_going && !stopping_) examine(true, kSettleMs);
}

void Supervisor::on_deadlines() {
  on_examination();
  if (running_ == 0) return;
  if (timeout_at_.passed()) {
    timeout_at_ = {};
    say(std::to_string(running_) + " of " + std::to_string(options_.ranks) +
        " ranks still running after --timeout " + seconds_text(options_.timeout_s) + "; ending them");
    fail(124);
    if (!stopping_) examine(true);
  }
  if (kill_at_.passed()) {
    kill_at_ = {};
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank].running) continue;
      say("rank " + std::to_string(rank) + " did not end within " + seconds_text(options_.grace_s) +
          "; killing it");
    }
    send_all(SIGKILL);
  }
}

int Supervisor::next_deadline_ms() const {
  int ms = std::min(kill_at_.left_ms(), timeout_at_.left_ms());
  if (examining_) ms = std::min(ms, kLookMs);
  return running_ == 0 ? std::min(ms, drain_until_.left_ms()) : ms;
}

void Supervisor::send_all(int signal) {
  for (Rank& rank : ranks_) {
    if (rank.running) kill(-rank.child.pid, signal);
  }
}

void Supervisor::stop(int signal) {
  stopping_ = true;
  send_all(signal);
  kill_at_ = signal == SIGKILL ? Deadline() : Deadline::in_ns(to_ns(options_.grace_s));
}

void Supervisor::say(const std::string& text) { stderr_.append("plait-run: " + text + "\n"); }

void Supervisor::fail(int status) {
  if (!status_) status_ = status;
}

}  // namespace plait::run
