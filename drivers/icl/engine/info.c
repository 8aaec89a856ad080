/* What there is, what happened, and recovery. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "objects.h"

icl_status icl_engine_device_info(struct icl_device* device, struct icl_device_info* info) {
  const struct icl_engine* e = icl_engine_of(device);
  const struct icl_shape* s = &e->window.shape;
  snprintf(info->driver, sizeof info->driver, "%s", device->driver->name);
  info->chips = s->chips;
  info->ports = s->ports;
  info->channels = s->channels;
  info->owned = e->owned;
  info->mtu = s->mtu;
  info->max_depth = ICL_MAX_DEPTH;
  info->inline_bytes = ICL_INLINE_BYTES;
  info->max_transfer = ICL_MAX_TRANSFER;
  info->pod = e->window.pod;
  return ICL_OK;
}

icl_status icl_engine_chip_info(struct icl_device* device, uint32_t number, struct icl_chip_info* info) {
  struct icl_engine* e = icl_engine_of(device);
  const struct icl_chip_words* words = icl_chip_words(&e->window, number);
  struct icl_chip* chip = icl_owned_chip(e, number);
  const uint32_t state = atomic_load(&words->state);
  info->state = state > ICL_CHIP_LEFT ? (uint32_t)ICL_CHIP_DEAD : state;
  info->owned = chip != NULL;
  info->incarnation = atomic_load(&words->incarnation);
  info->pid = atomic_load(&words->pid);
  info->memory = e->window.shape.memory;
  info->temperature_mC = INT32_MIN;
  if (chip == NULL) return ICL_OK;
  pthread_mutex_lock(&chip->lock);
  info->free = chip->free_bytes;
  pthread_mutex_unlock(&chip->lock);
  return ICL_OK;
}

/* What the far end says of itself, if it can be. */
static void hear(const struct icl_engine* e, const struct icl_port_words* far, struct icl_port_info* info) {
  const uint64_t self = atomic_load(&far->self);
  if (self >> 63 == 0 || (self >> 8 & 0xffffff) >= e->base.chips || (self & 0xff) >= e->base.ports) return;
  info->far_chip = self >> 8 & 0xffffff;
  info->far_port = self & 0xff;
}

icl_status icl_engine_port_info(struct icl_device* device, uint32_t chip, uint32_t port, struct icl_port_info* info) {
  const struct icl_engine* e = icl_engine_of(device);
  const struct icl_port_words* words = icl_port_words(&e->window, chip, port);
  info->far_chip = info->far_port = info->planned_chip = info->planned_port = ICL_ANY;
  uint32_t far_chip, far_port;
  if (!icl_window_far(&e->window, chip, port, &far_chip, &far_port)) return ICL_OK;
  info->planned_chip = far_chip;
  info->planned_port = far_port;
  hear(e, icl_port_words(&e->window, far_chip, far_port), info);
  const uint32_t state = atomic_load(&words->trained) & 0xff;
  info->state = state == ICL_PORT_NONE || state > ICL_PORT_DOWN ? (uint32_t)ICL_PORT_TRAINING : state;
  if (atomic_load(&icl_chip_words(&e->window, chip)->state) != ICL_CHIP_RUNNING) info->state = ICL_PORT_DOWN;
  info->quads = e->window.shape.quads;
  info->quads_up = atomic_load(&words->quads_up);
  if (info->quads_up > info->quads) info->quads_up = info->quads;
  info->mbps = e->window.shape.mbps * info->quads_up;
  uint64_t counters[sizeof info->counters / 8];
  for (size_t i = 0; i < sizeof counters / 8; i++)
    counters[i] = atomic_load_explicit(&words->counters[i], memory_order_relaxed);
  memcpy(&info->counters, counters, sizeof counters);
  return ICL_OK;
}

void icl_event_put(struct icl_engine* e, uint32_t kind, uint32_t chip, uint32_t port, uint32_t far_chip,
                   uint32_t far_port) {
  struct icl_events* q = &e->events;
  const uint32_t room = sizeof q->kept / sizeof q->kept[0];
  pthread_mutex_lock(&q->lock);
  if (q->tail - q->head == room)
    q->lost++;
  else
    q->kept[q->tail++ % room] = (struct icl_event){kind, chip, port, far_chip, far_port, icl_now_ns()};
  const uint64_t one = 1;
  const ssize_t written = write(q->fd, &one, sizeof one);
  (void)written;
  pthread_mutex_unlock(&q->lock);
}

