#include "rdma/explain.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace plait::rdma {

namespace {

constexpr std::string_view kBug = "a bug in plait, or in the device's driver";
constexpr std::string_view kReport =
    "report it, with the log of PLAIT_LOG=debug and the versions of driver and firmware";
constexpr std::string_view kPeerFailed = "look at the peer's error: it failed first";

// As in enum ibv_wc_status, in its order.
constexpr auto kExplanations = std::to_array<Explanation>({
    {IBV_WC_SUCCESS, Code::ok, "nothing is wrong", "nothing need be done"},
    {IBV_WC_LOC_LEN_ERR, Code::internal,
     "the transfer is longer than the device takes, or than what was posted for it", kReport},
    {IBV_WC_LOC_QP_OP_ERR, Code::internal, "this side's queue pair cannot do this operation", kReport},
    {IBV_WC_LOC_EEC_OP_ERR, Code::internal, "an end-to-end context of this side is in a wrong state",
     kReport},
    {IBV_WC_LOC_PROT_ERR, Code::invalid, "local memory is not covered by its registration",
     "do not unmap or free memory while its region lives, nor get into memory that is read-only"},
    {IBV_WC_WR_FLUSH_ERR, Code::peer, "the queue pair had failed or was closed before this was done",
     "look at the first error of this endpoint, and at the peer's"},
    {IBV_WC_MW_BIND_ERR, Code::internal, "a memory window could not be bound", kReport},
    {IBV_WC_BAD_RESP_ERR, Code::internal, "the peer's device answered with something unexpected",
     "compare firmware and driver of both hosts"},
    {IBV_WC_LOC_ACCESS_ERR, Code::invalid, "the peer wrote where this side's memory may not be written",
     kPeerFailed},
    {IBV_WC_REM_INV_REQ_ERR, Code::invalid,
     "the peer's device takes no such request: too long, or of a kind that its queue pair is not open for",
     "use the same plait and the same options on all ranks"},
    {IBV_WC_REM_ACCESS_ERR, Code::auth,
     "the peer's device refused access to its memory: out of bounds, without the right, or its region was "
     "taken back",
     "keep a region until its peers are done with it; look whether the peer failed before"},
    {IBV_WC_REM_OP_ERR, Code::peer, "the peer's device could not finish the request", kPeerFailed},
    {IBV_WC_RETRY_EXC_ERR, Code::peer,
     "the peer did not answer: its process has gone, its host or port is down, or the fabric loses packets",
     "look at the peer, at the port (ibv_devinfo, rdma statistic), and with RoCE at flow control (PFC, ECN), "
     "the GID and "
     "routes; a slow fabric may need a longer timeout"},
    {IBV_WC_RNR_RETRY_EXC_ERR, Code::internal,
     "the peer had no receive for a signal, though it gave credit for one", kReport},
    {IBV_WC_LOC_RDD_VIOL_ERR, Code::internal, "a reliable datagram domain of this side is another", kReport},
    {IBV_WC_REM_INV_RD_REQ_ERR, Code::internal, "the peer refused a reliable datagram", kReport},
    {IBV_WC_REM_ABORT_ERR, Code::peer, "the peer aborted the operation", kPeerFailed},
    {IBV_WC_INV_EECN_ERR, Code::internal, "an end-to-end context has a wrong number", kReport},
    {IBV_WC_INV_EEC_STATE_ERR, Code::internal, "an end-to-end context is in a wrong state", kReport},
    {IBV_WC_FATAL_ERR, Code::system, "the device failed",
     "look at the kernel's log (dmesg); the driver may need a reset"},
    {IBV_WC_RESP_TIMEOUT_ERR, Code::peer, "the peer's device did not answer in time", kPeerFailed},
    {IBV_WC_GENERAL_ERR, Code::system, "the device gave no reason", "look at the kernel's log (dmesg)"},
    {IBV_WC_TM_ERR, Code::internal, "matching of tags failed, which plait does not use", kReport},
    {IBV_WC_TM_RNDV_INCOMPLETE, Code::internal, "matching of tags was not finished, which plait does not use",
     kReport},
});
constexpr Explanation kUnknown{IBV_WC_GENERAL_ERR, Code::system, kBug, kReport};

}  // namespace

const Explanation& explain(ibv_wc_status status) noexcept {
  const auto found = std::ranges::find(kExplanations, status, &Explanation::status);
  return found == kExplanations.end() ? kUnknown : *found;
}

EventExplanation explain(ibv_event_type type) noexcept {
  switch (type) {
    case IBV_EVENT_QP_ACCESS_ERR:
      return {Scope::queue_pair, Code::auth, "tried to reach memory that it may not, or that was taken back"};
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
      return {Scope::queue_pair, Code::peer, "sent what its queue pair does not take, or the device failed"};
    case IBV_EVENT_PORT_ERR:
      return {Scope::port, Code::system,
              "the port went down; look at the cable, the switch, the interface (ip link)"};
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
      return {Scope::device, Code::system,
              "the device or its driver failed; look at the kernel's log (dmesg)"};
    case IBV_EVENT_GID_CHANGE:
      return {Scope::warning, Code::ok, "the addresses of the port changed: endpoints may lose their peers"};
    default:
      return {Scope::note, Code::ok, "nothing fails by it"};
  }
}

std::string_view name_of(ibv_wr_opcode opcode) noexcept {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
      return "RDMA_WRITE";
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return "RDMA_WRITE_WITH_IMM";
    case IBV_WR_RDMA_READ:
      return "RDMA_READ";
    case IBV_WR_SEND:
      return "SEND";
    case IBV_WR_SEND_WITH_IMM:
      return "SEND_WITH_IMM";
    case IBV_WR_BIND_MW:
      return "BIND_MW";
    default:
      return "another operation";
  }
}

std::string sentence(ibv_wc_status status, std::string_view operation) {
  const Explanation& e = explain(status);
  return std::string(operation) + " failed: " + ibv_wc_status_str(status) + " (" + std::to_string(status) +
         "): " + std::string(e.cause) + "; " + std::string(e.advice);
}

Status registration_failed(int error, size_t bytes, std::string_view device) {
  std::string what = std::string(device) + ": registering " + std::to_string(bytes) + " bytes of memory";
  if (error == EFAULT) what += " (it must be mapped; it must be writable where peers may write)";
  if (error == EOPNOTSUPP || error == ENOSYS) what += " (neither the device nor its driver can)";
  rlimit limit{};
  if ((error == ENOMEM || error == EPERM) && getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    what += limit.rlim_cur == RLIM_INFINITY
                ? " (memory is not limited: the device may have no more room for registrations)"
                : " (memory that may be locked is limited to " + std::to_string(limit.rlim_cur >> 10) +
                      " KiB, ulimit -l: ask for \"unlimited\")";
  }
  const Status status = Status::system(error, what);
  const bool unsupported = error == EOPNOTSUPP || error == ENOSYS;
  const Code code = unsupported ? Code::unsupported : error == ENOMEM ? Code::memory : status.code();
  return Status(code, std::string(status.text()));
}

}  // namespace plait::rdma
