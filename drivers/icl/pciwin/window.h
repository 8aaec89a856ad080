/* Inside pciwin: devices in sysfs, and their windows. */
#ifndef ICL_PCIWIN_WINDOW_H
#define ICL_PCIWIN_WINDOW_H

#include "../engine/window.h"
#include "registers.h"

struct icl_pciwin_place {
  char name[108];  /* a PCI address, or a file's path */
  char path[256];  /* of what is mapped */
  uint64_t from, bytes;
};

/* find.c: turns `where` (pciwin.h) into a place, and enables the device. */
icl_status icl_pciwin_find(const char* where, struct icl_pciwin_place* place);
/* window.c: maps the window and looks at the pod in it. ICL_ERR_NO_DEVICE: none is there. */
icl_status icl_pciwin_map(const char* where, struct icl_pciwin_place* place, struct icl_window* window);
void icl_pciwin_unmap(struct icl_window* window);
/* Whether the owner of a chip lives: waits for a sign of it for `silent` of the pod, at most 3 s. */
bool icl_pciwin_is_owned(const struct icl_window* window, uint32_t chip, uint64_t* claim);

#endif
