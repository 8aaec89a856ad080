#include "transport/ucx/flight.h"

#include <algorithm>
#include <cstring>

#include "transport/ucx/domain.h"

namespace plait::transport::ucx {

namespace {

// The bytes of a Flight as UCP's generic datatype.
ucp_datatype_t packed() {
  static const ucp_datatype_t made = [] {
    ucp_generic_dt_ops_t ops{};
    ops.start_pack = [](void*, const void* flight, size_t) { return const_cast<void*>(flight); };
    ops.packed_size = [](void* flight) { return static_cast<Flight*>(flight)->bytes; };
    ops.pack = [](void* flight, size_t offset, void* to, size_t most) {
      const size_t bytes = std::min(most, static_cast<Flight*>(flight)->bytes - offset);
      static_cast<Flight*>(flight)->pack(static_cast<std::byte*>(to), offset, bytes);
      return bytes;
    };
    ops.finish = [](void*) {};
    ucp_datatype_t type = ucp_dt_make_contig(1);
    ucp_dt_create_generic(&ops, nullptr, &type);
    return type;
  }();
  return made;
}

void on_sent(void* request, ucs_status_t status, void* data) noexcept {
  Flight& flight = *static_cast<Flight*>(data);
  flight.domain->sent(flight, status);
  ucp_request_free(request);
}

}  // namespace

void Flight::revoke() noexcept {
  owner = nullptr;
  op = nullptr;
  from = nullptr;
  place = {};
  header = {};
}

void Flight::pack(std::byte* to, size_t offset, size_t most) const noexcept {
  if (from != nullptr) {
    std::memcpy(to, from + offset, most);
    return;
  }
  std::memset(to, 0, most);
  if (offset != 0 || most != bytes || place.nonce == 0) return;
  const RegionTable::Pin pin = domain->regions().pin(place.slot, place.nonce);
  if (!pin) return;
  std::memcpy(to, pin.base() + place.offset, bytes - sizeof kIntact);
  std::memcpy(to + bytes - sizeof kIntact, &kIntact, sizeof kIntact);
}

void send(Peer& peer, Flight& flight) noexcept {
  const bool own = flight.from == nullptr && flight.place.nonce == 0;  // nothing, or `small`
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = on_sent;
  param.user_data = &flight;
  if (!own) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = packed();
  }
  const void* from = own ? static_cast<const void*>(flight.small.data()) : &flight;
  void* request = ucp_am_send_nbx(peer.end, kMessages, &flight.header, sizeof flight.header, from,
                                  own ? flight.bytes : 1, &param);
  if (!UCS_PTR_IS_PTR(request)) flight.domain->sent(flight, UCS_PTR_STATUS(request));
}

}  // namespace plait::transport::ucx
