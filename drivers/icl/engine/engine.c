/* A device begins and ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "objects.h"

uint64_t icl_nonce(void) {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce) nonce = icl_now_ns() * 0x9e3779b97f4a7c15u;
  return nonce | 1;
}

static void* line(size_t count, size_t size) {
  const size_t bytes = (count * size + 63) / 64 * 64;
  void* p = aligned_alloc(64, bytes);
  if (p != NULL) memset(p, 0, bytes);
  return p;
}

static bool make_buffers(struct icl_port* p, const struct icl_shape* s) {
  const size_t buffer = (sizeof(struct icl_buffer) + s->mtu + 63) / 64 * 64;
  p->arrived = line(1, buffer);
  if (p->far_chip == ICL_ANY) return p->arrived != NULL;
  p->retry = line(ICL_SLOTS, buffer);
  bool made = p->arrived != NULL && p->retry != NULL;
  for (uint32_t c = 0; c < s->channels; c++) {
    p->fifo[c].buffers = line(s->credits, buffer);
    made = made && p->fifo[c].buffers != NULL;
  }
  return made;
}

static bool make_port(struct icl_chip* chip, uint32_t number) {
  struct icl_engine* e = chip->engine;
  const struct icl_window* w = &e->window;
  struct icl_port* p = &chip->ports[number];
  *p = (struct icl_port){.chip = chip, .number = number, .far_chip = ICL_ANY, .quads_up = w->shape.quads,
                         .words = icl_port_words(w, chip->number, number)};
  uint32_t far_chip, far_port;
  if (icl_window_far(w, chip->number, number, &far_chip, &far_port)) {
    p->far_chip = far_chip;
    p->far_port = far_port;
    p->far_words = icl_port_words(w, far_chip, far_port);
    p->out = icl_lane(w, chip->number, number);
    p->in = icl_lane(w, far_chip, far_port);
    /* An owner before this one may have left packets of a generation that nobody takes. */
    p->tail = atomic_load(&p->out->tail);
    p->head = atomic_load(&p->in->head);
    p->generation = (uint32_t)(atomic_load(&p->words->trained) >> 8) + 1;
    atomic_store(&p->called, atomic_load(&p->far_words->bell));
  }
  p->doorbells = calloc((e->config.max_queues + 63) / 64, sizeof *p->doorbells);
  return make_buffers(p, &w->shape) && p->doorbells != NULL;
}

static void show_port(struct icl_port* p) {
  for (size_t i = 0; i < sizeof p->words->counters / 8; i++) atomic_store(&p->words->counters[i], 0);
  atomic_store(&p->words->asleep, 0);
  atomic_store(&p->words->quads_up, p->quads_up);
  if (p->far_chip == ICL_ANY) return;
  for (uint32_t c = 0; c < ICL_MAX_CHANNELS; c++) atomic_store(&p->in->freed[c], (uint64_t)p->generation << 32);
  atomic_store(&p->in->naks, (uint64_t)p->generation << 32);
  atomic_store(&p->in->acked, (uint64_t)p->generation << 32);
  atomic_store(&p->out->stalled, 0);
  p->state = ICL_PORT_TRAINING;
  atomic_store(&p->words->begun_ns, icl_now_ns());
  atomic_store(&p->words->trained, (uint64_t)p->generation << 8 | ICL_PORT_TRAINING);
  atomic_store(&p->words->self, UINT64_C(1) << 63 | p->chip->number << 8 | p->number);
}

