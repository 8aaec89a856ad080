// The loop of scaled sums: one operand is this rank's contribution, which is scaled as it is read. Plainer
// than that of kernel-inl.h; memory bounds it all the same.
#include "collectives/reduce/kernel-inl.h"

#if defined(PLAIT_REDUCE_SCALED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_REDUCE_SCALED_INL
#undef PLAIT_REDUCE_SCALED_INL
#else
#define PLAIT_REDUCE_SCALED_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

template <class Lanes>
class ScaledSum {
 public:
  explicit ScaledSum(const Fold& fold) noexcept : fold_(fold) {
    if constexpr (hwy::IsFloat<Scalar>()) {
      factor_ = static_cast<Scalar>(fold.op->real);
      divisor_ = static_cast<Scalar>(fold.ranks * fold.op->real);
    } else {
      factor_ = static_cast<Scalar>(fold.op->integer);
    }
  }

  // What is short of a full vector is taken in halves of it, nothing twice: an output may be an input.
  void run() const noexcept {
    constexpr size_t K = Lanes::kLanes;
    size_t done = 0;
    for (; done + K <= fold_.count; done += K) one<K>(done * kElement);
    rest<K / 2>(done * kElement, fold_.count - done);
  }

 private:
  using Scalar = typename Lanes::Scalar;
  static constexpr size_t kElement = sizeof(typename Lanes::Element);

  template <size_t K>
  HWY_INLINE typename Lanes::template Acc<K> operand(uint32_t k, size_t from) const {
    const auto v = Lanes::template load<K>(fold_.inputs[k] + from);
    return k == fold_.own ? Lanes::template enter<K>(v, factor_) : v;
  }

  template <size_t K>
  HWY_INLINE void one(size_t from) const {
    auto acc = operand<K>(0, from);
    for (uint32_t k = 1; k < fold_.input_count; k++)
      acc = Lanes::template call<Sum>(acc, operand<K>(k, from));
    if constexpr (hwy::IsFloat<Scalar>()) {
      if (fold_.ranks != 0) acc = Lanes::template divide<K>(acc, divisor_);
    }
    store_all<Lanes, K>(acc, fold_, from);
  }

  template <size_t K>
  HWY_INLINE void rest(size_t from, size_t count) const {
    if constexpr (K > 0) {
      if ((count & K) != 0) {
        one<K>(from);
        from += K * kElement;
      }
      rest<K / 2>(from, count);
    }
  }

  const Fold& fold_;
  Scalar factor_ = 1, divisor_ = 1;
};

template <class Lanes>
void scaled_sum(const Fold& fold) noexcept {
  ScaledSum<Lanes>(fold).run();
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
