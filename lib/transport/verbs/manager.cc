#include "transport/verbs/manager.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/address.h"
#include "base/log.h"
#include "transport/verbs/domain.h"

namespace plait::transport::verbs {

namespace {

constexpr int kResolveMs = 2000, kBacklog = 1024;

// What a dialer says. The nonces are in the tickets.
struct Greeting {
  uint64_t to = 0, from = 0;
};

SocketAddress address_of(const Gid& gid, uint16_t port) noexcept {
  Address address;
  address.family = is_ip4(gid) ? 4 : 6;
  std::copy(gid.begin() + (is_ip4(gid) ? 12 : 0), gid.end(), address.bytes.begin());
  return to_socket(address.with_port(port));
}

}  // namespace

Status Manager::start(const Gid& gid) {
  gid_ = gid;
  channel_.reset(rdma_create_event_channel());
  if (channel_ == nullptr)
    return Status::system(errno, "the RDMA connection manager (is the module rdma_ucm loaded?)");
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0)
    return Status::system(errno, "an identifier of the RDMA connection manager");
  listener_.reset(id);
  const int flags = fcntl(channel_->fd, F_GETFL);
  SocketAddress own = address_of(gid, 0);
  if (fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0 || rdma_bind_addr(id, own.get()) != 0 ||
      rdma_listen(id, kBacklog) != 0)
    return Status::system(errno, "listening for RDMA connections at " + to_string(gid));
  return {};
}

Status Manager::connect(VerbsEndpoint& endpoint) {
  auto& connection = endpoint.connection();
  if (endpoint.mine().endpoint > endpoint.theirs().endpoint) {
    if (connection == nullptr) connection = std::make_unique<Connection>();
    return connection->from != 0 && connection->from == endpoint.theirs().endpoint
               ? accept(endpoint, *connection->id)
               : Status();
  }
  connection = std::make_unique<Connection>();
  return dial(endpoint, *connection);
}

Status Manager::dial(VerbsEndpoint& endpoint, Connection& connection) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, reinterpret_cast<void*>(endpoint.id()), RDMA_PS_TCP) != 0)
    return Status::system(errno, "an identifier of the RDMA connection manager");
  connection.id.reset(id);
  uint8_t service = domain_.options().traffic_class;
  rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &service, sizeof service);
  SocketAddress own = address_of(gid_, 0), far = address_of(endpoint.theirs().gid, endpoint.theirs().cm_port);
  if (rdma_resolve_addr(id, own.get(), far.get(), kResolveMs) != 0)
    return Status::system(errno, "the address of " + endpoint.peer_name());
  return {};
}

rdma_conn_param Manager::parameters(const VerbsEndpoint& endpoint) const noexcept {
  rdma_conn_param parameters{};
  parameters.qp_num = endpoint.mine().queue_pair;
  parameters.srq = 1;
  parameters.responder_resources = endpoint.mine().reads;
  parameters.initiator_depth = std::min(endpoint.mine().reads, endpoint.theirs().reads);
  parameters.retry_count = domain_.options().retries;
  parameters.rnr_retry_count = domain_.options().rnr_retries;
  return parameters;
}

Status Manager::offer(VerbsEndpoint& endpoint, rdma_cm_id& id) {
  PLAIT_TRY(raise(endpoint, id, {IBV_QPS_INIT}));
  rdma_conn_param wish = parameters(endpoint);
  const Greeting greeting{endpoint.theirs().endpoint, endpoint.mine().endpoint};
  wish.private_data = &greeting;
  wish.private_data_len = sizeof greeting;
  if (rdma_connect(&id, &wish) != 0) return Status::system(errno, "connecting to " + endpoint.peer_name());
  return {};
}

Status Manager::accept(VerbsEndpoint& endpoint, rdma_cm_id& id) {
  id.context = reinterpret_cast<void*>(endpoint.id());
  PLAIT_TRY(raise(endpoint, id, {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}));
  rdma_conn_param wish = parameters(endpoint);
  if (rdma_accept(&id, &wish) != 0) return Status::system(errno, "accepting " + endpoint.peer_name());
  return {};
}

Status Manager::finish(VerbsEndpoint& endpoint, rdma_cm_id& id) {
  PLAIT_TRY(raise(endpoint, id, {IBV_QPS_RTR, IBV_QPS_RTS}));
  if (rdma_establish(&id) != 0) return Status::system(errno, "connecting to " + endpoint.peer_name());
  endpoint.connected();
  return {};
}

