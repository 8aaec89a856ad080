#include "perf/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/clock.h"

namespace plait::perf {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kPatience = 2 * kSecond;

}  // namespace

Progress::Progress() : shown_(isatty(STDERR_FILENO) == 1) {}

void Progress::begin(std::string what, uint64_t most) {
  end();
  what_ = std::move(what);
  most_ = most;
  count_ = 0;
  began_ns_ = now_ns();
  next_ns_ = began_ns_ + kPatience;
}

void Progress::show(int64_t now) {
  if (!shown_ || now < next_ns_) return;
  next_ns_ = now + kSecond / 2;
  drawn_ = true;
  std::fprintf(stderr, "\r\033[K%s, %lld s", what_.c_str(),
               static_cast<long long>((now - began_ns_) / kSecond));
  if (most_ != 0 && count_ != 0) std::fprintf(stderr, ": %.0f %%", 100 * double(count_) / double(most_));
  std::fflush(stderr);
}

void Progress::end() {
  if (!std::exchange(drawn_, false)) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace plait::perf