/* In the window, or else of this process. */
static unsigned char* map_memory(const struct icl_engine* e, uint32_t number) {
  if (!e->window.outside) return icl_chip_memory(&e->window, number);
  void* base = mmap(NULL, e->window.shape.memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return base == MAP_FAILED ? NULL : base;
}

static bool make_chip(struct icl_engine* e, struct icl_chip* chip, uint32_t number) {
  const struct icl_shape* s = &e->window.shape;
  *chip = (struct icl_chip){.engine = e, .number = number, .words = icl_chip_words(&e->window, number),
                            .free_bytes = s->memory};
  pthread_mutex_init(&chip->lock, NULL);
  chip->memory.size = chip->exports.size = e->config.max_exports;
  chip->memory.areas = calloc(e->config.max_exports, sizeof *chip->memory.areas);
  chip->exports.areas = calloc(e->config.max_exports, sizeof *chip->exports.areas);
  chip->queues = calloc((size_t)(e->config.max_queues + 63) / 64 * 64, sizeof(struct icl_chip_queue*));
  chip->pages = calloc(s->memory / 4096, 1);
  chip->base = map_memory(e, number);
  chip->ports = line(s->ports, sizeof *chip->ports);
  bool made = chip->memory.areas != NULL && chip->exports.areas != NULL && chip->queues != NULL && chip->pages != NULL &&
              chip->ports != NULL && chip->base != NULL;
  for (uint32_t p = 0; chip->ports != NULL && p < s->ports; p++) made = make_port(chip, p) && made;
  return made;
}

static void free_chip(struct icl_chip* chip, const struct icl_shape* s) {
  if (chip->engine == NULL) return;
  for (uint32_t i = 0; chip->ports != NULL && i < s->ports; i++) {
    struct icl_port* p = &chip->ports[i];
    for (uint32_t c = 0; c < s->channels; c++) free(p->fifo[c].buffers);
    free(p->retry);
    free(p->arrived);
    free((void*)p->doorbells);
  }
  if (chip->engine->window.outside && chip->base != NULL) munmap(chip->base, s->memory);
  free(chip->ports);
  free(chip->pages);
  free(chip->queues);
  free(chip->memory.areas);
  free(chip->exports.areas);
  pthread_mutex_destroy(&chip->lock);
}

static void run_chip(struct icl_chip* chip) {
  struct icl_chip_words* words = chip->words;
  atomic_store(&words->kill, 0);
  atomic_store(&words->stuck_doorbell, 0);
  atomic_store(&words->pid, getpid());
  atomic_store(&words->beat_ns, icl_now_ns());
  atomic_fetch_add(&words->incarnation, 1);
  for (uint32_t p = 0; p < chip->engine->base.ports; p++) show_port(&chip->ports[p]);
  atomic_store(&words->state, ICL_CHIP_RUNNING);
  for (uint32_t p = 0; p < chip->engine->base.ports; p++)
    if (chip->ports[p].far_chip != ICL_ANY) icl_port_call(&chip->ports[p]);
}

static icl_status start_threads(struct icl_engine* e) {
  int error = 0;
  for (uint32_t i = 0; error == 0 && i < e->owned * e->base.ports; i++) {
    struct icl_port* p = &e->chips[i / e->base.ports].ports[i % e->base.ports];
    if (p->far_chip == ICL_ANY && p->number != 0) continue; /* port 0 also serves the chip itself */
    error = pthread_create(&p->thread, NULL, icl_port_run, p);
    p->started = error == 0;
  }
  if (error == 0) error = pthread_create(&e->watch, NULL, icl_watch_run, e);
  e->watching = error == 0;
  return error == 0 ? ICL_OK : icl_fail(ICL_ERR_SYSTEM, "no thread for an engine: %s", strerror(error));
}

static void stop_threads(struct icl_engine* e) {
  atomic_store(&e->stop, 1);
  for (uint32_t i = 0; i < e->owned * e->base.ports; i++) {
    struct icl_port* p = &e->chips[i / e->base.ports].ports[i % e->base.ports];
    if (!p->started) continue;
    icl_port_wake(p);
    pthread_join(p->thread, NULL);
  }
  if (e->watching) pthread_join(e->watch, NULL);
}

static void release(struct icl_engine* e) {
  for (uint32_t i = 0; e->chips != NULL && i < e->owned; i++) free_chip(&e->chips[i], &e->window.shape);
  free(e->chips);
  free(e->chip_index);
  free(e->seen_state);
  icl_apart_end(e);
  if (e->events.fd >= 0) close(e->events.fd);
  pthread_mutex_destroy(&e->events.lock);
}

static void leave(struct icl_engine* e) {
  for (uint32_t i = 0; i < e->owned; i++) {
    struct icl_chip* chip = &e->chips[i];
    if (e->owns != NULL && !e->owns(e, chip->number)) continue; /* another's words now */
    atomic_store(&chip->words->state, chip->dead ? ICL_CHIP_DEAD : ICL_CHIP_LEFT);
    for (uint32_t p = 0; p < e->base.ports; p++)
      if (chip->ports[p].far_chip != ICL_ANY) icl_port_call(&chip->ports[p]);
  }
}

icl_status icl_engine_start(struct icl_engine* e, const struct icl_driver* driver, const uint32_t* chips, uint32_t owned) {
  const struct icl_shape* s = &e->window.shape;
  e->base = (struct icl_device){driver, s->chips, s->ports};
  e->owned = owned;
  e->chips = calloc(owned, sizeof *e->chips);
  e->chip_index = calloc(s->chips, sizeof *e->chip_index);
  e->seen_state = calloc(s->chips, 2 * sizeof *e->seen_state);
  e->events.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  pthread_mutex_init(&e->events.lock, NULL);
  bool made = icl_apart_begin(e) && e->chips != NULL && e->chip_index != NULL && e->seen_state != NULL && e->events.fd >= 0;
  for (uint32_t i = 0; made && i < owned; i++) {
    e->chip_index[chips[i]] = (uint16_t)(i + 1);
    made = make_chip(e, &e->chips[i], chips[i]);
  }
  icl_status status = made ? ICL_OK : icl_fail(ICL_ERR_NO_MEMORY, "no memory (or descriptor) for %u chips", owned);
  if (status == ICL_OK) {
    e->seen_incarnation = e->seen_state + s->chips;
    for (uint32_t i = 0; i < owned; i++) run_chip(&e->chips[i]);
    status = start_threads(e);
    if (status == ICL_OK) return ICL_OK;
    stop_threads(e);
    leave(e);
  }
  release(e);
  return status;
}

icl_status icl_engine_stop(struct icl_engine* e) {
  const uint32_t objects = atomic_load(&e->objects);
  if (objects > 0) return icl_fail(ICL_ERR_BUSY, "%u memories or completions of the device exist still", objects);
  stop_threads(e);
  leave(e);
  release(e);
  return ICL_OK;
}

const struct icl_driver icl_engine_calls = {
    .struct_size = sizeof(struct icl_driver),
    .device_info = icl_engine_device_info,
    .chip_info = icl_engine_chip_info,
    .port_info = icl_engine_port_info,
    .event_fd = icl_engine_event_fd,
    .read_events = icl_engine_read_events,
    .reset_link = icl_engine_reset_link,
    .reset_chip = icl_engine_reset_chip,
    .set_routes = icl_engine_set_routes,
    .get_route = icl_engine_get_route,
    .alloc = icl_memory_alloc,
    .register_memory = icl_memory_register,
    .free_memory = icl_memory_free,
    .export_memory = icl_memory_export,
    .revoke = icl_memory_revoke,
    .completions_open = icl_ring_open,
    .completions_close = icl_ring_close,
    .poll = icl_ring_poll,
    .arm = icl_ring_arm,
    .wait_fd = icl_ring_fd,
    .queue_open = icl_queue_make,
    .connect = icl_queue_connect,
    .queue_state = icl_queue_state_of,
    .queue_why = icl_queue_why_of,
    .abort = icl_queue_abort,
    .queue_close = icl_queue_end,
    .import = icl_queue_import,
    .forget = icl_queue_forget,
    .post = icl_queue_post,
};
