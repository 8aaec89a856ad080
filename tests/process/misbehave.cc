/* Ranks for tests of plait-run: each sums a few times, then rank 2 does what the first argument says. */
#include <plait/plait.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

namespace {

plait_comm* comm;

int sum(const char* algorithm = nullptr, plait_request** request = nullptr) {
  static float x[1024];
  plait_call_config by{};
  by.struct_size = sizeof by;
  by.algorithm = algorithm;
  return plait_allreduce(comm, x, x, 1024, PLAIT_FLOAT32, PLAIT_SUM, &by, request);
}

// In which nobody gets through without all others' doing.
const char* const kAllNeeded = "ring";

[[noreturn]] void hang() {
  for (;;) pause();
}

// To plait-run's stdout, for the test to count: the next thing that this rank does is what the test looks at.
void say_here() { (void)!write(1, "here\n", 5); }

// What rank 2 does instead of its 12th sum.
int misbehave(const std::string& how) {
  float x[1024] = {};
  if (how == "skip") hang();
  if (how == "other") return plait_broadcast(comm, x, x, 4, PLAIT_FLOAT32, 1, nullptr, nullptr);
  if (how == "die") {
    usleep(500'000);  // the others come to it, too: they may be at the end of the sum before
    raise(SIGKILL);
  }
  if (how == "exit") _exit(7);
  if (how == "leave") {  // as the kernel ends a process: what others see of it goes first
    for (int fd = 3; fd < 1024; fd++) close(fd);
    usleep(60'000);
    _exit(7);
  }
  if (how == "stop") raise(SIGSTOP);
  if (how == "compute") {
    plait_request* request = nullptr;
    sum(kAllNeeded, &request);
    for (volatile bool forever = true; forever;) {
    }
  }
  hang();
}

}  // namespace

int main(int, char** argv) {
  const std::string how = argv[1];
  const bool odd = getenv("RANK") == std::string("2");
  int32_t rank = 0;
  if (how == "handle" && odd) signal(SIGUSR1, [](int) { (void)!write(1, "mine\n", 5); });
  if (plait_init(nullptr) != PLAIT_OK) return 3;
  if (how == "absent") say_here();
  if (how == "absent" && odd) hang();
  int status = plait_comm_create(nullptr, &comm);
  if (status == PLAIT_OK) status = plait_comm_rank(comm, &rank);
  for (int i = 1; i <= 11 && status == PLAIT_OK; i++) status = sum();
  if (how != "absent") say_here();
  if (status == PLAIT_OK) status = rank == 2 ? misbehave(how) : sum(kAllNeeded);
  if (status == PLAIT_OK) status = sum();  // a broadcast's root hears of a difference here
  if (status != PLAIT_OK) fprintf(stderr, "%s\n", plait_last_error(comm));
  return status == PLAIT_OK ? 0 : 1;
}
