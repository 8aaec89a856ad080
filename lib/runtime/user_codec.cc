#include "runtime/user_codec.h"

#include <algorithm>

#include "runtime/names.h"

namespace plait::runtime {

using collectives::Dtype;
using namespace collectives::codec;

namespace {

// Nanoseconds a byte, where the user does not say.
constexpr double kCopyNs = 0.1;

class UserCodec final : public Codec {
 public:
  UserCodec(const plait_codec_desc& desc, Dtype dtype)
      : desc_(desc),
        dtype_(dtype),
        element_(collectives::size_of(dtype)),
        add_(collectives::fold_kernel(dtype, collectives::ReduceOp::sum)) {}

  std::string name() const override { return desc_.name; }
  bool exact() const noexcept override { return desc_.exact != 0; }
  size_t bound(size_t count) const noexcept override { return desc_.bound(desc_.context, count, plain()); }
  size_t state_bytes() const noexcept override { return desc_.state_bytes; }
  size_t work_bytes(size_t count) const noexcept override { return count * element_; }
  Cost cost() const noexcept override {
    auto given = [](double value, double otherwise) { return value > 0 ? value : otherwise; };
    return {given(desc_.encode_ns, kCopyNs), given(desc_.decode_ns, kCopyNs), given(desc_.ratio, 1)};
  }

  size_t encode(const Piece& piece, const std::byte* values, std::byte* state, std::byte*,
                std::byte* wire) const noexcept override {
    const size_t length = desc_.encode(desc_.context, values, piece.count, plain(), state, wire);
    return std::min(length, bound(piece.count));
  }
  const char* decode(const std::byte* wire, size_t bytes, size_t count, std::byte*,
                     std::byte* values) const noexcept override {
    return answer(desc_.decode(desc_.context, wire, bytes, values, count, plain()));
  }
  const char* decode_add(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                         std::byte* values) const noexcept override {
    if (desc_.decode_reduce != nullptr)
      return answer(desc_.decode_reduce(desc_.context, wire, bytes, values, count, plain()));
    const char* problem = decode(wire, bytes, count, nullptr, work);
    if (problem != nullptr) return problem;
    const std::byte* const inputs[] = {values, work};
    add_({.inputs = inputs, .input_count = 2, .outputs = &values, .output_count = 1, .count = count});
    return nullptr;
  }

 private:
  plait_dtype plain() const noexcept { return plait_dtype(dtype_); }
  static const char* answer(int result) noexcept { return result == 0 ? nullptr : "its function says so"; }

  const plait_codec_desc desc_;
  const Dtype dtype_;
  const size_t element_;
  const collectives::FoldKernel add_;
};

}  // namespace

Result<std::unique_ptr<const Codec>> make_user_codec(const plait_codec_desc& desc, Dtype dtype) {
  const uint32_t dtypes = desc.dtypes == 0 ? 1u << uint32_t(Dtype::float32) : desc.dtypes;
  if ((dtypes >> uint32_t(dtype) & 1) == 0) {
    return Status(Code::unsupported, "codec " + std::string(desc.name) + " does not take " +
                                         std::string(dtype_name(int32_t(dtype))));
  }
  return std::unique_ptr<const Codec>(std::make_unique<UserCodec>(desc, dtype));
}

}  // namespace plait::runtime
