// Progress of what may be busy for long in one call: a thread of its own shows it, where somebody is at a
// terminal.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "perf/progress.h"

namespace plait::perf {

class Watch {
 public:
  explicit Watch(Progress progress = {}) : progress_(std::move(progress)) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  // Shows `what` while it lives, and leaves nothing of it.
  class Shown {
   public:
    Shown(Watch& watch, std::string what) : watch_(watch) { watch_.begin(std::move(what)); }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;
    ~Shown() { watch_.end(); }

   private:
    Watch& watch_;
  };

 private:
  void begin(std::string what);
  void end();
  void look();

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  Progress progress_;
  bool busy_ = false, over_ = false;
  std::thread thread_;
};

}  // namespace plait::perf
