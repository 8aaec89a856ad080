/* What goes over a link: a header of 128 bytes and up to an MTU of payload. Little-endian. docs/icl.md has the offsets. */
#ifndef ICL_ENGINE_PACKET_H
#define ICL_ENGINE_PACKET_H

#include <stdint.h>

enum icl_packet_kind {
  ICL_PACKET_WRITE = 1, /* payload to (slot, offset), and where SIGNALS, `add` to (signal_slot, signal_offset) */
  ICL_PACKET_READ,      /* asks for `length` bytes of (slot, offset) */
  ICL_PACKET_DATA,      /* the answer: payload is at `offset` of what the request `request` asked for */
  ICL_PACKET_ACK,       /* all before `sequence` has landed */
  ICL_PACKET_REFUSED    /* with `status`; nothing more is taken */
};
enum { ICL_PACKET_SIGNALS = 1 };

struct icl_packet {
  /* Of this hop. */
  uint32_t crc;        /* CRC-32C of all that follows and the payload */
  uint32_t generation; /* of the link's training */
  uint32_t link_sequence;
  uint8_t channel, kind, flags, hops;
  /* From end to end. */
  uint16_t from_chip, to_chip, from_queue, to_queue;
  uint64_t to_nonce; /* of the queue it is for */
  uint32_t sequence; /* requests: counts the packets of the queue */
  uint32_t bytes;    /* of payload */
  uint32_t slot, signal_slot;
  uint64_t nonce, signal_nonce; /* of the exports */
  uint64_t offset, signal_offset;
  uint64_t add;
  uint64_t length;
  uint32_t request;
  int32_t status;
  uint8_t reserved[24];
};
_Static_assert(sizeof(struct icl_packet) == 128, "the header has no padding");

/* What a CRC covers begins here. */
#define ICL_PACKET_CRC_FROM 4

#endif
