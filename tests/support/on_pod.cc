// on_pod GRAPH PROGRAM [ARGUMENT...]: runs the program on a pod of emulated chips that is there for so long,
// PLAIT_NETWORK naming it; ends as the program did.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdio>

#include "support/pod.h"

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: on_pod GRAPH PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  // Silence means nothing on a machine that is shared.
  const plait::test::EmulatedPod pod(std::string(arguments[1]) +
                                     "; mbps=0 latency=0ns memory=64K silent=60s");
  if (!pod.error().empty()) {
    std::fprintf(stderr, "on_pod: %s\n", pod.error().c_str());
    return 2;
  }
  setenv("PLAIT_NETWORK", pod.network().c_str(), 1);
  const pid_t program = fork();
  if (program == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(arguments[2], arguments + 2);
    std::perror(arguments[2]);
    _exit(127);
  }
  int status = -1;
  if (program < 0 || waitpid(program, &status, 0) != program) return 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
