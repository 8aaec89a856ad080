/* Keys and tickets: little-endian words, with a mark and a version first, reserved bytes zero. */
#include <string.h>

#include "../icl_driver.h"

#define KEY_MARK 0x314b4349u    /* "ICK1" */
#define TICKET_MARK 0x31544349u /* "ICT1" */

struct key {
  uint32_t mark;
  uint32_t chip, slot, rights;
  uint64_t bytes, nonce, reserved;
};
struct ticket {
  uint32_t mark;
  uint32_t chip, queue, incarnation;
  uint64_t nonce, reserved;
};
_Static_assert(sizeof(struct key) == ICL_KEY_BYTES, "no padding");
_Static_assert(sizeof(struct ticket) == ICL_TICKET_BYTES, "no padding");

void icl_key_write(const struct icl_key_fields* f, void* key) {
  const struct key k = {KEY_MARK, f->chip, f->slot, f->rights, f->bytes, f->nonce, 0};
  memcpy(key, &k, sizeof k);
}

icl_status icl_key_read(const void* key, struct icl_key_fields* fields) {
  struct key k;
  memcpy(&k, key, sizeof k);
  if (k.mark != KEY_MARK || k.reserved != 0 || k.chip >= ICL_MAX_CHIPS || k.rights > (ICL_READ | ICL_WRITE | ICL_SIGNAL))
    return icl_fail(ICL_ERR_INVALID, "these bytes are not a key of exported memory");
  *fields = (struct icl_key_fields){k.chip, k.slot, k.rights, k.bytes, k.nonce};
  return ICL_OK;
}

void icl_ticket_write(const struct icl_ticket_fields* f, void* ticket) {
  const struct ticket t = {TICKET_MARK, f->chip, f->queue, f->incarnation, f->nonce, 0};
  memcpy(ticket, &t, sizeof t);
}

icl_status icl_ticket_read(const void* ticket, struct icl_ticket_fields* fields) {
  struct ticket t;
  memcpy(&t, ticket, sizeof t);
  if (t.mark != TICKET_MARK || t.reserved != 0 || t.chip >= ICL_MAX_CHIPS)
    return icl_fail(ICL_ERR_INVALID, "these bytes are not a queue's ticket");
  *fields = (struct icl_ticket_fields){t.chip, t.queue, t.incarnation, t.nonce};
  return ICL_OK;
}
