// An endpoint's life; progress.cc: what goes to the provider, and what comes of it.
#include "transport/ofi/endpoint.h"

#include <algorithm>

#include "transport/ofi/domain.h"

namespace plait::transport::ofi {
namespace {

constexpr size_t kMostBytes = 8192;  // of a message
constexpr const char* kLost = "some were lost on the way, or the provider connected anew in between";

// What is injected is the provider's own copy. Of processes of one host it may else read memory later, when
// this endpoint is closed, and its memory is somebody else's.
size_t message_bytes_for(const fabric::Choice& choice) noexcept {
  return choice.network ? kMostBytes : std::min(kMostBytes, choice.info->tx_attr->inject_size);
}

// The one with the smaller nonce greets first, so that there are never two connections.
am::Manners manners_for(const fabric::Choice& choice) noexcept {
  return {.piece = message_bytes_for(choice) - sizeof(am::Header) - sizeof am::kIntact,
          .both_greet = false,
          .says_goodbye = false,
          .out_of_turn = kLost};
}

}  // namespace

OfiEndpoint::OfiEndpoint(OfiDomain& domain, const am::TicketHead& mine, uint64_t cookie)
    : MessageEndpoint(domain, mine, cookie, manners_for(domain.device()->choice())),
      device_(domain.device()),
      message_bytes_(message_bytes_for(device_->choice())) {}

OfiEndpoint::~OfiEndpoint() {
  leave();
  hang_up();
}

OfiDomain& OfiEndpoint::ours() const noexcept { return *static_cast<OfiDomain*>(domain()); }

Status OfiEndpoint::start() {
  PLAIT_TRY(line_.open(device()));
  ours().sleep().add(*line_.queue());
  PLAIT_TRY(slots_.open(device(), line_, message_bytes_));
  where_.mode = uint8_t(device().choice().mode);
  where_.protocol = ours().protocol();
  Bytes address;
  append(address, where_);
  address.insert(address.end(), line_.address().begin(), line_.address().end());
  announce(address);
  return {};
}

Status OfiEndpoint::reach(const am::Ticket& peer) {
  ByteView address = peer.address;
  const auto where = parse_where(address);
  if (!where)
    return Status(Code::invalid, "ofi: the peer's ticket makes no sense: does it run this version of plait?");
  if (where->mode != where_.mode || where->protocol != where_.protocol)
    return Status(Code::invalid,
                  "ofi: the peer uses another provider, or uses it another way: give all ranks the same "
                  "PLAIT_NETWORK, FI_* variables and libfabric");
  their_where_ = *where;
  return line_.meet(address);
}

std::string OfiEndpoint::peer_name() const {
  const std::string at = line_.peer_text();
  return MessageEndpoint::peer_name() + " (" + device().choice().provider() + (at.empty() ? "" : ", ") + at +
         ")";
}

void OfiEndpoint::break_off(Code code, const std::string& why) noexcept {
  fail(code, peer_name() + ": " + why);
}

void OfiEndpoint::let_go() noexcept {
  if (state() == State::closed) hang_up();
}

void OfiEndpoint::hang_up() noexcept {
  if (domain() == nullptr || !domain()->is_this_process() || !line_.is_open()) return;
  ours().sleep().remove(*line_.queue());
  line_.close();
}

OfiEndpoint::Rest OfiEndpoint::rest() const noexcept {
  if (!line_.is_open()) return Rest::sleep;
  if (slots_.front() != nullptr) return Rest::now;
  return pending() ? Rest::soon : Rest::sleep;
}

}  // namespace plait::transport::ofi
