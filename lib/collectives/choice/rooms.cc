#include "collectives/choice/rooms.h"

#include <algorithm>

namespace plait::collectives {

namespace {

constexpr double kNano = 1e-9, kMicro = 1e-6;

// Fitted to an AMD EPYC with AVX-512 of which two cores were there, where other work ran, so to the least of
// several runs, and to docs/performance.md:
//
//   plait-run -n N plait-perf allreduce -b 8 -e 64M -f 4 -c 0 -A ALGORITHM     N: 2, 4, 8; every ALGORITHM
//   PLAIT_HOST_ID=h$RANK before plait-perf joins the ranks by TCP
//
// 8 bytes tell latency + send + recv; what 1 KiB takes more, the bytes of lines; 64 KiB to 4 MiB of `direct`,
// those of mapped memory; more ranks than cores, task_switch. As the real machine delivers:
// machine/real/call.h has the sizes, of which those of lines have grown since these were measured.
constexpr Delivery kFewLines{.most = 256,
                             .latency = 60 * kNano,
                             .send = 22 * kNano,
                             .recv = 22 * kNano,
                             .send_byte = .05 * kNano,
                             .recv_byte = .07 * kNano};
constexpr Delivery kMapped{.latency = 70 * kNano,
                           .send = 25 * kNano,
                           .recv = 25 * kNano,
                           .recv_byte = .004 * kNano,
                           .acknowledged = true,
                           .fused = true,
                           .placed = true};
// For programs that need credits: what stays where it is does not do.
constexpr Delivery kManyLines{.most = 1024,
                              .latency = 60 * kNano,
                              .send = 22 * kNano,
                              .recv = 22 * kNano,
                              .send_byte = .05 * kNano,
                              .recv_byte = .07 * kNano};
constexpr Delivery kParts{.latency = 100 * kNano,
                          .send = 200 * kNano,
                          .recv = 250 * kNano,
                          .send_byte = .04 * kNano,
                          .recv_byte = .02 * kNano,
                          .piece = 16 * 1024,
                          .fused = true};

// Where ranks share cores, of messages up to Call::eager_bytes.
constexpr Delivery kEagerLines{.most = 896,
                               .latency = 60 * kNano,
                               .send = 22 * kNano,
                               .recv = 22 * kNano,
                               .send_byte = .05 * kNano,
                               .recv_byte = .07 * kNano};
constexpr Delivery kEagerParts{.most = 4096,
                               .latency = 70 * kNano,
                               .send = 30 * kNano,
                               .recv = 30 * kNano,
                               .send_byte = .015 * kNano,
                               .recv_byte = .01 * kNano};
constexpr Delivery kEagerMost{.latency = 70 * kNano,
                              .send = 50 * kNano,
                              .recv = 50 * kNano,
                              .send_byte = .03 * kNano,
                              .recv_byte = .02 * kNano,
                              .piece = 16 * 1024,
                              .fused = true};

// A system call at either end and the kernel's network between.
constexpr Delivery kTcpLines{
    .most = 112, .latency = 3.2 * kMicro, .send = 1.4 * kMicro, .recv = 1.4 * kMicro};
constexpr Delivery kTcpParts{.latency = 3.2 * kMicro,
                             .send = 1.6 * kMicro,
                             .recv = 1.6 * kMicro,
                             .send_byte = .08 * kNano,
                             .recv_byte = .11 * kNano,
                             .byte = .1 * kNano,
                             .piece = 64 * 1024,
                             .fused = true};

// What the back end says of itself (transport/icl): a descriptor each way and an acknowledgement. Bytes cost
// the cores only where the mailbox's parts are filled and emptied.
constexpr Delivery kChipLines{.most = 112, .latency = 5 * kMicro, .send = 1 * kMicro, .recv = .5 * kMicro};
constexpr Delivery kChipParts{.latency = 5 * kMicro,
                              .send = 1 * kMicro,
                              .recv = .5 * kMicro,
                              .send_byte = .04 * kNano,
                              .recv_byte = .02 * kNano,
                              .byte = .01 * kNano,
                              .piece = 16 * 1024,
                              .fused = true};

}  // namespace

Room room_of(const Seating& seating) {
  Room room;
  room.ranks = seating.ranks;
  room.host_of = seating.host_of;
  room.cores = seating.cores;
  room.commons = seating.commons;
  room.inside.deliveries = {kFewLines, kMapped, kManyLines, kParts};
  if (room.cores > 0) room.inside.deliveries = {kEagerLines, kEagerParts, kMapped, kEagerMost};
  room.between.deliveries = {kTcpLines, kTcpParts};
  room.between.host_byte = .1 * kNano;
  if (seating.link_Bps > 0) {
    const double line = 1 / seating.link_Bps;
    for (Delivery& d : room.between.deliveries) d.byte = std::max(d.byte, line);
    room.between.host_byte = std::max(room.between.host_byte, line);
  }
  if (!seating.pod_of.empty()) {
    room.pod_of = seating.pod_of;
    room.chips.deliveries = {kChipLines, kChipParts};
    if (seating.chip_link_Bps > 0) {
      for (Delivery& d : room.chips.deliveries) d.byte = std::max(d.byte, 1 / seating.chip_link_Bps);
    }
  }
  room.fold = .009 * kNano;
  room.copy = .012 * kNano;
  room.store = .008 * kNano;
  room.task_switch = .75 * kMicro;
  room.cold = 80 * kNano;
  return room;
}

}  // namespace plait::collectives
