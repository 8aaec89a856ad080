#include "collectives/codec/codec.h"

namespace plait::collectives::codec {
Result<std::unique_ptr<Codec>> make(std::string_view text, Dtype) {
  return Status(Code::invalid, "no codec \"" + std::string(text) + "\"");
}
std::string help() { return ""; }
}  // namespace plait::collectives::codec
