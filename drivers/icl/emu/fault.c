/* Faults on order. */
#include <string.h>

#include "../engine/engine.h"
#include "pod.h"

static bool take_word(const char** text, const char* word) {
  const size_t length = strlen(word);
  if (strncmp(*text, word, length) != 0) return false;
  *text += length;
  return true;
}

static bool take_number(const char** text, uint64_t most, uint32_t* value) {
  uint64_t sum = 0;
  if (**text < '0' || **text > '9') return false;
  for (; **text >= '0' && **text <= '9'; ++*text)
    if ((sum = sum * 10 + (uint64_t)(**text - '0')) > most) return false;
  *value = (uint32_t)sum;
  return true;
}

static bool chip_order(const struct icl_window* w, const char* at) {
  uint32_t chip;
  if (!take_number(&at, w->shape.chips - 1, &chip)) return false;
  struct icl_chip_words* words = icl_chip_words(w, chip);
  if (strcmp(at, " dead") == 0)
    atomic_store(&words->kill, 1);
  else if (strcmp(at, " stuck") == 0)
    atomic_store(&words->stuck_doorbell, 1);
  else if (strcmp(at, " unstuck") == 0)
    atomic_store(&words->stuck_doorbell, 0);
  else
    return false;
  for (uint32_t port = 0; port < w->shape.ports; port++) icl_words_wake(icl_port_words(w, chip, port));
  return true;
}

struct order {
  uint64_t cut_ns;
  uint32_t quads, errors, seed;
  enum { CUT, DEGRADE, ERRORS } kind;
};

static bool parse_link_order(const char* at, struct order* o) {
  *o = (struct order){.seed = 1};
  if (take_word(&at, " cut ")) {
    o->kind = CUT;
    return icl_take_quantity(&at, icl_units_time, UINT64_C(600000000000), &o->cut_ns) && *at == '\0';
  }
  if (take_word(&at, " degrade ")) {
    o->kind = DEGRADE;
    return take_number(&at, ICL_MAX_QUADS - 1, &o->quads) && *at == '\0';
  }
  o->kind = ERRORS;
  if (!take_word(&at, " errors ") || !take_number(&at, 1000000, &o->errors)) return false;
  return *at == '\0' || (take_word(&at, " ") && take_number(&at, UINT32_MAX, &o->seed) && *at == '\0');
}

static void apply(struct icl_port_words* words, const struct order* o) {
  if (o->kind == CUT) atomic_store(&words->cut_until_ns, icl_now_ns() + o->cut_ns);
  if (o->kind == DEGRADE) atomic_store(&words->quads_cut, o->quads);
  if (o->kind == ERRORS) {
    atomic_store(&words->seed, o->seed);
    atomic_store(&words->errors_ppm, o->errors);
  }
  icl_words_wake(words);
}

static bool link_order(const struct icl_window* w, const char* at) {
  uint32_t chip, port, far_chip, far_port;
  struct order order;
  if (!take_number(&at, w->shape.chips - 1, &chip) || !take_word(&at, ":") ||
      !take_number(&at, w->shape.ports - 1, &port) || !icl_window_far(w, chip, port, &far_chip, &far_port) ||
      !parse_link_order(at, &order))
    return false;
  apply(icl_port_words(w, chip, port), &order);
  apply(icl_port_words(w, far_chip, far_port), &order);
  return true;
}

icl_status icl_emu_fault(const char* path, const char* order) {
  int fd;
  struct icl_window window;
  if (path == NULL || order == NULL) return icl_fail(ICL_ERR_INVALID, "icl_emu_fault: NULL");
  const icl_status status = icl_pod_map(path, &fd, &window);
  if (status != ICL_OK) return status;
  const char* at = order;
  const bool done = take_word(&at, "chip ") ? chip_order(&window, at) : take_word(&at, "link ") && link_order(&window, at);
  icl_pod_unmap(fd, &window);
  return done ? ICL_OK
              : icl_fail(ICL_ERR_INVALID, "'%.40s' is no fault of this pod (chip 3 dead, link 0:1 cut 50ms, ...)", order);
}
