#include "bootstrap/unique_id.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "bootstrap/crypto.h"
#include "bootstrap/interfaces.h"
#include "bootstrap/made_ids.h"
#include "bootstrap/socket.h"

namespace plait::bootstrap {
namespace {

constexpr size_t kIdAddresses = 4;

struct Layout {
  std::array<char, 4> magic = {'P', 'L', 'i', 'd'};
  uint16_t version = 1;
  uint16_t port = 0;
  uint8_t count = 0;
  std::array<uint8_t, 3> zero{};
  std::array<uint8_t, kIdAddresses> families{};
  std::array<std::array<uint8_t, 16>, kIdAddresses> addresses{};
  std::array<std::byte, Secret::kRandom> secret{};
  std::array<std::byte, 16> checksum{};  // against damage; who knows the bytes knows all
};
static_assert(sizeof(Layout) == sizeof(UniqueId));

void checksum(const Layout& id, std::array<std::byte, 16>& to) {
  const Digest digest = sha256(bytes_of(id).first(sizeof id - sizeof id.checksum));
  std::copy_n(digest.begin(), to.size(), to.begin());
}

std::string job_of(const UniqueId& id) {
  const Digest digest = sha256(id);
  static constexpr char digits[] = "0123456789abcdef";
  std::string text = "id-";
  for (size_t i = 0; i < 8; i++) {
    text += digits[unsigned(digest[i]) >> 4];
    text += digits[unsigned(digest[i]) & 15];
  }
  return text;
}

// Ids made here, and their listeners until rank 0 joins. A forked child has them too, but is not whom the id
// means: hence the process.
struct Made {
  std::mutex mutex;
  struct Entry {
    pid_t process;
    Fd listener;
  };
  std::map<std::string, Entry> entries;
};
Made& made() {
  static Made& all = *new Made;  // outlives every thread
  return all;
}

}  // namespace

Result<Fd> take_made_listener(const std::string& job) {
  const std::lock_guard lock(made().mutex);
  auto found = made().entries.find(job);
  if (found == made().entries.end() || found->second.process != ::getpid()) {
    return Status(Code::invalid,
                  "the unique id was made by another process: the process that becomes rank 0 must make "
                  "it, and hand it to the others");
  }
  return std::move(found->second.listener);
}

Result<UniqueId> make_unique_id(const std::string& interfaces, uint16_t port_min, uint16_t port_max) {
  if ((port_min == 0) != (port_max == 0) || port_min > port_max) {
    return Status(Code::invalid, "ports " + std::to_string(port_min) + "-" + std::to_string(port_max) +
                                     " are no range (PLAIT_PORTS=MIN-MAX)");
  }
  auto all = list_interfaces();
  if (!all.ok()) return all.status();
  auto chosen = choose(*all, interfaces);
  if (!chosen.ok()) return chosen.status();
  Layout id;
  for (const Interface& i : *chosen) {
    const bool local_only = i.address.family == 6 && i.address.link_local();
    if (local_only || id.count == kIdAddresses) continue;
    id.families[id.count] = i.address.family;
    id.addresses[id.count++] = i.address.bytes;
  }
  if (id.count == 0) return Status(Code::invalid, "no interface has an address that another host could use");
  auto listener = listen_in(std::nullopt, port_min, port_max);
  if (!listener.ok()) return listener.status();
  id.port = local_address(listener->get()).port;
  PLAIT_TRY(random_bytes(id.secret));
  checksum(id, id.checksum);
  UniqueId bytes;
  std::memcpy(bytes.data(), &id, sizeof id);
  wipe(id.secret);
  const std::lock_guard lock(made().mutex);
  made().entries.insert_or_assign(job_of(bytes), Made::Entry{::getpid(), std::move(*listener)});
  return bytes;
}

Result<Membership> membership_of(const UniqueId& bytes, int32_t rank, int32_t size) {
  Layout id;
  std::memcpy(&id, bytes.data(), sizeof id);
  const Layout good;
  std::array<std::byte, 16> sum;
  checksum(id, sum);
  if (id.magic != good.magic || id.version != good.version || sum != id.checksum || id.count == 0 ||
      id.count > kIdAddresses || id.port == 0 || id.zero != good.zero) {
    return Status(Code::invalid,
                  "these 128 bytes are no unique id of this version of plait, or were damaged on their "
                  "way from rank 0");
  }
  Membership m;
  m.rank = rank;
  m.size = size;
  m.job = job_of(bytes);
  m.unique_id = true;
  for (size_t i = 0; i < id.count; i++) {
    Address address;
    address.family = id.families[i];
    address.port = id.port;
    address.bytes = id.addresses[i];
    if (!address.valid()) return Status(Code::invalid, "the unique id holds an address that makes no sense");
    m.root += (m.root.empty() ? "" : ",") + to_string(address);
  }
  m.secret = std::make_shared<const Secret>(id.secret);
  wipe(id.secret);
  return m;
}

}  // namespace plait::bootstrap
