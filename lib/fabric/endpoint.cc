#include "fabric/endpoint.h"

#include <rdma/fi_errno.h>

#include "fabric/explain.h"

namespace plait::fabric {
namespace {

template <class Owner, class Object>
Status opened(Owner& owner, Object* object, int rc, const char* name) {
  if (rc == 0) owner.reset(object);
  return rc == 0 ? Status()
                 : Status(rc == -FI_ENOMEM ? Code::memory : Code::system, name + (": " + reason(rc)));
}

}  // namespace

Status Endpoint::open(const Device& device) {
  network_ = device.choice().network;
  Status status = open_parts(device);
  if (status.ok()) status = find_address();
  if (!status.ok()) {
    return Status(status.code(), "libfabric: " + device.choice().provider() +
                                     ": an endpoint does not open: " + std::string(status.text()));
  }
  if (network_) return {};
  const auto lock = Neighbours::all().lock();
  Neighbours::all().came(address_);
  return {};
}

Status Endpoint::open_parts(const Device& device) {
  fi_info* info = device.choice().info.get();
  fi_av_attr av_attr{};
  av_attr.type = info->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_MAP : info->domain_attr->av_type;
  av_attr.count = 2;
  fid_av* av = nullptr;
  int rc = fi_av_open(device.domain(), &av_attr, &av, nullptr);
  PLAIT_TRY(opened(av_, av, rc, "the table of addresses"));
  fi_cq_attr cq_attr{};
  cq_attr.size = kQueued;
  cq_attr.format = FI_CQ_FORMAT_DATA;
  cq_attr.wait_obj = device.has_fd() ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  rc = fi_cq_open(device.domain(), &cq_attr, &cq, nullptr);
  PLAIT_TRY(opened(cq_, cq, rc, "the completion queue"));
  fid_ep* ep = nullptr;
  rc = fi_endpoint(device.domain(), info, &ep, nullptr);
  PLAIT_TRY(opened(ep_, ep, rc, "the endpoint"));
  rc = fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV);
  if (rc == 0) rc = fi_ep_bind(ep, &av->fid, 0);
  if (rc == 0) rc = fi_enable(ep);
  if (rc == 0) return {};
  return Status(Code::system,
                "its parts do not join (look at ulimit -n; over a small device ofi_rxm needs "
                "FI_UNIVERSE_SIZE=16): " +
                    reason(rc));
}

Status Endpoint::find_address() {
  address_.resize(256);
  size_t bytes = address_.size();
  const int rc = fi_getname(&ep_->fid, address_.data(), &bytes);
  if (rc != 0 || bytes > address_.size())
    return Status(Code::unsupported, "its address, of " + std::to_string(bytes) + " bytes: " + reason(rc));
  address_.resize(bytes);
  return {};
}

Status Endpoint::meet(ByteView address) {
  their_address_.assign(address.begin(), address.end());
  const ssize_t rc = to_peer([&]() -> ssize_t {
    return fi_av_insert(av_.get(), address.data(), 1, &peer_, 0, nullptr) == 1 ? 0 : -FI_EINVAL;
  });
  if (rc == 0) return {};
  their_address_.clear();
  return rc == -FI_ENOTCONN
             ? Status(Code::peer, "libfabric: the peer has closed the endpoint of this address")
             : Status(Code::invalid, "libfabric: the provider does not take the peer's address");
}

std::string Endpoint::peer_text() const {
  char text[256] = "";
  size_t bytes = sizeof text - 1;
  if (av_ && !their_address_.empty()) fi_av_straddr(av_.get(), their_address_.data(), text, &bytes);
  return text;
}

// All that has come is taken first: ofi_rxm over verbs gives a receive that it finds complete while it closes
// back to what it has just closed.
void Endpoint::close() noexcept {
  if (ep_ == nullptr || !ep_.get_deleter().here()) return;
  std::unique_lock<std::recursive_mutex> lock;
  if (!network_) {
    lock = Neighbours::all().lock();
    Neighbours::all().went(address_);
  }
  fi_cq_data_entry entry;
  for (size_t i = 0; !their_address_.empty() && i < kQueued && fi_cq_read(cq_.get(), &entry, 1) > 0; ++i) {
  }
  ep_.reset();
  cq_.reset();
  av_.reset();
}

}  // namespace plait::fabric
