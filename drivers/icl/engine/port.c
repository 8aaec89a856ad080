/* The thread of a port: a turn trains the link, takes what came, fetches what was posted, and sends; without work it sleeps
 * in the port's bell. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

#define TURN 16                    /* packets each way, before the other way has its turn */
#define IDLE_NS UINT64_C(100000000)
/* Apart: looks at the bell that give way to other threads, then naps between them, longer every 8. */
#define YIELDS 32
#define FIRST_NAP_NS UINT64_C(20000)
#define LONGEST_NAP_NS UINT64_C(1000000)

uint64_t icl_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wake(_Atomic uint32_t* bell, const _Atomic uint32_t* asleep, int which) {
  atomic_fetch_add(bell, 1);
  if (atomic_load(asleep) != 0) syscall(SYS_futex, bell, which, 1, NULL, NULL, 0);
}

void icl_words_wake(struct icl_port_words* words) { wake(&words->bell, &words->asleep, FUTEX_WAKE); }

void icl_port_wake(struct icl_port* port) {
  if (port->chip->engine->apart)
    wake(&port->bell, &port->asleep, FUTEX_WAKE_PRIVATE);
  else
    icl_words_wake(port->words);
}

void icl_port_call(struct icl_port* port) {
  if (port->chip->engine->apart)
    atomic_store(&port->far_words->bell, atomic_fetch_add(&port->called, 1) + 1); /* locked cycles need not cross a bus */
  else
    icl_words_wake(port->far_words);
}

void icl_port_count(struct icl_port* port, size_t counter, uint64_t add) {
  atomic_fetch_add_explicit(&port->words->counters[counter / 8], add, memory_order_relaxed);
}

struct bells {
  uint32_t own, window;
};

static struct bells look_at_bells(struct icl_port* port) {
  const bool apart = port->chip->engine->apart;
  return (struct bells){apart ? atomic_load(&port->bell) : 0, atomic_load(&port->words->bell)};
}

static void sleep_in(_Atomic uint32_t* bell, _Atomic uint32_t* asleep, uint32_t seen, uint64_t ns, int how) {
  const struct timespec timeout = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  atomic_store(asleep, 1);
  if (atomic_load(bell) == seen) syscall(SYS_futex, bell, how, seen, &timeout, NULL, 0);
  atomic_store(asleep, 0);
}

/* How long to sleep between two looks at the window's bell: longer the longer nothing moved. */
static uint64_t nap_ns(uint32_t naps) {
  const uint32_t doublings = (naps - YIELDS) / 8;
  const uint64_t ns = FIRST_NAP_NS << (doublings < 16 ? doublings : 16);
  return ns < LONGEST_NAP_NS ? ns : LONGEST_NAP_NS;
}

/* Nobody wakes us for the window's bell. Posts of this process do. */
static void nap(struct icl_port* port, struct bells seen, uint64_t until_ns) {
  const struct icl_engine* e = port->chip->engine;
  for (uint64_t now = icl_now_ns(); now < until_ns && atomic_load(&e->stop) == 0; now = icl_now_ns()) {
    const struct bells bells = look_at_bells(port);
    if (bells.own != seen.own || bells.window != seen.window) return;
    if (port->naps < UINT32_MAX) port->naps++;
    if (port->naps <= YIELDS) {
      sched_yield();
      continue;
    }
    const uint64_t ns = nap_ns(port->naps), left = until_ns - now;
    sleep_in(&port->bell, &port->asleep, seen.own, ns < left ? ns : left, FUTEX_WAIT_PRIVATE);
  }
}

/* Until a bell differs from what was seen, or `until_ns`. */
static void sleep_in_bell(struct icl_port* port, struct bells seen, uint64_t now, uint64_t until_ns) {
  if (until_ns <= now) return;
  if (port->chip->engine->apart)
    nap(port, seen, until_ns);
  else
    sleep_in(&port->words->bell, &port->words->asleep, seen.window, until_ns - now, FUTEX_WAIT);
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
    const struct bells bells = look_at_bells(port);
    const uint64_t now = icl_now_ns();
    uint64_t next_ns = now + IDLE_NS;
    const bool dead = atomic_load_explicit(&port->chip->dead, memory_order_relaxed) ||
                      atomic_load_explicit(&port->chip->words->kill, memory_order_relaxed) != 0;
    if (!dead && move(port, now, &next_ns))
      port->naps = 0;
    else
      sleep_in_bell(port, bells, now, next_ns);
  }
  return NULL;
}
