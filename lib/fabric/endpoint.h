// An endpoint of reliable datagrams to one peer, with a completion queue and a table of addresses of its own:
// so closing it ends all that could come through it, and nothing else. One thread at a time.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include "base/bytes.h"
#include "fabric/device.h"
#include "fabric/neighbours.h"

namespace plait::fabric {

constexpr size_t kQueued = 1024;  // completions that a queue is made for

class Endpoint {
 public:
  // From now on it is reached under address(). The device must outlive it.
  Status open(const Device& device);
  // Finds the peer; the connection is made by what is sent first. Code::invalid for what the provider does
  // not take, Code::peer where the peer was one of this process, and is closed.
  Status meet(ByteView address);
  // Nothing comes through it any more, and nothing that was given to it is touched. In a forked child it is
  // its parent's, and goes on.
  void close() noexcept;
  ~Endpoint() { close(); }

  bool is_open() const noexcept { return ep_ != nullptr; }
  const Bytes& address() const noexcept { return address_; }
  // As text, e.g. "fi_sockaddr_in://10.0.0.1:4711"; empty: nobody was met.
  std::string peer_text() const;

  fid_ep* ep() const noexcept { return ep_.get(); }
  fid_cq* queue() const noexcept { return cq_.get(); }
  fi_addr_t peer() const noexcept { return peer_; }

  // Calls `send`, which sends to the peer; -FI_ENOTCONN where it was one of this process, and is closed.
  template <class Send>
  ssize_t to_peer(Send send) const {
    if (network_) return send();
    const auto lock = Neighbours::all().lock();
    return Neighbours::all().is_gone(their_address_) ? -FI_ENOTCONN : send();
  }

 private:
  Status open_parts(const Device& device);
  Status find_address();

  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  Fid<fid_ep> ep_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  bool network_ = true;
  Bytes address_, their_address_;
};

}  // namespace plait::fabric
