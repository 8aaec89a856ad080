// The library, opened as NCCL opens it.
#include <dlfcn.h>

#include "costs_table.h"

namespace plait::nccl::tuner {
namespace {

TEST(TunerLibrary, IsFoundBySymbolsAndHasNoOthers) {
  const char* path = std::getenv("NCCL_TUNER_PLAIT");
  if (path == nullptr) GTEST_SKIP() << "NCCL_TUNER_PLAIT names no library";
  for (int again = 0; again < 2; again++) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_EQ(dlsym(library, "ncclTunerPlugin_v6"), nullptr);
    EXPECT_EQ(dlsym(library, "ncclNetPlugin_v8"), nullptr);
    EXPECT_EQ(dlsym(library, "plait_init"), nullptr);
    const auto* v4 = static_cast<const TunerV4*>(dlsym(library, "ncclTunerPlugin_v4"));
    const auto* v5 = static_cast<const TunerV5*>(dlsym(library, "ncclTunerPlugin_v5"));
    ASSERT_TRUE(v4 != nullptr && v5 != nullptr);
    EXPECT_STREQ(v4->name, "plait");
    EXPECT_STREQ(v5->name, "plait");
    void* context = nullptr;
    ASSERT_EQ(v5->init(&context, 1, 16, 2, nullptr, nullptr, nullptr), NcclResult::success);
    CostsTable table = ring_and_tree();
    EXPECT_EQ(v5->get_coll_info(context, int32_t(Function::allreduce), 4096, 1, table.raw(), tuner_algorithms,
                                tuner_protocols, 0, nullptr),
              NcclResult::success);
    EXPECT_EQ(table.best(), std::pair(TunerAlgorithm::tree, Protocol::ll));
    EXPECT_EQ(v5->finalize(context), NcclResult::success);
    EXPECT_EQ(dlclose(library), 0);
  }
}

}  // namespace
}  // namespace plait::nccl::tuner
