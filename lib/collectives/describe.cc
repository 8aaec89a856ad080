// Programs in words.
#include <spdlog/fmt/fmt.h>

#include "collectives/program.h"

namespace plait::collectives {

std::string_view name_of(Op op) noexcept {
  switch (op) {
    case Op::send:
      return "send";
    case Op::recv:
      return "recv";
    case Op::recv_reduce:
      return "recv_reduce";
    case Op::copy:
      return "copy";
    case Op::reduce:
      return "reduce";
    case Op::encode:
      return "encode";
    case Op::decode:
      return "decode";
    case Op::decode_reduce:
      return "decode_reduce";
  }
  return "unknown op";
}

namespace {

std::string flags_of(uint8_t flags) {
  std::string text;
  if (flags & kMore) text += ", more";
  if (flags & kSwapped) text += ", swapped";
  if (flags & kChain) text += ", chain";
  if (flags & kLast) text += ", last";
  if (flags & kEnter) text += ", enter";
  return text;
}

}  // namespace

std::string describe(Place place) {
  switch (place.in()) {
    case Buffer::input:
      return fmt::format("input[{}]", uint32_t{place.slot});
    case Buffer::output:
      return fmt::format("output[{}]", uint32_t{place.slot});
    case Buffer::scratch:
      return fmt::format("scratch[{}]", uint32_t{place.slot});
    case Buffer::wire:
      return fmt::format("wire[{}]", uint32_t{place.slot});
    case Buffer::none:
      break;
  }
  return "nowhere";
}

std::string describe(const Step& s) {
  std::string text = fmt::format("{} chunk {}+{}", name_of(s.op), s.chunk, s.count);
  switch (s.op) {
    case Op::send:
      text += fmt::format(" from {} to rank {} lane {}", describe(s.src), s.peer, s.lane);
      break;
    case Op::recv:
      text += fmt::format(" from rank {} lane {} into {}", s.peer, s.lane, describe(s.dst));
      break;
    case Op::recv_reduce:
      text += fmt::format(" from rank {} lane {} with {} into {}", s.peer, s.lane, describe(s.src),
                          describe(s.dst));
      break;
    case Op::reduce:
    case Op::decode_reduce:
      text += fmt::format(" of {} and {} into {}", describe(s.src), describe(s.src2), describe(s.dst));
      break;
    default:
      text += fmt::format(" from {} into {}", describe(s.src), describe(s.dst));
  }
  return text + flags_of(s.flags);
}

std::string describe(const Program& program, uint32_t step) {
  return fmt::format("rank {} step {} ({})", program.rank, step, describe(program.steps[step]));
}

}  // namespace plait::collectives
