#include "tools/run/output.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace plait::run {
namespace {
// A line longer than this goes out in pieces: memory stays bounded whatever a rank writes.
constexpr size_t kLongestLine = 1 << 16;
}  // namespace

void Sink::write_some() {
  // A pipe that poll(2) calls writable takes PIPE_BUF bytes without blocking.
  size_t bytes = std::min<size_t>(queue_.size() - begin_, PIPE_BUF);
  ssize_t wrote = ::write(fd_, queue_.data() + begin_, bytes);
  if (wrote >= 0) {
    begin_ += size_t(wrote);
  } else {
    broken_ = errno != EAGAIN && errno != EINTR;
  }
  if (broken_ || empty()) {
    queue_.clear();
    begin_ = 0;
  } else if (begin_ > (1u << 20)) {
    queue_.erase(0, begin_);
    begin_ = 0;
  }
}

void Lines::line(std::string_view text) {
  sink_->append(prefix_);
  sink_->append(text);
  sink_->append("\n");
}

void Lines::feed(std::string_view text) {
  if (sink_ == nullptr) return;
  while (!text.empty()) {
    size_t end = text.find('\n');
    size_t take = end == text.npos ? text.size() : end;
    bool whole = end != text.npos;
    if (whole && partial_.empty()) {
      line(text.substr(0, take));
    } else {
      partial_.append(text.substr(0, take));
      if (whole || partial_.size() >= kLongestLine) {
        line(partial_);
        partial_.clear();
      }
    }
    text.remove_prefix(whole ? take + 1 : take);
  }
}

void Lines::finish() {
  if (sink_ != nullptr && !partial_.empty()) line(partial_);
  partial_.clear();
}

}  // namespace plait::run
