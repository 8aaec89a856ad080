// Over real devices: registrations that are kept, and keys of memory windows.
#include <sys/mman.h>

#include <algorithm>

#include "rdma/memory_watch.h"
#include "unit/verbs/rig.h"

namespace plait::transport::verbs::test {
namespace {

// Memory that was unmapped, and other memory at its place, never meet an old registration.
TEST(Cache, MemoryMayBeUnmappedAndMappedAgain) {
  PLAIT_NEEDS_A_DEVICE();
  Pair p;
  constexpr size_t kSome = 64 << 10;
  void* at = nullptr;
  for (uint64_t round = 1; round <= 20; ++round) {
    void* got = mmap(at, kSome, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
    ASSERT_NE(got, MAP_FAILED);
    at = got;
    std::fill_n(static_cast<std::byte*>(at), kSome, std::byte(round));
    auto one = p.a.domain->expose({at, kSome}, Access::none),
         two = p.a.domain->expose({at, kSome}, Access::none);
    ASSERT_TRUE(one.ok() && two.ok());
    one->reset();  // shared or not, the other goes on
    Transfer t{
        Verb::put, When::delivered, {}, (*two)->slice(0, kSome).value(), p.a.far->slice(0, kSome).value(),
        round};
    ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
    ASSERT_TRUE(p.pump([&] { return p.a.has(round); }));
    EXPECT_EQ(p.a.code(round), Code::ok);
    EXPECT_EQ(std::count(p.b.memory.begin(), p.b.memory.begin() + kSome, std::byte(round)), ptrdiff_t(kSome))
        << round;
    two->reset();
    munmap(at, kSome);
  }
}

// Memory of a test's own, mapped at one place again and again.
struct Mapped {
  std::byte* at = nullptr;
  explicit Mapped(std::byte fill, std::byte* where = nullptr) {
    void* got = mmap(where, kBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0), -1, 0);
    EXPECT_NE(got, MAP_FAILED);
    at = static_cast<std::byte*>(got);
    std::fill_n(at, kBytes, fill);
  }
};

// Registrations that no region uses are found again, and not when other pages are there: a put must land in
// those.
TEST(Cache, NewPagesAtAnOldAddressAreRegisteredAnew) {
  PLAIT_NEEDS_A_DEVICE();
  for (const bool windows : {false, true}) {
    Options options;
    options.trusting = true;  // nothing here puts guards into memory
    options.memory_windows = windows;
    Pair p(options);
    if (!rdma::MemoryWatch::of_process(true).ok()) GTEST_SKIP() << "no userfaultfd here";
    Mapped target(std::byte(0));
    std::byte* const at = target.at;
    uint64_t cookie = 1;
    const auto put_to_it = [&](std::byte value) {
      auto region = p.b.domain->expose({at, kBytes}, Access::both);
      ASSERT_TRUE(region.ok()) << region.status().text();
      auto far = p.a.end->import((*region)->key());
      std::fill(p.a.memory.begin(), p.a.memory.end(), value);
      Transfer t{Verb::put,
                 When::delivered,
                 {},
                 p.a.region->slice(0, kBytes).value(),
                 (*far)->slice(0, kBytes).value(),
                 cookie++};
      ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
      ASSERT_TRUE(p.pump([&] { return p.a.has(t.cookie); }));
      ASSERT_EQ(p.a.code(t.cookie), Code::ok) << p.a.end->error();
      EXPECT_EQ(std::count(at, at + kBytes, value), ptrdiff_t(kBytes)) << "it landed elsewhere";
      far->reset();
    };
    const auto get_from_it = [&](std::byte value) {
      auto source = p.b.domain->expose({at, kBytes}, Access::none);
      Transfer t{Verb::put,
                 When::delivered,
                 {},
                 (*source)->slice(0, kBytes).value(),
                 p.b.far->slice(0, kBytes).value(),
                 cookie++};
      ASSERT_EQ(p.b.end->post({&t, 1}), 1u);
      ASSERT_TRUE(p.pump([&] { return p.b.has(t.cookie); }));
      EXPECT_EQ(std::count(p.a.memory.begin(), p.a.memory.end(), value), ptrdiff_t(kBytes))
          << "old pages were sent";
    };
    const auto found = [&] { return registered_of(*p.b.domain).found; };
    const uint64_t before = found();
    put_to_it(std::byte(1));
    put_to_it(std::byte(2));
    EXPECT_EQ(found() - before, windows ? 1u : 0u)
        << "what peers reach is found again where there are windows";
    get_from_it(std::byte(2));
    get_from_it(std::byte(2));
    EXPECT_EQ(found() - before, windows ? 2u : 1u);
    const uint64_t made = registered_of(*p.b.domain).made;
    for (int round = 3; round < 30; ++round) {
      if (round % 3 == 0) Mapped(std::byte(round), at);
      if (round % 3 == 1) munmap(at, kBytes), Mapped(std::byte(round), at);
      if (round % 3 == 2) madvise(at, kBytes, MADV_DONTNEED), std::fill_n(at, kBytes, std::byte(round));
      get_from_it(std::byte(round));
      put_to_it(std::byte(100 + round));
      get_from_it(std::byte(100 + round));
    }
    EXPECT_EQ(registered_of(*p.b.domain).made - made, windows ? 54u : 27u) << "each time, and once";
    munmap(at, kBytes);
  }
}

// The key ends with the region, though its registration does not.
TEST(Cache, AWindowEndsWithItsRegion) {
  PLAIT_NEEDS_A_DEVICE();
  if (!rdma::MemoryWatch::of_process(true).ok()) GTEST_SKIP() << "no userfaultfd here";
  Options options;
  options.trusting = options.memory_windows = true;
  for (const Verb verb : {Verb::put, Verb::get}) {
    Pair p(options);
    Mapped target(std::byte(5));
    auto region = p.b.domain->expose({target.at, kBytes}, Access::both);
    ASSERT_TRUE(region.ok());
    auto far = p.a.end->import((*region)->key());
    region->reset();
    Transfer t{verb, When::delivered, {}, p.a.region->slice(0, 64).value(), (*far)->slice(0, 64).value(), 9};
    ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
    ASSERT_TRUE(p.pump([&] { return p.a.has(9); }));
    EXPECT_EQ(p.a.code(9), Code::auth) << p.a.end->error();
    EXPECT_EQ(target.at[0], std::byte(5));
    far->reset();
    munmap(target.at, kBytes);
  }
}

// A window gives no more than was asked for.
TEST(Cache, AWindowHasItsRights) {
  PLAIT_NEEDS_A_DEVICE();
  if (!rdma::MemoryWatch::of_process(true).ok()) GTEST_SKIP() << "no userfaultfd here";
  Options options;
  options.trusting = options.memory_windows = true;
  for (const Access access : {Access::read, Access::write}) {
    Pair p(options);
    Mapped target(std::byte(5));
    auto region = p.b.domain->expose({target.at, kBytes}, access);
    Key key;
    ByteView bytes = (*region)->key();
    ASSERT_TRUE(take(bytes, key));
    key.access = uint8_t(Access::both);  // a lie
    key.sum = sum_of(key);
    auto far = p.a.end->import(bytes_of(key));
    const Verb forbidden = access == Access::read ? Verb::put : Verb::get;
    Transfer t{forbidden, When::delivered, {}, p.a.region->slice(0, 64).value(), (*far)->slice(0, 64).value(),
               9};
    ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
    ASSERT_TRUE(p.pump([&] { return p.a.has(9); }));
    EXPECT_EQ(p.a.code(9), Code::auth) << p.a.end->error();
    EXPECT_EQ(target.at[0], std::byte(5));
    far->reset();
    region->reset();
    munmap(target.at, kBytes);
  }
}

}  // namespace
}  // namespace plait::transport::verbs::test
