// Codecs in calls of the C API: wrong uses.
#include "runtime/codec_fixture.h"

namespace plait::test {
namespace {

TEST(CodecErrors, SayWhichWordIsWrong) {
  know_codecs();
  ranks(2, [](Comm& c, int) -> std::string {
    std::vector<float> v(10);
    auto says = [&](const char* codec, plait_status want, const char* words, uint64_t key = 1,
                    plait_op op = PLAIT_SUM, plait_dtype dtype = PLAIT_FLOAT32) {
      const plait_call_config config = config_of(codec, key);
      const plait_status got = plait_allreduce(c.comm, v.data(), v.data(), 10, dtype, op, &config, nullptr);
      return expect(got, want, plait_last_error(c.comm), {"plait_allreduce", words});
    };
    for (const std::string& words : {
             says("nonesuch", PLAIT_ERR_INVALID, "nonesuch"),
             says("test_sparse:links=some", PLAIT_ERR_INVALID, "links=all and links=hosts"),
             says("test_sparse:at=home", PLAIT_ERR_INVALID, "at=hop and at=edge"),
             says("test_sparse:use=never", PLAIT_ERR_INVALID, "use=pays and use=always"),
             says("test_coarse", PLAIT_ERR_INVALID, "tensor_key", 0),
             says("test_coarse", PLAIT_ERR_UNSUPPORTED, "sums and averages only", 1, PLAIT_MAX),
             says("test_coarse", PLAIT_ERR_UNSUPPORTED, "does not take float64", 1, PLAIT_SUM, PLAIT_FLOAT64),
         }) {
      if (!words.empty()) return words;
    }
    const plait_call_config config = config_of("test_sparse:use=always");
    const plait_status got = plait_alltoall(c.comm, v.data(), v.data(), 5, PLAIT_FLOAT32, &config, nullptr);
    return expect(got, PLAIT_ERR_UNSUPPORTED, plait_last_error(c.comm),
                  {"plait_alltoall", "codecs go with allreduce"});
  });
}

TEST(CodecErrors, AKeyIsOfOneTensor) {
  know_codecs();
  ranks(2, [](Comm& c, int) -> std::string {
    std::vector<float> v(100), w(200);
    const plait_call_config config = config_of("test_coarse:use=always", 5);
    if (auto words = allreduce(c, v, config); !words.empty()) return words;
    const plait_status got =
        plait_allreduce(c.comm, w.data(), w.data(), 200, PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr);
    if (auto words = expect(got, PLAIT_ERR_INVALID, plait_last_error(c.comm),
                            {"tensor_key 5 is of 100 float32", "200"});
        !words.empty())
      return words;
    return allreduce(c, v, config);
  });
}

TEST(CodecErrors, RanksThatDifferAreToldSo) {
  know_codecs();
  ranks(2, [](Comm& c, int rank) -> std::string {
    std::vector<float> v(1000);
    const plait_call_config config = config_of(rank == 0 ? "test_sparse:use=always" : "");
    const plait_status got =
        plait_allreduce(c.comm, v.data(), v.data(), v.size(), PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr);
    return expect(got, PLAIT_ERR_MISMATCH, plait_last_error(c.comm), {"encoded by test_sparse"});
  });
}

TEST(CodecErrors, RegistrationSaysWhatIsWrong) {
  know_codecs();
  auto says = [](plait_codec_desc desc, const char* words) {
    EXPECT_EQ(plait_codec_register(&desc), PLAIT_ERR_INVALID);
    EXPECT_NE(std::string(plait_last_error(nullptr)).find(words), std::string::npos)
        << plait_last_error(nullptr);
  };
  plait_codec_desc d = sparse();
  says(d, "there is a codec \"test_sparse\" already");
  d.name = "with space";
  says(d, "letters, digits");
  d.name = nullptr;
  says(d, "letters, digits");
  d.name = "mine";
  d.decode = nullptr;
  says(d, "must be given");
  d = sparse();
  d.name = "mine";
  d.dtypes = 1u << 31;
  says(d, "no dtype");
  EXPECT_EQ(plait_codec_register(nullptr), PLAIT_ERR_INVALID);
}

}  // namespace
}  // namespace plait::test
