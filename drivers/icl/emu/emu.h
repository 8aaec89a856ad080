/* Emulated pods: files in shared memory, which the driver "emu" opens. How they are made, and broken on order. Errors, threads and
 * ownership as in icl.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ICL_EMU_EMU_H
#define ICL_EMU_EMU_H

#include "../icl_route.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a pod at `path`, which must not exist, best in /dev/shm. `text`: a graph as icl_graph_parse takes, then options
 * behind a semicolon, in any order:
 *   ring 8; mbps=1000 latency=1us memory=16M
 *   quads=4       lane quads a port, 1..4         mtu=4096     bytes a packet, a multiple of 64
 *   mbps=1000     a quad and direction; 0: as     credits=16   packets of room a virtual channel
 *                 fast as this machine copies     channels=2   virtual channels a link
 *   latency=1us   a hop (ns, us, ms)              limit=100ms  a link lost for longer goes down
 *   memory=16M    of a chip (K, M, G)             silent=1500ms  a chip silent for longer counts as dead
 * `routes`: NULL: icl_routes_make. Else taken as they are, NOT CHECKED, so that a deadlock can be looked at.
 * The file is readable and writable by its owner alone: all processes of a pod are one user's, and trust each other not to
 * cut it short. ICL_ERR_BUSY: `path` exists. */
icl_status icl_emu_create(const char* path, const char* text, const struct icl_routes* routes);
/* Removes the file; processes that have it open keep what they have. */
icl_status icl_emu_destroy(const char* path);

/* Breaks something, now, in a pod that runs. `order`:
 *   chip 3 dead               its engine stops for good, and its process's queues on it fail
 *   chip 3 stuck | unstuck    doorbells are not heard
 *   link 0:1 cut 50ms         of chip 0 port 1, both ends: what is on the wire is lost
 *   link 0:1 degrade 2        two of its quads stop; 0: all work again
 *   link 0:1 errors 1000 [7]  of a million packets a bit turns over in so many, both ways; the seed is 7 */
icl_status icl_emu_fault(const char* path, const char* order);

#ifdef __cplusplus
}
#endif
#endif
