// The way of a rank's output: pipe → whole lines, prefixed → a queue → our own stdout or stderr.
#pragma once

#include <string>
#include <string_view>

namespace plait::run {

// Text on its way to one of our descriptors. Writing never blocks the loop: at most what poll(2) promised is
// written.
class Sink {
 public:
  explicit Sink(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  void append(std::string_view text) {
    if (!broken_) queue_.append(text);
  }
  bool empty() const { return begin_ == queue_.size(); }
  // So much is waiting that ranks should not be read until it is less.
  bool full() const { return queue_.size() - begin_ > (1u << 20); }
  // Nobody reads this descriptor any more; what comes is dropped.
  bool broken() const { return broken_; }
  // Call when poll says that the descriptor takes data.
  void write_some();

 private:
  int fd_;
  std::string queue_;
  size_t begin_ = 0;
  bool broken_ = false;
};

// Cuts what a rank writes into lines and hands them, prefixed, to a sink.
class Lines {
 public:
  // sink nullptr: the output is not wanted.
  Lines(std::string prefix, Sink* sink) : prefix_(std::move(prefix)), sink_(sink) {}
  Sink* sink() const { return sink_; }
  void feed(std::string_view text);
  // The end: an unfinished last line goes out too, and is ended.
  void finish();

 private:
  void line(std::string_view text);
  std::string prefix_;
  Sink* sink_;
  std::string partial_;
};

}  // namespace plait::run