Status Manager::raise(VerbsEndpoint& endpoint, rdma_cm_id& id, std::initializer_list<ibv_qp_state> states) {
  for (const ibv_qp_state state : states) {
    ibv_qp_attr attributes{};
    int mask = 0;
    attributes.qp_state = state;
    if (rdma_init_qp_attr(&id, &attributes, &mask) != 0)
      return Status::system(errno, "what the connection manager knows of " + endpoint.peer_name());
    if (state == IBV_QPS_INIT) attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    if (state == IBV_QPS_INIT) mask |= IBV_QP_ACCESS_FLAGS;
    if (state == IBV_QPS_RTS) attributes.timeout = domain_.options().timeout;
    PLAIT_TRY(endpoint.apply(attributes, mask, "what the connection manager wants"));
  }
  return {};
}

void Manager::disconnect(VerbsEndpoint& endpoint) noexcept {
  if (endpoint.connection() != nullptr && endpoint.connection()->id != nullptr)
    rdma_disconnect(endpoint.connection()->id.get());
}

// Somebody dialed. Who knows both nonces has read the tickets.
void Manager::requested(rdma_cm_id* raw, ByteView said) noexcept {
  Owned<rdma_cm_id, rdma_destroy_id> id(raw);
  Greeting greeting;
  VerbsEndpoint* endpoint = take(said, greeting) ? domain_.by_nonce(greeting.to) : nullptr;
  const bool early = endpoint != nullptr && endpoint->state() == State::opened;
  const bool known = endpoint != nullptr && endpoint->state() == State::connecting &&
                     endpoint->theirs().endpoint == greeting.from && endpoint->connection() != nullptr;
  if (!(early || known) || (endpoint->connection() != nullptr && endpoint->connection()->id != nullptr)) {
    log::info("{}: turned away a connection: it names no endpoint that waits for one", domain_.name());
    rdma_reject(raw, nullptr, 0);
    return;
  }
  if (endpoint->connection() == nullptr) endpoint->connection() = std::make_unique<Connection>();
  endpoint->connection()->id = std::move(id);
  endpoint->connection()->from = greeting.from;
  if (early) return;
  const Status status = accept(*endpoint, *raw);
  if (!status.ok()) endpoint->fail(status.code(), std::string(status.text()));
}

bool Manager::look() noexcept {
  rdma_cm_event* event = nullptr;
  bool any = false;
  while (channel_ != nullptr && rdma_get_cm_event(channel_.get(), &event) == 0) {
    any = true;
    const rdma_cm_event copy = *event;
    const auto& param = event->param.conn;
    const bool request = copy.event == RDMA_CM_EVENT_CONNECT_REQUEST;
    Bytes said;
    if (request && param.private_data != nullptr) {
      const auto* data = static_cast<const std::byte*>(param.private_data);
      said.assign(data, data + std::min<size_t>(param.private_data_len, sizeof(Greeting)));
    }
    rdma_ack_cm_event(event);
    if (request) {
      requested(copy.id, said);
      continue;
    }
    VerbsEndpoint* endpoint = domain_.by_id(reinterpret_cast<uint64_t>(copy.id->context));
    if (endpoint == nullptr) continue;
    const Status status = advance(*endpoint, *copy.id, copy);
    if (!status.ok())
      endpoint->fail(status.code(), std::string(domain_.name()) + ": " + std::string(status.text()));
  }
  return any;
}

Status Manager::advance(VerbsEndpoint& endpoint, rdma_cm_id& id, const rdma_cm_event& event) {
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (rdma_resolve_route(&id, kResolveMs) != 0)
        return Status::system(errno, "a route to " + endpoint.peer_name());
      return {};
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return offer(endpoint, id);
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return finish(endpoint, id);
    case RDMA_CM_EVENT_ESTABLISHED:
      endpoint.connected();
      return {};
    case RDMA_CM_EVENT_DISCONNECTED:
      return Status(Code::peer, endpoint.peer_name() + " closed this endpoint, or its process has gone");
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return {};
    default:
      return Status(Code::peer, "connecting to " + endpoint.peer_name() + " failed: " +
                                    rdma_event_str(event.event) + " (" + std::to_string(event.status) +
                                    "): is it alive, and is there a route to it from this port?");
  }
}

}  // namespace plait::transport::verbs
