// Codecs as calls name them: "int8:block=64,links=hosts". One table a process, of plait's own and the user's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "collectives/codec/codec.h"
#include "collectives/plan.h"
#include "plait/codec.h"

namespace plait::runtime {

// A codec for one dtype and how calls use it. Lives as long as the process, so that calls compare its
// address.
struct CodecUse {
  std::string text;                                        // its name, with all its parameters, and ours
  uint32_t hash = 0;                                       // of that, never 0
  std::unique_ptr<const collectives::codec::Codec> codec;  // null: it is no wire, but a method of factors ...
  size_t rank = 0;                                         // ... of this rank: low_rank.h
  collectives::Encoded links = collectives::Encoded::all;
  bool edge = false;    // each rank encodes once
  bool always = false;  // whether it pays or not

  bool has_state() const noexcept { return codec == nullptr || codec->state_bytes() > 0; }
  bool exact() const noexcept { return codec != nullptr && codec->exact(); }
  std::string name() const;  // the codec's alone
  collectives::Encoding encoding() const noexcept {
    return {links, codec->exact(), codec->cost().ratio, codec->cost().encode_ns, codec->cost().decode_ns};
  }
};

// What a call's text means. Code::invalid, Code::unsupported say which word is wrong. Any thread.
Result<const CodecUse*> use_codec(std::string_view text, collectives::Dtype dtype);
// Its text; "codec #1c5a90f2" of one that this process never used. Any thread.
std::string codec_name(uint32_t hash);

// What plait_codec_register does. Any thread.
Status add_codec(const plait_codec_desc& desc);

}  // namespace plait::runtime
