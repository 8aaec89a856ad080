/* Memory of chips, host memory known to them, and exports of both. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

#define PAGE 4096u

/* `count` free pages in a row, marked as used; -1: there are none. Under the chip's lock. */
static int64_t take_pages(struct icl_chip* chip, uint64_t count) {
  const uint64_t all = chip->engine->window.shape.memory / PAGE;
  uint64_t run = 0;
  for (uint64_t i = 0; i < all; i++) {
    run = chip->pages[i] != 0 ? 0 : run + 1;
    if (run < count) continue;
    memset(chip->pages + i + 1 - count, 1, count);
    chip->free_bytes -= count * PAGE;
    return (int64_t)(i + 1 - count);
  }
  return -1;
}

static void give_pages(struct icl_chip* chip, uint64_t first, uint64_t count) {
  memset(chip->pages + first, 0, count);
  chip->free_bytes += count * PAGE;
}

static icl_status own_chip(struct icl_engine* e, uint32_t number, struct icl_chip** chip) {
  *chip = icl_owned_chip(e, number);
  return *chip != NULL ? ICL_OK : icl_fail(ICL_ERR_NO_DEVICE, "chip %u is not this device's", number);
}

static icl_status add(struct icl_chip* chip, void* base, uint64_t bytes, bool of_chip, struct icl_memory** memory) {
  struct icl_chip_memory* m = calloc(1, sizeof *m);
  if (m == NULL) return icl_fail(ICL_ERR_NO_MEMORY, "no memory for a handle");
  *m = (struct icl_chip_memory){.base = {chip->engine->base.driver, &chip->engine->base, chip->number, base, bytes},
                                .chip = chip, .nonce = icl_nonce(), .of_chip = of_chip};
  const struct icl_area area = {.base = base, .bytes = bytes, .nonce = m->nonce};
  pthread_mutex_lock(&chip->lock);
  const icl_status status = icl_area_add(&chip->memory, &area, &m->slot);
  pthread_mutex_unlock(&chip->lock);
  if (status != ICL_OK) {
    free(m);
    return status;
  }
  atomic_fetch_add(&chip->engine->objects, 1);
  *memory = &m->base;
  return ICL_OK;
}

icl_status icl_memory_alloc(struct icl_device* device, uint32_t number, uint64_t bytes, struct icl_memory** memory) {
  struct icl_engine* e = icl_engine_of(device);
  struct icl_chip* chip;
  icl_status status = own_chip(e, number, &chip);
  if (status != ICL_OK) return status;
  const uint64_t pages = (bytes + PAGE - 1) / PAGE;
  pthread_mutex_lock(&chip->lock);
  const uint64_t left = chip->free_bytes;
  const int64_t first = take_pages(chip, pages);
  pthread_mutex_unlock(&chip->lock);
  if (first < 0)
    return icl_fail(ICL_ERR_NO_MEMORY, "chip %u has no %llu bytes in one piece; %llu are free", number,
                    (unsigned long long)bytes, (unsigned long long)left);
  unsigned char* base = chip->base + (uint64_t)first * PAGE;
  if (e->back != NULL && !e->window.outside) status = e->back(e, (uint64_t)(base - e->window.base), pages * PAGE);
  if (status == ICL_OK) {
    memset(base, 0, pages * PAGE);
    status = add(chip, base, bytes, true, memory);
  }
  if (status == ICL_OK) return ICL_OK;
  pthread_mutex_lock(&chip->lock);
  give_pages(chip, (uint64_t)first, pages);
  pthread_mutex_unlock(&chip->lock);
  return status;
}

icl_status icl_memory_register(struct icl_device* device, uint32_t number, uint32_t kind, void* base, uint64_t bytes,
                               struct icl_memory** memory) {
  struct icl_chip* chip;
  if (kind != ICL_HOST_POINTER)
    return icl_fail(ICL_ERR_UNSUPPORTED, "driver %s knows no memory of kind %u", device->driver->name, kind);
  const icl_status status = own_chip(icl_engine_of(device), number, &chip);
  return status != ICL_OK ? status : add(chip, base, bytes, false, memory);
}

icl_status icl_memory_free(struct icl_memory* memory) {
  struct icl_chip_memory* m = (struct icl_chip_memory*)(void*)memory;
  struct icl_chip* chip = m->chip;
  const uint32_t exports = atomic_load(&m->exports);
  if (exports > 0) return icl_fail(ICL_ERR_BUSY, "%u exports of this memory exist still: revoke them first", exports);
  pthread_mutex_lock(&chip->lock);
  chip->memory.areas[m->slot].used = 0;
  if (m->of_chip)
    give_pages(chip, (uint64_t)((unsigned char*)m->base.mapped - chip->base) / PAGE,
               (m->base.bytes + PAGE - 1) / PAGE);
  pthread_mutex_unlock(&chip->lock);
  atomic_fetch_sub(&chip->engine->objects, 1);
  free(m);
  return ICL_OK;
}

icl_status icl_memory_export(struct icl_memory* memory, uint64_t offset, uint64_t bytes, uint32_t rights,
                             struct icl_exported** exported) {
  struct icl_chip_memory* m = (struct icl_chip_memory*)(void*)memory;
  struct icl_chip_export* x = calloc(1, sizeof *x);
  if (x == NULL) return icl_fail(ICL_ERR_NO_MEMORY, "no memory for a handle");
  *x = (struct icl_chip_export){.base.driver = memory->driver, .memory = m, .nonce = icl_nonce()};
  const struct icl_area area = {.base = (unsigned char*)memory->mapped + offset, .bytes = bytes, .nonce = x->nonce,
                                .rights = rights};
  pthread_mutex_lock(&m->chip->lock);
  const icl_status status = icl_area_add(&m->chip->exports, &area, &x->slot);
  pthread_mutex_unlock(&m->chip->lock);
  if (status != ICL_OK) {
    free(x);
    return status;
  }
  const struct icl_key_fields fields = {memory->chip, x->slot, rights, bytes, x->nonce};
  icl_key_write(&fields, x->base.key);
  atomic_fetch_add(&m->exports, 1);
  *exported = &x->base;
  return ICL_OK;
}

/* Landing takes the chip's lock: once it was ours, nothing lands any more. */
void icl_memory_revoke(struct icl_exported* exported) {
  struct icl_chip_export* x = (struct icl_chip_export*)(void*)exported;
  struct icl_chip* chip = x->memory->chip;
  pthread_mutex_lock(&chip->lock);
  struct icl_area* area = &chip->exports.areas[x->slot];
  if (area->nonce == x->nonce) area->used = 0; /* a reset of the chip may have done so, and another may have the slot */
  pthread_mutex_unlock(&chip->lock);
  atomic_fetch_sub(&x->memory->exports, 1);
  free(x);
}
