// In which order ranks ended: wait(2) tells of those that have by their numbers.
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

#include "base/file.h"

namespace plait::run {

// A kernel without pidfds (before 5.3) tells no order, and `take` nothing.
class Ends {
 public:
  // To be told of the end of the child `pid`, which was not waited for yet.
  void watch(pid_t pid);
  // Children that ended since the last call, first ones first. They are not watched any more.
  std::vector<pid_t> take();

 private:
  Fd epoll_;
  std::map<pid_t, Fd> watched_;
};

}  // namespace plait::run
