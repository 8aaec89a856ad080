// Unique ids, which a framework hands around, and the files that secrets are read from.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "bootstrap/crypto.h"
#include "bootstrap/resolve.h"
#include "bootstrap/unique_id.h"
#include "fuzz.h"

namespace plait::fuzz {
namespace {

using namespace bootstrap;

void try_id(ByteView bytes, bool repair) {
  UniqueId id{};
  if (bytes.size() < id.size()) return;
  std::copy_n(bytes.begin(), id.size(), id.begin());
  if (repair) {  // the checksum: 16 bytes, of all before them
    const Digest digest = sha256(ByteView(id).first(id.size() - 16));
    std::copy_n(digest.begin(), 16, id.end() - 16);
  }
  const auto m = membership_of(id, 1, 2);
  if (!m.ok()) return;
  require(m->secret && m->secret->bytes().size() == Secret::kRandom, "an id holds a secret");
  require(m->job.size() <= 200 && is_printable(m->job), "an id names a job");
  const auto places = parse_host_ports(m->root);
  require(places.ok() && !places->empty() && places->size() <= 4, "an id says where rank 0 is");
  for (const HostPort& place : *places) require(parse_ip(place.host).ok(), "an id's hosts are addresses");
}

// A file in memory: no disk has to keep up.
void try_file(ByteView bytes) {
  Fd file(memfd_create("secret", MFD_CLOEXEC));
  if (!file || fchmod(file.get(), 0600) != 0) return;
  if (write(file.get(), bytes.data(), bytes.size()) != ssize_t(bytes.size())) return;
  const auto secret = load_secret("/proc/self/fd/" + std::to_string(file.get()));
  const bool fits = bytes.size() >= Secret::kLeast && bytes.size() <= Secret::kMost;
  require(secret.ok() == fits, "a secret has 16 to 4096 bytes");
  if (secret.ok()) require(equal((*secret)->bytes(), bytes), "a secret is what the file holds");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  Input input(data, size);
  const uint8_t which = input.number() % 3;
  if (which < 2) {
    try_id(input.rest(), which == 1);
  } else {
    try_file(input.rest());
  }
  return 0;
}
