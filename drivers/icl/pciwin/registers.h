/* What differs between PCI devices with a window: a file each, such as ivshmem.c, of constants alone. */
#ifndef ICL_PCIWIN_REGISTERS_H
#define ICL_PCIWIN_REGISTERS_H

#include <stdint.h>

/* The window is memory that all machines on the device see: ordinary loads and stores in order, of 64 bits whole, and for the
 * claim of a chip alone compare-and-swap. */
struct icl_pciwin_registers {
  const char* name;          /* for messages */
  uint16_t vendor, device;   /* as PCI says */
  uint32_t bar;              /* that holds the window */
  uint64_t from;             /* where the window begins in it: a multiple of 4096 */
  uint64_t bytes;            /* of the window; 0: to the end of the BAR */
};

/* Ended by NULL: find.c. */
extern const struct icl_pciwin_registers* const icl_pciwin_known[];

#endif
