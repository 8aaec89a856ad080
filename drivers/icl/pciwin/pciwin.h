/* Pods in the window of a PCI device: memory in a BAR, which several machines (or virtual machines) see. The driver "pciwin" opens
 * them, each machine its chips. How a pod is laid into a window. Errors, threads and ownership as in icl.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * `where`, everywhere: what stands behind "pciwin:" in an address, without chips:
 *   ""             the first device that this driver knows (ivshmem-plain, 1af4:1110), by PCI address
 *   0000:00:04.0   that device
 *   /PATH          a file that is the window, for processes of one machine
 * Devices are looked for in /sys/bus/pci/devices, or where ICL_PCIWIN_SYSFS says. Needs the rights of root there. */
#ifndef ICL_PCIWIN_PCIWIN_H
#define ICL_PCIWIN_PCIWIN_H

#include "../icl_route.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lays a pod into the window, from one machine, once. `text` as in emu/emu.h; mbps and latency are 0 where it does not say: the
 * window is as fast as it is; memory, 64M, is each machine's own. `routes` as in emu/emu.h. ICL_ERR_BUSY: a pod is there already;
 * ICL_ERR_INVALID: it does not fit. */
icl_status icl_pciwin_create(const char* where, const char* text, const struct icl_routes* routes);
/* Takes the pod out of the window. ICL_ERR_BUSY: a chip of it runs; waits up to 3 s for a sign of one that is claimed. */
icl_status icl_pciwin_destroy(const char* where);

#ifdef __cplusplus
}
#endif
#endif