int icl_engine_event_fd(struct icl_device* device) { return icl_engine_of(device)->events.fd; }

size_t icl_engine_read_events(struct icl_device* device, struct icl_event* events, size_t room) {
  struct icl_events* q = &icl_engine_of(device)->events;
  const uint32_t size = sizeof q->kept / sizeof q->kept[0];
  size_t n = 0;
  pthread_mutex_lock(&q->lock);
  for (; n < room && q->head != q->tail; n++) events[n] = q->kept[q->head++ % size];
  if (n < room && q->lost > 0) {
    events[n++] = (struct icl_event){ICL_EVENT_LOST, q->lost, ICL_ANY, ICL_ANY, ICL_ANY, icl_now_ns()};
    q->lost = 0;
  }
  if (q->head == q->tail && q->lost == 0) {
    uint64_t count;
    const ssize_t drained = read(q->fd, &count, sizeof count);
    (void)drained;
  }
  pthread_mutex_unlock(&q->lock);
  return n;
}

static icl_status own_chip(struct icl_engine* e, uint32_t number, struct icl_chip** chip) {
  *chip = icl_owned_chip(e, number);
  return *chip != NULL ? ICL_OK : icl_fail(ICL_ERR_NO_DEVICE, "chip %u is not this device's", number);
}

icl_status icl_engine_reset_link(struct icl_device* device, uint32_t number, uint32_t port) {
  struct icl_chip* chip;
  const icl_status status = own_chip(icl_engine_of(device), number, &chip);
  if (status != ICL_OK) return status;
  if (chip->ports[port].far_chip == ICL_ANY)
    return icl_fail(ICL_ERR_INVALID, "nothing is plugged into chip %u port %u", number, port);
  atomic_store(&chip->ports[port].reset, 1);
  icl_port_wake(&chip->ports[port]);
  return ICL_OK;
}

icl_status icl_engine_reset_chip(struct icl_device* device, uint32_t number) {
  struct icl_engine* e = icl_engine_of(device);
  struct icl_chip* chip;
  const icl_status status = own_chip(e, number, &chip);
  if (status != ICL_OK) return status;
  if (chip->dead) return icl_fail(ICL_ERR_STATE, "chip %u is dead: open the device anew", number);
  pthread_mutex_lock(&chip->lock);
  atomic_fetch_add(&chip->words->incarnation, 1);
  for (uint32_t i = 0; i < e->config.max_queues; i++)
    if (chip->queues[i] != NULL)
      icl_queue_fail(chip->queues[i], ICL_ERR_CHIP_RESET, "chip %u, of this process, was reset: open new queues", number);
  for (uint32_t i = 0; i < chip->exports.size; i++) chip->exports.areas[i].used = 0;
  pthread_mutex_unlock(&chip->lock);
  for (uint32_t port = 0; port < e->base.ports; port++)
    if (chip->ports[port].far_chip != ICL_ANY) icl_engine_reset_link(device, number, port);
  return ICL_OK;
}

icl_status icl_engine_set_routes(struct icl_device* device, const struct icl_routes* routes) {
  struct icl_engine* e = icl_engine_of(device);
  const uint32_t connected = atomic_load(&e->connected), chips = e->base.chips;
  if (connected > 0) return icl_fail(ICL_ERR_BUSY, "%u queues are connected by the routes of now", connected);
  for (uint32_t i = 0; i < chips * chips; i++) {
    uint32_t port, channel;
    const bool set = icl_routes_get(routes, i / chips, i % chips, &port, &channel) == ICL_OK;
    icl_window_set_route(&e->window, i / chips, i % chips, set ? port | channel << 8 : ICL_WINDOW_NO_ROUTE);
  }
  return ICL_OK;
}

icl_status icl_engine_get_route(struct icl_device* device, uint32_t chip, uint32_t to, uint32_t* port, uint32_t* channel) {
  return icl_window_route(&icl_engine_of(device)->window, chip, to, port, channel)
             ? ICL_OK
             : icl_fail(ICL_ERR_UNREACHABLE, "no route from chip %u to chip %u", chip, to);
}
