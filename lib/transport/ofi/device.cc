#include "transport/ofi/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace plait::transport::ofi {
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
Info hints_for(const Options& options, uint64_t caps, uint64_t order, bool anything = false) {
  Info h(fi_allocinfo());
  if (h == nullptr) return h;
  h->caps = caps;
  h->mode = anything ? ~uint64_t{0} : order == FI_ORDER_SAS ? kModes | FI_RX_CQ_DATA : kModes;
  h->ep_attr->type = FI_EP_RDM;
  h->tx_attr->msg_order = h->rx_attr->msg_order = order;
  h->domain_attr->mr_mode = anything ? ~3 : kMrModes;  // all but the two of old, which exclude the others
  if (!anything) {
    h->domain_attr->threading = FI_THREAD_SAFE;  // expose() comes from any thread
    h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    h->domain_attr->resource_mgmt = FI_RM_ENABLED;
  }
  if (!options.provider.empty()) h->fabric_attr->prov_name = strdup(options.provider.c_str());
  if (!options.domain.empty()) h->domain_attr->name = strdup(options.domain.c_str());
  return h;
}

Info ask(const Options& options, const Info& hints) {
  fi_info* found = nullptr;
  const char* node = options.address.empty() ? nullptr : options.address.c_str();
  if (hints == nullptr || fi_getinfo(kApi, node, nullptr, node != nullptr ? FI_SOURCE | FI_NUMERICHOST : 0,
                                     hints.get(), &found) != 0)
    return nullptr;
  Info all(found);
  if (options.domain.empty()) return all;
  // Not every provider looks at the name that it is given.
  for (const fi_info* i = found; i != nullptr; i = i->next) {
    if (options.domain == i->domain_attr->name) return Info(fi_dupinfo(i));
  }
  return nullptr;
}

std::string what(const Options& o) {
  return "ofi: provider " + o.provider + (o.domain.empty() ? "" : ", domain " + o.domain) +
         (o.address.empty() ? "" : ", address " + o.address);
}

std::string address_text(const fi_info& info) {
  if (info.src_addr == nullptr || (info.addr_format != FI_SOCKADDR_IN && info.addr_format != FI_SOCKADDR_IN6))
    return "";
  return to_string(
      from_socket(static_cast<const sockaddr*>(info.src_addr), socklen_t(info.src_addrlen)).with_port(0));
}

}  // namespace

std::string reason(ssize_t error) { return fi_strerror(int(error < 0 ? -error : error)); }

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

Result<Choice> choose(const Options& options) {
  Choice choice;
  std::string missing = "FI_RMA with FI_REMOTE_COMM and FI_ORDER_WAW, SAW, SAS";
  if (options.mode != Mode::messages) {
    choice.mode = Mode::direct;
    choice.info = ask(options, hints_for(options, kDirectCaps | FI_REMOTE_COMM, kDirectOrder));
    if (choice.info != nullptr) missing = lacks(*choice.info, Mode::direct);
    if (choice.info != nullptr && missing.empty()) return choice;
    if (options.mode == Mode::direct)
      return Status(Code::unsupported,
                    what(options) + " cannot be used directly: it does not offer " + missing);
  }
  choice.mode = Mode::messages;
  for (uint64_t where : {uint64_t(FI_REMOTE_COMM), uint64_t{0}}) {
    choice.network = where != 0;
    choice.info = ask(options, hints_for(options, kMessageCaps | where, FI_ORDER_SAS));
    if (choice.info == nullptr || !lacks(*choice.info, Mode::messages).empty()) continue;
    if (choice.network || choice.info->tx_attr->inject_size >= kLeastInjected) return choice;
  }
  if (ask(options, hints_for(options, 0, 0, true)) == nullptr) {
    return Status(
        Code::unsupported,
        what(options) + ": libfabric " + std::to_string(FI_MAJOR(fi_version())) + "." +
            std::to_string(FI_MINOR(fi_version())) +
            " has none with reliable datagrams here (fi_info -l lists providers; is FI_PROVIDER set?)");
  }
  return Status(Code::unsupported,
                what(options) +
                    " offers reliable datagrams, but not messages in order (FI_ORDER_SAS) that "
                    "the provider itself holds back where a peer is slow (FI_RM_ENABLED), without a mode of "
                    "registered memory other than FI_MR_LOCAL, VIRT_ADDR, ALLOCATED and PROV_KEY");
}

