/* QEMU's ivshmem-plain: BAR 2 is memory that all machines with this backend see. BAR 0 has registers for interrupts, which the plain
 * kind does not have. */
#include "registers.h"

extern const struct icl_pciwin_registers icl_pciwin_ivshmem;
const struct icl_pciwin_registers icl_pciwin_ivshmem = {
    .name = "ivshmem-plain",
    .vendor = 0x1af4,
    .device = 0x1110,
    .bar = 2,
    .from = 0,
    .bytes = 0,
};
