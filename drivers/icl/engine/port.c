/* The thread of a port: a turn trains the link, takes what came, fetches what was posted, and sends; without work it sleeps
 * in the port's bell. */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

#define TURN 16                    /* packets each way, before the other way has its turn */
#define IDLE_NS UINT64_C(100000000)

uint64_t icl_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void icl_port_wake(struct icl_port_words* words) {
  atomic_fetch_add(&words->bell, 1);
  if (atomic_load(&words->asleep) != 0) syscall(SYS_futex, &words->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void icl_port_count(struct icl_port* port, size_t counter, uint64_t add) {
  atomic_fetch_add_explicit(&port->words->counters[counter / 8], add, memory_order_relaxed);
}

/* Until the bell differs from `bell`, or `until_ns`. */
static void sleep_in_bell(struct icl_port* port, uint32_t bell, uint64_t now, uint64_t until_ns) {
  if (until_ns <= now) return;
  const uint64_t ns = until_ns - now;
  const struct timespec timeout = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  atomic_store(&port->words->asleep, 1);
  if (atomic_load(&port->words->bell) == bell)
    syscall(SYS_futex, &port->words->bell, FUTEX_WAIT, bell, &timeout, NULL, 0);
  atomic_store(&port->words->asleep, 0);
}

static bool move(struct icl_port* port, uint64_t now, uint64_t* next_ns) {
  bool moved = false;
  const bool up = icl_train(port, now);
  for (int i = 0; up && i < TURN && icl_link_receive(port, now, next_ns); i++) moved = true;
  icl_chip_doorbells(port);
  for (int i = 0; up && i < TURN && icl_link_send(port, now, next_ns); i++) moved = true;
  for (int i = 0; port->number == 0 && i < TURN && icl_chip_loop(port->chip, port->arrived); i++) moved = true;
  return moved;
}

void* icl_port_run(void* argument) {
  struct icl_port* port = argument;
  struct icl_engine* engine = port->chip->engine;
  while (atomic_load_explicit(&engine->stop, memory_order_relaxed) == 0) {
    const uint32_t bell = atomic_load(&port->words->bell);
    const uint64_t now = icl_now_ns();
    uint64_t next_ns = now + IDLE_NS;
    if (atomic_load_explicit(&port->chip->words->kill, memory_order_relaxed) != 0 || !move(port, now, &next_ns))
      sleep_in_bell(port, bell, now, next_ns);
  }
  return NULL;
}
