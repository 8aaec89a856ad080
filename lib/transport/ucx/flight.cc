#include "transport/ucx/flight.h"

#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "transport/ucx/domain.h"

namespace plait::transport::ucx {
namespace {

// The bytes of a Flight as UCP's generic datatype.
ucp_datatype_t packed() {
  static const ucp_datatype_t made = [] {
    ucp_generic_dt_ops_t ops{};
    ops.start_pack = [](void*, const void* flight, size_t) { return const_cast<void*>(flight); };
    ops.packed_size = [](void* flight) { return static_cast<Flight*>(flight)->message.bytes; };
    ops.pack = [](void* flight, size_t offset, void* to, size_t most) {
      const size_t bytes = std::min(most, static_cast<Flight*>(flight)->message.bytes - offset);
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
  flight.domain->landed(flight, status);
  ucp_request_free(request);
}

}  // namespace

void Flight::pack(std::byte* to, size_t offset, size_t most) const noexcept {
  if (message.from != nullptr) {
    copy_bytes(to, message.from + offset, most);
  } else if (am::Kind(message.header.kind) == am::Kind::data && most == message.bytes) {
    message.pack(domain->regions(), to);
  } else {
    std::memset(to, 0, most);
  }
}

ucs_status_t Flight::send(ucp_ep_h end) noexcept {
  if (message.from != nullptr && message.bytes <= kInline) {
    std::memcpy(small.data(), message.from, message.bytes);
    message.from = small.data();
  }
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                       UCP_OP_ATTR_FIELD_DATATYPE;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = on_sent;
  param.user_data = this;
  param.datatype = packed();
  void* request = ucp_am_send_nbx(end, kMessages, &message.header, sizeof message.header, this, 1, &param);
  return UCS_PTR_IS_PTR(request) ? UCS_INPROGRESS : UCS_PTR_STATUS(request);
}

}  // namespace plait::transport::ucx
