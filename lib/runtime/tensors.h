// What codecs with state keep from call to call, by tensor: the user's key says which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "base/bytes.h"
#include "base/pages.h"
#include "base/status.h"
#include "runtime/codecs.h"
#include "runtime/low_rank.h"

namespace plait::runtime {

struct TensorState {
  const CodecUse* codec = nullptr;
  collectives::Dtype dtype = collectives::Dtype::float32;
  uint64_t elements = 0;
  uint32_t sites = 0;  // how often a call encodes an element at most: each has a state of its own
  uint64_t turn = 0;   // calls so far
  Mapping data;        // null where nothing is kept
  std::unique_ptr<LowRank> low_rank;  // where the codec is a method of factors
  size_t bytes() const noexcept;      // of data that is kept
};

// Of one communicator, on this rank. One thread at a time.
class Tensors {
 public:
  // The state of a tensor, zero at first; stays where it is. Code::invalid: the key was used for other
  // elements, or with another codec. Code::memory.
  Result<TensorState*> find(uint64_t key, const CodecUse& codec, collectives::Dtype dtype, uint64_t elements,
                            uint32_t sites);
  // The same of a method of factors.
  Result<TensorState*> find(uint64_t key, const CodecUse& codec, const collectives::lowrank::Shape& shape);
  // All of it as bytes, and back. Code::invalid: the bytes are none of save(), of this rank of so many, or of
  // other tensors by the same keys. What find() gave stays where it is.
  Bytes save(int32_t rank, int32_t size) const;
  Status load(ByteView bytes, int32_t rank, int32_t size);

 private:
  Result<TensorState*> enter(uint64_t key, const CodecUse& codec, collectives::Dtype dtype,
                             uint64_t elements);
  std::map<uint64_t, std::unique_ptr<TensorState>> by_key_;
};

}  // namespace plait::runtime
