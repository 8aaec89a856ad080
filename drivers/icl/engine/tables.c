/* Tables of memory and of exports: what engines may touch. A slot is used again with another nonce. */
#include "engine.h"

struct icl_area* icl_area_find(struct icl_table* table, uint32_t slot, uint64_t nonce, uint32_t rights, uint64_t offset,
                               uint64_t bytes) {
  if (slot >= table->size) return NULL;
  struct icl_area* area = &table->areas[slot];
  if (area->used == 0 || area->nonce != nonce || (area->rights & rights) != rights) return NULL;
  return offset <= area->bytes && bytes <= area->bytes - offset ? area : NULL;
}

icl_status icl_area_add(struct icl_table* table, const struct icl_area* area, uint32_t* slot) {
  for (uint32_t i = 0; i < table->size; i++) {
    const uint32_t at = (table->hint + i) % table->size;
    if (table->areas[at].used != 0) continue;
    table->areas[at] = *area;
    table->areas[at].used = 1;
    table->hint = at + 1;
    *slot = at;
    return ICL_OK;
  }
  return icl_fail(ICL_ERR_NO_MEMORY, "all %u slots of the chip's table are in use", table->size);
}
