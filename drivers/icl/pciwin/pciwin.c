/* The driver "pciwin": chips whose engines are threads, in a pod that lies in the window of a PCI device. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../engine/engine.h"
#include "../engine/plan.h"
#include "window.h"

#define SETTLE_NS 5000000L

struct pciwin {
  struct icl_engine engine; /* first */
  struct icl_pciwin_place place;
  uint64_t nonce; /* in the claims of its chips */
};

extern const struct icl_driver icl_pciwin_driver;
static struct icl_driver calls; /* the engine's, with open and close */
static pthread_once_t calls_made = PTHREAD_ONCE_INIT;

static bool owns(struct icl_engine* engine, uint32_t chip) {
  return atomic_load(&icl_chip_words(&engine->window, chip)->claim) == ((struct pciwin*)engine)->nonce;
}

/* No system tells of other machines: who gives no sign is gone, until it gives one. */
static bool owner_lives(struct icl_engine* engine, uint32_t chip) { return !icl_chip_silent(engine, chip, 0); }

static void let_go(struct pciwin* p, const uint32_t* chips, uint32_t owned) {
  for (uint32_t i = 0; i < owned; i++)
    if (owns(&p->engine, chips[i])) atomic_store(&icl_chip_words(&p->engine.window, chips[i])->claim, 0);
}

static icl_status busy(const struct pciwin* p, uint32_t chip) {
  return icl_fail(ICL_ERR_BUSY, "chip %u of pciwin:%s is owned already, here or on another machine, by process %d", chip,
                  p->place.name, atomic_load(&icl_chip_words(&p->engine.window, chip)->pid));
}

/* A claim that is taken while we look at an older one, is another's. */
static icl_status claim(struct pciwin* p, const uint32_t* chips, uint32_t owned) {
  for (uint32_t i = 0; i < owned; i++) {
    struct icl_chip_words* words = icl_chip_words(&p->engine.window, chips[i]);
    uint64_t before;
    const bool lives = icl_pciwin_is_owned(&p->engine.window, chips[i], &before);
    if (!lives && atomic_compare_exchange_strong(&words->claim, &before, p->nonce)) continue;
    let_go(p, chips, i);
    return busy(p, chips[i]);
  }
  /* Where compare-and-swap is none toward other machines (QEMU without KVM), the last to write has the chip. */
  const struct timespec settle = {0, SETTLE_NS};
  if (owned > 0) nanosleep(&settle, NULL);
  for (uint32_t i = 0; i < owned; i++) {
    if (owns(&p->engine, chips[i])) continue;
    let_go(p, chips, owned);
    return busy(p, chips[i]);
  }
  return ICL_OK;
}

static icl_status start(struct pciwin* p, const char* list) {
  uint32_t chips[ICL_MAX_CHIPS], owned;
  icl_status status = icl_address_chips("pciwin", list, p->engine.window.shape.chips, chips, &owned);
  if (status == ICL_OK) status = claim(p, chips, owned);
  if (status != ICL_OK) return status;
  status = icl_engine_start(&p->engine, &calls, chips, owned);
  if (status != ICL_OK) let_go(p, chips, owned);
  return status;
}

static icl_status pciwin_open(const char* rest, const struct icl_config* config, struct icl_device** device) {
  struct pciwin* p = calloc(1, sizeof *p);
  char where[108];
  const char* list;
  if (p == NULL) return icl_fail(ICL_ERR_NO_MEMORY, "no memory for a device");
  icl_status status = icl_address_split("pciwin", rest, where, sizeof where, &list);
  if (status == ICL_OK) status = icl_pciwin_map(where, &p->place, &p->engine.window);
  if (status != ICL_OK) {
    free(p);
    return status;
  }
  p->nonce = icl_nonce();
  p->engine.config = *config;
  p->engine.apart = true;
  p->engine.owner_lives = owner_lives;
  p->engine.owns = owns;
  status = start(p, list);
  if (status != ICL_OK) {
    icl_pciwin_unmap(&p->engine.window);
    free(p);
    return status;
  }
  *device = &p->engine.base;
  return ICL_OK;
}

static icl_status pciwin_close(struct icl_device* device) {
  struct pciwin* p = (struct pciwin*)(void*)device;
  const icl_status status = icl_engine_stop(&p->engine);
  if (status != ICL_OK) return status;
  for (uint32_t chip = 0; chip < p->engine.window.shape.chips; chip++) let_go(p, &chip, 1);
  icl_pciwin_unmap(&p->engine.window);
  free(p);
  return ICL_OK;
}

static icl_status pciwin_device_info(struct icl_device* device, struct icl_device_info* info) {
  snprintf(info->address, sizeof info->address, "pciwin:%s", ((struct pciwin*)(void*)device)->place.name);
  return icl_engine_calls.device_info(device, info);
}

static void make_calls(void) {
  calls = icl_engine_calls;
  calls.name = "pciwin";
  calls.open = pciwin_open;
  calls.close = pciwin_close;
  calls.device_info = pciwin_device_info;
}

static icl_status open_first(const char* rest, const struct icl_config* config, struct icl_device** device) {
  pthread_once(&calls_made, make_calls);
  return calls.open(rest, config, device);
}

const struct icl_driver icl_pciwin_driver = {.struct_size = sizeof(struct icl_driver), .name = "pciwin", .open = open_first};
