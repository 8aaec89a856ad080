#include "base/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/boot_id.h"
#include "base/hash.h"

namespace plait {

std::string host_name() {
  std::array<char, 65> name{};
  std::string text = gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
  std::erase_if(text, [](char c) { return c <= ' ' || c >= 127; });
  return text.empty() ? "unknown" : text;
}

std::string host_and_network() {
  struct stat net {};
  if (stat("/proc/self/ns/net", &net) != 0) net.st_ino = 0;
  return boot_id() + "/" + std::to_string(net.st_ino);
}

uint64_t host_id() { return fnv1a(host_and_network()); }

}  // namespace plait
