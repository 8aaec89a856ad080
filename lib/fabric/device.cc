#include "fabric/device.h"

#include <rdma/fi_errno.h>
#include <sys/random.h>

#include <algorithm>

#include "fabric/explain.h"

namespace plait::fabric {
namespace {

constexpr int kKeys = 16;  // random ones that are tried, where the key is the caller's to choose

// Who knows a key may use the memory.
uint64_t random_key(size_t bytes) noexcept {
  uint64_t key = 0;
  while (getrandom(&key, std::min(bytes, sizeof key), 0) < 0) {
  }
  return key;
}

bool offers_fd(fid_domain* domain) noexcept {
  fi_cq_attr attr{};
  attr.wait_obj = FI_WAIT_FD;
  fid_cq* cq = nullptr;
  if (fi_cq_open(domain, &attr, &cq, nullptr) != 0) return false;
  fi_close(&cq->fid);
  return true;
}

}  // namespace

Result<std::shared_ptr<Device>> Device::open(Choice choice) {
  auto made = std::make_shared<Device>(std::move(choice));
  fi_info* info = made->choice_.info.get();
  const std::string name =
      "libfabric: " + made->choice_.provider() + ", domain " + made->choice_.domain() + ": ";
  fid_fabric* fabric = nullptr;
  if (const int rc = fi_fabric(info->fabric_attr, &fabric, nullptr); rc != 0)
    return Status(Code::system, name + "its fabric does not open: " + reason(rc));
  made->fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int rc = fi_domain(fabric, info, &domain, nullptr); rc != 0)
    return Status(Code::system, name + "it does not open: " + reason(rc) +
                                    " (look at ulimit -l and -n, and at the device)");
  made->domain_.reset(domain);
  made->has_fd_ = offers_fd(domain);
  return made;
}

Result<Registration> Device::enroll(void* base, size_t bytes, uint64_t rights) const {
  if (rights == 0 && !choice_.needs(FI_MR_LOCAL)) return Registration();
  if (rights == 0 || choice_.needs(FI_MR_LOCAL)) rights |= FI_SEND | FI_RECV | FI_READ | FI_WRITE;
  const size_t key_bytes = choice_.info->domain_attr->mr_key_size;
  int rc = -FI_ENOKEY;
  fid_mr* mr = nullptr;
  for (int i = 0; i < kKeys && rc == -FI_ENOKEY; ++i)
    rc = fi_mr_reg(domain_.get(), base, bytes, rights, 0, random_key(key_bytes), 0, &mr, nullptr);
  if (rc != 0) {
    return Status(rc == -FI_ENOMEM ? Code::memory : Code::system,
                  "libfabric: " + choice_.provider() + " does not register " + std::to_string(bytes) +
                      " bytes of memory: " + reason(rc) +
                      " (is the limit of locked memory, ulimit -l, too low?)");
  }
  return Registration(Fid<fid_mr>(mr), choice_.needs(FI_MR_VIRT_ADDR) ? uint64_t(base) : 0);
}

}  // namespace plait::fabric