std::vector<Offer> list(std::string_view provider) {
  Options options;
  options.provider = provider;
  std::vector<Offer> offers;
  const Info all = ask(options, hints_for(options, 0, 0, true));
  for (const fi_info* i = all.get(); i != nullptr; i = i->next) {
    Options one{i->fabric_attr->prov_name, i->domain_attr->name, address_text(*i), Mode::automatic, "", 0};
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

Result<std::shared_ptr<Device>> Device::open(Choice choice) {
  auto made = std::make_shared<Device>(std::move(choice));
  fi_info* info = made->choice.info.get();
  const std::string name = "ofi: " + made->choice.provider() + ", domain " + made->choice.domain() + ": ";
  fid_fabric* fabric = nullptr;
  if (const int rc = fi_fabric(info->fabric_attr, &fabric, nullptr); rc != 0)
    return Status(Code::system, name + "its fabric does not open: " + reason(rc));
  made->fabric.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int rc = fi_domain(fabric, info, &domain, nullptr); rc != 0)
    return Status(Code::system, name + "it does not open: " + reason(rc) +
                                    " (look at ulimit -l and -n, and at the device)");
  made->domain.reset(domain);
  fi_cq_attr attr{};
  attr.wait_obj = FI_WAIT_FD;
  fid_cq* cq = nullptr;
  made->has_fd = fi_cq_open(domain, &attr, &cq, nullptr) == 0;
  if (made->has_fd) Fid<fid_cq>(cq).reset();
  return made;
}

Result<Fid<fid_mr>> Device::enroll(void* base, size_t bytes, uint64_t rights) {
  const uint64_t mask = choice.info->domain_attr->mr_key_size >= 8
                            ? ~uint64_t{0}
                            : (uint64_t{1} << (8 * choice.info->domain_attr->mr_key_size)) - 1;
  if (choice.needs(FI_MR_LOCAL) || rights == 0) rights |= FI_SEND | FI_RECV | FI_READ | FI_WRITE;
  int rc = -FI_ENOKEY;
  fid_mr* mr = nullptr;
  for (int i = 0; i < 16 && rc == -FI_ENOKEY; ++i)
    rc = fi_mr_reg(domain.get(), base, bytes, rights, 0, random_word() & mask, 0, &mr, nullptr);
  if (rc != 0) {
    return Status(rc == -FI_ENOMEM ? Code::memory : Code::system,
                  "ofi: " + choice.provider() + " does not register " + std::to_string(bytes) +
                      " bytes of memory: " + reason(rc) +
                      " (is the limit of locked memory, ulimit -l, too low?)");
  }
  return Fid<fid_mr>(mr);
}

Result<std::unique_ptr<Region>> DirectRegion::make(std::shared_ptr<Device> device,
                                                   std::unique_ptr<Region> plain, Access access) {
  const Memory memory = plain->memory();
  ByteView bytes = plain->key();
  Key key;
  take(bytes, key.region);
  Fid<fid_mr> mr;
  if (may_write(access) || device->choice.needs(FI_MR_LOCAL)) {
    auto got = device->enroll(memory.base, memory.bytes, may_write(access) ? FI_REMOTE_WRITE : 0);
    if (!got.ok()) return got.status();
    mr = std::move(*got);
    key.base = device->base_of(memory.base);
    key.key = fi_mr_key(mr.get());
  }
  key.sum = sum_of(key);
  return std::unique_ptr<Region>(
      std::make_unique<DirectRegion>(std::move(device), std::move(plain), std::move(mr), key));
}

DirectRegion::DirectRegion(std::shared_ptr<Device> device, std::unique_ptr<Region> plain, Fid<fid_mr> mr,
                           const Key& key) noexcept
    : Region(plain->memory()),
      device_(std::move(device)),
      mr_(std::move(mr)),
      plain_(std::move(plain)),
      key_(key),
      pid_(getpid()) {}

// A forked child has no part in what its parent registered.
DirectRegion::~DirectRegion() {
  if (getpid() != pid_) (void)mr_.release();
}

}  // namespace plait::transport::ofi
