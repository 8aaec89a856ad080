/* Windows: mapped, laid out, cleared. */
#include "window.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../engine/engine.h"
#include "../engine/plan.h"
#include "pciwin.h"

#define SIGN_MS 3000u /* an owner that gives no sign of life for so long has no claim */
#define LOOK_NS 5000000L

static icl_status map(const struct icl_pciwin_place* place, void** base) {
  const int fd = open(place->path, O_RDWR | O_CLOEXEC);
  if (fd >= 0) *base = mmap(NULL, place->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)place->from);
  const int error = errno;
  if (fd >= 0) close(fd);
  if (fd >= 0 && *base != MAP_FAILED) return ICL_OK;
  return icl_fail(error == ENOENT ? ICL_ERR_NO_DEVICE : ICL_ERR_SYSTEM, "pciwin: cannot map %s: %s%s", place->path,
                  strerror(error), error == EACCES || error == EPERM ? " (only root may drive PCI devices)" : "");
}

static bool has_pod(void* base) { return atomic_load((_Atomic uint64_t*)base) == ICL_WINDOW_MARK; }

static icl_status attach(const struct icl_pciwin_place* place, void* base, struct icl_window* window) {
  if (place->bytes >= ICL_WINDOW_HEAD && atomic_load((_Atomic uint64_t*)base) == 0)
    return icl_fail(ICL_ERR_NO_DEVICE, "pciwin: the window of %s has no pod: icl-pod create pciwin:%s 'ring 2', on one machine",
                    place->name, place->name);
  const icl_status status = icl_window_attach(base, place->bytes, window);
  if (status != ICL_OK || window->outside) return status;
  icl_window_detach(window);
  return icl_fail(ICL_ERR_INVALID, "pciwin: the pod in %s is of emu: open it as that", place->name);
}

icl_status icl_pciwin_map(const char* where, struct icl_pciwin_place* place, struct icl_window* window) {
  void* base = NULL;
  icl_status status = icl_pciwin_find(where, place);
  if (status == ICL_OK) status = map(place, &base);
  if (status != ICL_OK) return status;
  status = attach(place, base, window);
  if (status != ICL_OK) munmap(base, place->bytes);
  return status;
}

void icl_pciwin_unmap(struct icl_window* window) {
  munmap(window->base, window->bytes);
  icl_window_detach(window);
}

bool icl_pciwin_is_owned(const struct icl_window* window, uint32_t chip, uint64_t* claim) {
  const struct icl_chip_words* words = icl_chip_words(window, chip);
  const uint32_t silent_ms = window->shape.silent_ms < SIGN_MS ? window->shape.silent_ms : SIGN_MS;
  const uint64_t end = icl_now_ns() + silent_ms * UINT64_C(1000000), beat = atomic_load(&words->beat_ns);
  const struct timespec look = {0, LOOK_NS};
  *claim = atomic_load(&words->claim);
  while (*claim != 0 && icl_now_ns() < end) {
    if (atomic_load(&words->claim) != *claim || atomic_load(&words->beat_ns) != beat) return true;
    nanosleep(&look, NULL);
  }
  return false;
}

static icl_status write_pod(const struct icl_pciwin_place* place, void* base, struct icl_window* w, const char* text,
                            const struct icl_graph* graph, const struct icl_routes* routes) {
  w->base = base;
  w->outside = true;
  w->bytes = icl_window_lay_out(w);
  if (has_pod(base))
    return icl_fail(ICL_ERR_BUSY, "pciwin: the window of %s has a pod already: icl-pod destroy pciwin:%s", place->name,
                    place->name);
  if (w->bytes > place->bytes)
    return icl_fail(ICL_ERR_INVALID, "pciwin: this pod needs a window of %llu bytes, and %s has %llu",
                    (unsigned long long)w->bytes, place->name, (unsigned long long)place->bytes);
  memset(base, 0, w->bytes);
  icl_plan_write(w, text, graph, routes);
  return ICL_OK;
}

icl_status icl_pciwin_create(const char* where, const char* text, const struct icl_routes* routes) {
  const struct icl_shape defaults = {.channels = 2, .mtu = 4096, .credits = 16, .quads = 1, .limit_ms = 100, .silent_ms = 3000,
                                     .memory = 64 << 20};
  struct icl_graph* graph = NULL;
  struct icl_routes* made = NULL;
  struct icl_window window = {.base = NULL};
  struct icl_pciwin_place place;
  void* base = NULL;
  if (where == NULL || text == NULL) return icl_fail(ICL_ERR_INVALID, "icl_pciwin_create: NULL");
  icl_status status = icl_pod_parse_as(text, &defaults, &graph, &window.shape);
  if (status == ICL_OK && routes == NULL) status = icl_routes_make(graph, window.shape.channels, &made);
  if (status == ICL_OK && routes != NULL && icl_routes_chips(routes) != window.shape.chips)
    status = icl_fail(ICL_ERR_INVALID, "routes of %u chips are not for a pod of %u", icl_routes_chips(routes),
                      window.shape.chips);
  if (status == ICL_OK) status = icl_pciwin_find(where, &place);
  if (status == ICL_OK) status = map(&place, &base);
  if (status == ICL_OK) {
    status = write_pod(&place, base, &window, text, graph, routes == NULL ? made : routes);
    munmap(base, place.bytes);
  }
  icl_graph_free(graph);
  icl_routes_free(made);
  return status;
}

icl_status icl_pciwin_destroy(const char* where) {
  struct icl_pciwin_place place;
  struct icl_window window;
  uint64_t claim;
  if (where == NULL) return icl_fail(ICL_ERR_INVALID, "icl_pciwin_destroy: NULL");
  icl_status status = icl_pciwin_map(where, &place, &window);
  if (status != ICL_OK) return status;
  for (uint32_t chip = 0; status == ICL_OK && chip < window.shape.chips; chip++)
    if (icl_pciwin_is_owned(&window, chip, &claim))
      status = icl_fail(ICL_ERR_BUSY, "pciwin: chip %u of %s runs: end its process %d first", chip, place.name,
                        atomic_load(&icl_chip_words(&window, chip)->pid));
  if (status == ICL_OK) atomic_store((_Atomic uint64_t*)(void*)window.base, 0);
  icl_pciwin_unmap(&window);
  return status;
}
