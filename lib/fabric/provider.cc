#include "fabric/provider.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/address.h"

namespace plait::fabric {
namespace {

constexpr uint32_t kApi = FI_VERSION(1, 17);
constexpr uint64_t kMessageCaps = FI_MSG | FI_SEND | FI_RECV;
constexpr uint64_t kDirectCaps =
    kMessageCaps | FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr uint64_t kDirectOrder = FI_ORDER_WAW | FI_ORDER_SAW | FI_ORDER_SAS;
constexpr int kMrModes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
constexpr size_t kLeastInjected = 512;  // where messages must be, for they are of that size
constexpr uint64_t kModes = FI_CONTEXT | FI_CONTEXT2;

// Only reliable datagrams; with `anything` every mode of a provider, so as to see what it is.
Info hints_for(const Request& request, uint64_t caps, uint64_t order, bool anything = false) {
  Info h(fi_allocinfo());
  if (h == nullptr) return h;
  h->caps = caps;
  h->mode = anything ? ~uint64_t{0} : order == FI_ORDER_SAS ? kModes | FI_RX_CQ_DATA : kModes;
  h->ep_attr->type = FI_EP_RDM;
  h->tx_attr->msg_order = h->rx_attr->msg_order = order;
  h->domain_attr->mr_mode = anything ? ~3 : kMrModes;  // all but the two of old, which exclude the others
  if (!anything) {
    h->domain_attr->threading = FI_THREAD_SAFE;  // any thread registers memory
    h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    h->domain_attr->resource_mgmt = FI_RM_ENABLED;
  }
  if (!request.provider.empty()) h->fabric_attr->prov_name = strdup(request.provider.c_str());
  if (!request.domain.empty()) h->domain_attr->name = strdup(request.domain.c_str());
  return h;
}

Info ask(const Request& request, const Info& hints) {
  fi_info* found = nullptr;
  const char* node = request.address.empty() ? nullptr : request.address.c_str();
  if (hints == nullptr || fi_getinfo(kApi, node, nullptr, node != nullptr ? FI_SOURCE | FI_NUMERICHOST : 0,
                                     hints.get(), &found) != 0)
    return nullptr;
  Info all(found);
  if (request.domain.empty()) return all;
  // Not every provider looks at the name that it is given.
  for (const fi_info* i = found; i != nullptr; i = i->next) {
    if (request.domain == i->domain_attr->name) return Info(fi_dupinfo(i));
  }
  return nullptr;
}

std::string what(const Request& o) {
  return "libfabric: provider " + o.provider + (o.domain.empty() ? "" : ", domain " + o.domain) +
         (o.address.empty() ? "" : ", address " + o.address);
}

std::optional<Address> address_of(const fi_info& info) {
  if (info.src_addr == nullptr || (info.addr_format != FI_SOCKADDR_IN && info.addr_format != FI_SOCKADDR_IN6))
    return std::nullopt;
  return from_socket(static_cast<const sockaddr*>(info.src_addr), socklen_t(info.src_addrlen));
}

std::string address_text(const fi_info& info) {
  const auto address = address_of(info);
  return address ? to_string(address->with_port(0)) : "";
}

}  // namespace

bool Choice::rings() const noexcept {
  return mode == Mode::direct && info->ep_attr->protocol == FI_PROTO_RXM && !needs(FI_MR_PROV_KEY) &&
         fi_version() < FI_VERSION(1, 18) && info->tx_attr->iov_limit > 1 && info->tx_attr->rma_iov_limit > 1;
}

bool Choice::loopback() const noexcept {
  const auto address = address_of(*info);
  return address && address->loopback();
}

double Choice::bandwidth_Bps() const noexcept {
  const bool known = info->nic != nullptr && info->nic->link_attr != nullptr;
  return known ? double(info->nic->link_attr->speed) / 8 : 0;
}

std::string lacks(const fi_info& i, Mode mode) {
  const uint64_t order = i.tx_attr->msg_order & i.rx_attr->msg_order;
  if (i.ep_attr->max_msg_size < 4096) return "messages of 4096 bytes";
  if (mode == Mode::messages) return "";
  if ((i.caps & FI_RMA) == 0) return "FI_RMA (writes to and reads from a peer's memory)";
  if (i.domain_attr->cq_data_size < 4) return "4 bytes of remote data with a write";
  if ((i.rx_attr->mode & FI_RX_CQ_DATA) != 0) return "remote data that takes no posted receive";
  if (i.domain_attr->mr_key_size > sizeof(uint64_t)) return "keys of memory of at most 8 bytes";
  if ((order & kDirectOrder) != kDirectOrder) return "order of writes and messages (FI_ORDER_WAW, SAW, SAS)";
  if (i.ep_attr->max_order_waw_size < 4096) return "ordered writes of 4096 bytes";
  return "";
}

Result<Choice> choose(const Request& request) {
  Choice choice;
  std::string missing = "FI_RMA with FI_REMOTE_COMM and FI_ORDER_WAW, SAW, SAS";
  if (request.mode != Mode::messages) {
    choice.mode = Mode::direct;
    choice.info = ask(request, hints_for(request, kDirectCaps | FI_REMOTE_COMM, kDirectOrder));
    if (choice.info != nullptr) missing = lacks(*choice.info, Mode::direct);
    if (choice.info != nullptr && missing.empty()) return choice;
    if (request.mode == Mode::direct)
      return Status(Code::unsupported,
                    what(request) + " cannot be used directly: it does not offer " + missing);
  }
  choice.mode = Mode::messages;
  for (uint64_t where : {uint64_t(FI_REMOTE_COMM), uint64_t{0}}) {
    choice.network = where != 0;
    choice.info = ask(request, hints_for(request, kMessageCaps | where, FI_ORDER_SAS));
    if (choice.info == nullptr || !lacks(*choice.info, Mode::messages).empty()) continue;
    if (choice.network || choice.info->tx_attr->inject_size >= kLeastInjected) return choice;
  }
  if (ask(request, hints_for(request, 0, 0, true)) == nullptr) {
    return Status(
        Code::unsupported,
        what(request) + ": libfabric " + std::to_string(FI_MAJOR(fi_version())) + "." +
            std::to_string(FI_MINOR(fi_version())) +
            " has none with reliable datagrams here (fi_info -l lists providers; is FI_PROVIDER set?)");
  }
  return Status(Code::unsupported,
                what(request) +
                    " offers reliable datagrams, but not messages in order (FI_ORDER_SAS) that "
                    "the provider itself holds back where a peer is slow (FI_RM_ENABLED), without a mode of "
                    "registered memory other than FI_MR_LOCAL, VIRT_ADDR, ALLOCATED and PROV_KEY");
}

std::vector<Offer> list(std::string_view provider) {
  Request request;
  request.provider = provider;
  std::vector<Offer> offers;
  const Info all = ask(request, hints_for(request, 0, 0, true));
  for (const fi_info* i = all.get(); i != nullptr; i = i->next) {
    Request one{i->fabric_attr->prov_name, i->domain_attr->name, address_text(*i), Mode::automatic};
    const auto same = [&](const Offer& o) {
      return o.provider == one.provider && o.domain == one.domain && o.address == one.address;
    };
    if (std::ranges::any_of(offers, same)) continue;
    Offer& offer = offers.emplace_back(Offer{one.provider, one.domain, one.address, Mode::automatic, "", 0});
    const auto choice = choose(one);
    if (!choice.ok()) {
      offer.why = choice.status().text();
      continue;
    }
    offer.mode = choice->mode;
    offer.bandwidth_Bps = choice->bandwidth_Bps();
    one.mode = Mode::direct;
    if (offer.mode == Mode::messages) offer.why = choose(one).status().text();
  }
  return offers;
}

}  // namespace plait::fabric
