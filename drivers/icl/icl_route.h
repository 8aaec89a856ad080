/* Graphs of pods, and static routes over them: how they are made, and the proof that they cannot deadlock. Pure
 * functions of no device; errors, threads and ownership as in icl.h: one thread at a time an object.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A route says, for a chip and a destination, by which port and on which virtual channel a packet leaves. It does not depend on
 * where the packet came from. A packet holds room on its channel, at the far end of a link, until the next channel of its route has
 * room: so routes can deadlock only if those dependencies close a cycle (Dally and Seitz 1987), and icl_routes_check
 * refuses tables that do. Packets for the chip itself are taken without condition. */
#ifndef ICL_ICL_ROUTE_H
#define ICL_ICL_ROUTE_H

#include "icl.h"

#ifdef __cplusplus
extern "C" {
#endif

struct icl_end {
  uint32_t chip, port;
};
struct icl_graph;
struct icl_routes;

/* `chips` 1..ICL_MAX_CHIPS, `ports` a chip 1..ICL_MAX_PORTS, no links yet. */
icl_status icl_graph_new(uint32_t chips, uint32_t ports, struct icl_graph** graph);
/* From one line of text:
 *   ring N | full N | hybrid cube mesh | mesh AxB[xC] | torus AxB[xC] | custom N: 0-1 1-2 0:3-2:0 ...
 * A link of `custom` joins two chips by their lowest free ports, or by those named. Several links may join two chips.
 * ICL_ERR_INVALID says which word. `text` may be any bytes up to its NUL. */
icl_status icl_graph_parse(const char* text, struct icl_graph** graph);
/* As the ports of the device's pod are planned, or say. */
icl_status icl_graph_read(struct icl_device* device, struct icl_graph** graph);
void icl_graph_free(struct icl_graph* graph);
/* Joins two free ports of two chips. ICL_ERR_INVALID, ICL_ERR_BUSY (a port is joined already). */
icl_status icl_graph_join(struct icl_graph* graph, struct icl_end a, struct icl_end b);
/* Takes out the link at `end`, or a chip with all its links (a dead one: no route leads to it). */
icl_status icl_graph_cut(struct icl_graph* graph, struct icl_end end);
icl_status icl_graph_remove(struct icl_graph* graph, uint32_t chip);
uint32_t icl_graph_chips(const struct icl_graph* graph); /* 0 of NULL */
uint32_t icl_graph_ports(const struct icl_graph* graph);
/* The far end; {ICL_ANY, ICL_ANY} where nothing is joined or `end` is none. */
struct icl_end icl_graph_far(const struct icl_graph* graph, struct icl_end end);

/* Empty: no chip reaches another. */
icl_status icl_routes_new(uint32_t chips, struct icl_routes** routes);
void icl_routes_free(struct icl_routes* routes);
uint32_t icl_routes_chips(const struct icl_routes* routes);
icl_status icl_routes_set(struct icl_routes* routes, uint32_t chip, uint32_t to, uint32_t port, uint32_t channel);
/* ICL_ERR_UNREACHABLE: none is set. */
icl_status icl_routes_get(const struct icl_routes* routes, uint32_t chip, uint32_t to, uint32_t* port, uint32_t* channel);
/* Lines "CHIP TO PORT CHANNEL", decimal; # begins a comment. ICL_ERR_INVALID names the line. */
icl_status icl_routes_parse(const char* text, uint32_t chips, struct icl_routes** routes);

/* Routes between all chips that the graph joins, without deadlock on `channels` (1..ICL_MAX_CHANNELS) virtual channels.
 *   mesh, torus, ring, as parsed and whole: dimension after dimension; in rings the channel changes at the dateline, so
 *     they need 2 channels; shortest.
 *   any other: shortest, each destination on the first channel where it closes no cycle; if these run out, up*\/down* from the chip
 *     in the middle, which needs 1 channel and detours. */
icl_status icl_routes_make(const struct icl_graph* graph, uint32_t channels, struct icl_routes** routes);
/* ICL_OK: each route that is set arrives over links that exist, on channels below `channels`, and none can deadlock.
 * ICL_ERR_UNREACHABLE: a route runs in a circle, or ends where none is set. ICL_ERR_CYCLE: the sentence spells the
 * cycle: "chip 0 port 1 vc 0 -> chip 1 port 1 vc 0 -> ...". ICL_ERR_INVALID: a port or channel that does not exist.
 * Time: chips squared; 1024 chips, well under a second. */
icl_status icl_routes_check(const struct icl_graph* graph, const struct icl_routes* routes, uint32_t channels);

/* Gives the pod its table, after icl_routes_check against the pod's graph. Before any queue of the pod is connected:
 * ICL_ERR_BUSY where this device has connected queues. Drivers that cannot: ICL_ERR_UNSUPPORTED. */
icl_status icl_set_routes(struct icl_device* device, const struct icl_routes* routes);
/* The device's route from one chip to another, hop by hop: fills up to `room` ends by which it leaves, and returns how
 * many hops there are (0: `from` is `to`), or an error. A route is at most ICL_MAX_CHIPS hops long. */
int32_t icl_route_hops(struct icl_device* device, uint32_t from, uint32_t to, struct icl_end* hops, size_t room);

#ifdef __cplusplus
}
#endif
#endif
