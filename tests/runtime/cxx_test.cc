// plait.hpp: handles, containers in memory that peers reach, errors. Compiled as C++17, too, and by clang
// where it is there (tests/runtime/meson.build).
#include <plait/plait.hpp>

#include <cstring>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/ranks.h"

namespace plait::test {
namespace {

static_assert(std::allocator_traits<plait::allocator<int>>::is_always_equal::value);
static_assert(std::is_nothrow_move_constructible_v<plait::vector<float>>);
static_assert(std::is_nothrow_move_constructible_v<plait::buffer> &&
              !std::is_copy_constructible_v<plait::buffer>);
static_assert(sizeof(plait::communicator) == sizeof(void*));

bool shared(const void* p) { return plait_mem_is_shared(p, 1) == 1; }

TEST(Allocator, ServesContainersOfAllKinds) {
  plait::vector<float> v(1000, 1.5F);
  EXPECT_TRUE(shared(v.data()));
  const float* data = v.data();
  plait::vector<float> moved = std::move(v);
  EXPECT_EQ(moved.data(), data);
  plait::vector<float> assigned;
  assigned = std::move(moved);
  EXPECT_EQ(assigned.data(), data);
  for (int i = 0; i < 100'000; i++) assigned.push_back(float(i));
  EXPECT_EQ(assigned[999], 1.5F);
  EXPECT_EQ(assigned.back(), 99'999.0F);

  std::list<int, plait::allocator<int>> list{1, 2, 3};
  EXPECT_TRUE(shared(&list.front()));
  std::map<int, int, std::less<>, plait::allocator<std::pair<const int, int>>> map;
  std::unordered_map<int, int, std::hash<int>, std::equal_to<>, plait::allocator<std::pair<const int, int>>>
      hashed;
  for (int i = 0; i < 100; i++) map[i] = hashed[i] = i * i;
  EXPECT_EQ(map[9] + hashed[10], 181);
  auto held = std::allocate_shared<std::string>(plait::allocator<std::string>(), "plait");
  EXPECT_TRUE(shared(held.get()));
}

struct alignas(256) Wide {
  char bytes[256];
};

TEST(Allocator, AlignsAndEquals) {
  plait::vector<Wide> wide(3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(wide.data()) % 256, 0U);
  EXPECT_TRUE(plait::allocator<int>() == plait::allocator<char>());
  EXPECT_FALSE(plait::allocator<int>() != plait::allocator<char>(plait::allocator<int>()));
}

TEST(Allocator, ThrowsWhatContainersExpect) {
  EXPECT_THROW(plait::allocator<double>().allocate(SIZE_MAX / 4), std::bad_array_new_length);
  EXPECT_THROW(plait::allocator<char>().allocate(SIZE_MAX / 4), std::bad_alloc);
}

TEST(MemoryResource, ServesPolymorphicContainers) {
  std::pmr::vector<int> v(plait::shared_memory());
  v.resize(10'000, 3);
  EXPECT_TRUE(shared(v.data()));
  std::pmr::monotonic_buffer_resource pool(4096, plait::shared_memory());
  std::pmr::vector<std::pmr::string> words(&pool);
  words.emplace_back("a string that is too long to lie in the object itself");
  EXPECT_TRUE(shared(words[0].data()));
  plait::memory_resource other;
  EXPECT_TRUE(*plait::shared_memory() == other);
  EXPECT_FALSE(*plait::shared_memory() == *std::pmr::new_delete_resource());
}

TEST(Buffer, OwnsItsMemory) {
  EXPECT_THROW(plait::buffer(100), plait::error) << "no plait_init";
  plait::library library;
  plait::buffer none, a(1000);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(plait::buffer(0).data(), nullptr);
  EXPECT_EQ(a.count<float>(), 250U);
  EXPECT_EQ(a.as<float>()[249], 0.0F);
  EXPECT_TRUE(shared(a.data()));
  void* data = a.data();
  plait::buffer b = std::move(a);
  none = std::move(b);
  EXPECT_EQ(none.data(), data);
  EXPECT_EQ(none.size(), 1000U);
  none = plait::buffer();
  EXPECT_EQ(plait_usable_size(data), 0U) << "freed";
}

TEST(Handles, SayWhatWentWrong) {
  try {
    plait::check(plait_comm_destroy(nullptr));
    FAIL() << "nothing was thrown";
  } catch (const plait::error& e) {
    EXPECT_EQ(e.status(), PLAIT_ERR_INVALID);
    EXPECT_TRUE(contains(e.what(), "plait_comm_destroy")) << e.what();
  }
  EXPECT_NO_THROW(plait::check(PLAIT_OK));
  EXPECT_STRNE(plait::error(PLAIT_ERR_PEER, "").what(), "");
}

TEST(Handles, SumAVector) {
  const std::string job = fresh_job();
  run_ranks({1, 2}, [&](int rank, int size) -> std::string {
    try {
      plait::library library;
      plait_comm_config config{};
      config.struct_size = sizeof config;
      config.rank = rank;
      config.size = size;
      config.job = job.c_str();
      plait::communicator comm = plait::make_communicator(&config);
      plait::vector<float> gradient(5000, float(rank + 1));
      plait_request* started = nullptr;
      plait::check(plait_allreduce(comm.get(), gradient.data(), gradient.data(), gradient.size(),
                                   PLAIT_FLOAT32, PLAIT_SUM, nullptr, &started),
                   comm.get());
      plait::request request(started);
      plait::check(plait_wait(request.get()), comm.get());
      if (gradient[4999] != 6) return "wrong sum";
      // A handle that ends with the operation pending waits for it.
      plait::check(plait_barrier(comm.get(), nullptr, &started), comm.get());
      request.reset(started);
      request.reset();
      plait::communicator child = plait::split(comm, rank == 0 ? PLAIT_NO_COLOR : 7);
      if ((child == nullptr) != (rank == 0)) return "the child is not whose it should be";
      return "";
    } catch (const std::exception& e) {
      return e.what();
    }
  });
}

}  // namespace
}  // namespace plait::test
