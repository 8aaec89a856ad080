#include "fabric/explain.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <cerrno>
#include <cstdlib>

namespace plait::fabric {

std::string reason(long error) { return fi_strerror(int(std::abs(error))); }

const char* advice(int error) noexcept {
  switch (std::abs(error)) {
    case FI_ECONNREFUSED:
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ENOTCONN:
    case FI_ESHUTDOWN:
    case EPIPE:
    case FI_EIO:
      return "it exited, was killed or closed this endpoint, or took back the memory: look at what it said "
             "last";
    case FI_ETIMEDOUT:
    case FI_EHOSTUNREACH:
    case FI_ENETUNREACH:
    case FI_EHOSTDOWN:
      return "its host is down, the link is cut or a firewall is in between: try fi_pingpong between the two "
             "hosts";
    case FI_EACCES:
    case FI_EKEYREJECTED:
    case FI_ENOKEY:
    case FI_EFAULT:
      return "the peer took back the memory, or its rights do not allow this";
    case FI_ENOMEM:
    case FI_ENOBUFS:
      return "memory or the device's resources ran out: look at ulimit -l";
    case FI_ECANCELED:
      return "the connection ended before it was sent";
    default:
      return "FI_LOG_LEVEL=warn makes the provider say more";
  }
}

}  // namespace plait::fabric
