// Which files are taken for a secret.
#include "bootstrap/secret.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "bootstrap/crypto.h"
#include "rig.h"

namespace plait::bootstrap::test {
namespace {

class SecretFile : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_), nullptr); }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(folder_);
  }
  void write(const std::string& content, mode_t mode = 0600) {
    path_ = std::string(folder_) + "/secret";
    unlink(path_.c_str());
    Fd fd(open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_EQ(::write(fd.get(), content.data(), content.size()), ssize_t(content.size()));
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  void expect_refused(const std::string& why) {
    auto secret = load_secret(path_);
    ASSERT_FALSE(secret.ok());
    EXPECT_EQ(secret.status().code(), Code::auth);
    EXPECT_NE(secret.status().text().find(why), std::string::npos) << secret.status().text();
    EXPECT_NE(secret.status().text().find(path_), std::string::npos) << secret.status().text();
  }
  char folder_[32] = "/tmp/plait-test-XXXXXX";
  std::string path_;
};

TEST_F(SecretFile, IsReadWhole) {
  for (size_t bytes : {size_t(16), size_t(32), size_t(4096)}) {
    write(std::string(bytes, 's'));
    auto secret = load_secret(path_);
    ASSERT_TRUE(secret.ok()) << secret.status().text();
    EXPECT_EQ(text_of((*secret)->bytes()), std::string(bytes, 's'));
  }
  write(std::string(32, 's'), 0400);
  EXPECT_TRUE(load_secret(path_).ok());
}

TEST_F(SecretFile, OfOtherSizesIsRefused) {
  write(std::string(15, 's'));
  expect_refused("15 bytes");
  write(std::string(4097, 's'));
  expect_refused("4097 bytes");
}

TEST_F(SecretFile, ThatOthersMayReadIsRefused) {
  for (mode_t mode : {0640u, 0604u, 0620u, 0602u, 0610u, 0601u}) {
    write(std::string(32, 's'), mode);
    expect_refused("chmod 600");
  }
}

TEST_F(SecretFile, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  write(std::string(32, 's'));
  ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
  expect_refused("belongs to user 12345");
}

TEST_F(SecretFile, ThatIsNoRegularFileIsRefusedAtOnce) {
  path_ = std::string(folder_) + "/fifo";
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  expect_refused("no regular file");
}

TEST_F(SecretFile, ThatIsMissingIsNamed) {
  auto secret = load_secret("/nowhere/secret");
  ASSERT_FALSE(secret.ok());
  EXPECT_EQ(secret.status().code(), Code::system);
  EXPECT_NE(secret.status().text().find("/nowhere/secret"), std::string::npos);
}

TEST(Secret, RandomOnesDiffer) {
  auto a = random_secret(), b = random_secret();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ((*a)->bytes().size(), Secret::kRandom);
  EXPECT_NE(text_of((*a)->bytes()), text_of((*b)->bytes()));
}

// RFC 5869, A.1: the first block.
TEST(Derive, IsHkdf) {
  const Bytes secret(22, std::byte{0x0b});
  Bytes salt;
  for (int i = 0; i <= 0x0c; i++) salt.push_back(std::byte(i));
  std::string label;
  for (int i = 0xf0; i <= 0xf9; i++) label += char(i);
  const uint8_t expected[] = {0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a, 0x90, 0x43, 0x4f,
                              0x64, 0xd0, 0x36, 0x2f, 0x2a, 0x2d, 0x2d, 0x0a, 0x90, 0xcf, 0x1a,
                              0x5a, 0x4c, 0x5d, 0xb0, 0x2d, 0x56, 0xec, 0xc4, 0xc5, 0xbf};
  EXPECT_TRUE(std::ranges::equal(derive(secret, salt, label).bytes, std::as_bytes(std::span(expected))));
  EXPECT_FALSE(same(derive(secret, salt, "a").bytes, derive(secret, salt, "b").bytes));
}

}  // namespace
}  // namespace plait::bootstrap::test
