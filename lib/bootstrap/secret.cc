#include "bootstrap/secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/file.h"
#include "bootstrap/crypto.h"

namespace plait::bootstrap {
namespace {

constexpr const char* kMake =
    "; make one by: (umask 077; head -c 32 /dev/urandom > FILE), the same bytes for all ranks";

Status judge(const std::string& path, const struct stat& file) {
  const std::string what = "the secret file " + path;
  if (!S_ISREG(file.st_mode)) return {Code::auth, what + " is no regular file" + kMake};
  if (file.st_uid != ::geteuid()) {
    return {Code::auth, what + " belongs to user " + std::to_string(file.st_uid) +
                            ", this rank runs as user " + std::to_string(::geteuid()) +
                            ": give it a copy of its own, mode 0600"};
  }
  if ((file.st_mode & 077) != 0) {
    return {Code::auth, what + " can be read or written by others than its user: chmod 600 " + path +
                            ", and make a new one if anybody may have read it"};
  }
  if (file.st_size < off_t(Secret::kLeast) || file.st_size > off_t(Secret::kMost)) {
    return {Code::auth, what + " has " + std::to_string(file.st_size) + " bytes, a secret has " +
                            std::to_string(Secret::kLeast) + " to " + std::to_string(Secret::kMost) + kMake};
  }
  return {};
}

}  // namespace

Secret::~Secret() { wipe(bytes_); }

Result<SecretPtr> load_secret(const std::string& path) {
  // O_NONBLOCK: a FIFO put there must not make us wait. The file that is judged is the one that is read.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return Status::system(errno, "cannot open the secret file " + path + " (PLAIT_SECRET_FILE)");
  struct stat file {};
  if (::fstat(fd.get(), &file) != 0) return Status::system(errno, "cannot look at the secret file " + path);
  PLAIT_TRY(judge(path, file));
  std::array<std::byte, Secret::kMost> bytes;
  ssize_t got = 0;
  do {
    got = ::read(fd.get(), bytes.data(), bytes.size());
  } while (got < 0 && errno == EINTR);
  const int error = errno;
  SecretPtr secret;
  if (got >= ssize_t(Secret::kLeast)) {
    secret = std::make_shared<const Secret>(ByteView(bytes).first(size_t(got)));
  }
  wipe(bytes);
  if (got < 0) return Status::system(error, "cannot read the secret file " + path);
  if (!secret) return Status(Code::auth, "the secret file " + path + " was cut while it was read" + kMake);
  return secret;
}

Result<SecretPtr> random_secret() {
  std::array<std::byte, Secret::kRandom> bytes;
  PLAIT_TRY(random_bytes(bytes));
  auto secret = std::make_shared<const Secret>(bytes);
  wipe(bytes);
  return SecretPtr(std::move(secret));
}

SecretPtr derived_secret(const Secret& parent, ByteView context) {
  Key key;
  key.bytes = sha256(parent.bytes());
  Digest digest = Mac(key.bytes).add("plait bootstrap 1: secret of a subgroup").add(context).finish();
  auto secret = std::make_shared<const Secret>(digest);
  wipe(digest);
  return secret;
}

}  // namespace plait::bootstrap
