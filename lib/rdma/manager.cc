#include "rdma/manager.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/address.h"
#include "base/log.h"

namespace plait::rdma {

namespace {

constexpr int kResolveMs = 2000, kBacklog = 1024;

// What a dialer says.
struct Greeting {
  uint64_t to = 0, from = 0;
};

SocketAddress address_of(const Gid& gid, uint16_t port) noexcept {
  Address address;
  address.family = is_ip4(gid) ? 4 : 6;
  std::copy(gid.begin() + (is_ip4(gid) ? 12 : 0), gid.end(), address.bytes.begin());
  return to_socket(address.with_port(port));
}

void* context_of(const Connection& connection) noexcept { return reinterpret_cast<void*>(connection.mine); }

Status refused(const Connection& connection, std::string_view step) {
  return Status::system(errno, std::string(step) + " " + to_string(connection.gid));
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

uint16_t Manager::port() const noexcept {
  return listener_ == nullptr ? 0 : ntohs(rdma_get_src_port(listener_.get()));
}

void Manager::abandon() noexcept {
  (void)listener_.release();
  (void)channel_.release();
}

void Manager::abandon(Connection& connection) noexcept {
  (void)connection.id.release();
  known_.erase(connection.mine);
}

Connection* Manager::find(uint64_t nonce) noexcept {
  const auto found = known_.find(nonce);
  return found == known_.end() ? nullptr : found->second;
}

Status Manager::connect(Connection& c) {
  if (c.mine <= c.theirs) return dial(c);
  return c.dialed_by != 0 && c.dialed_by == c.theirs ? accept(c) : Status();
}

void Manager::remove(Connection& connection) noexcept {
  if (connection.id != nullptr) rdma_disconnect(connection.id.get());
  connection.id.reset();
  known_.erase(connection.mine);
}

Status Manager::dial(Connection& c) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, context_of(c), RDMA_PS_TCP) != 0)
    return Status::system(errno, "an identifier of the RDMA connection manager");
  c.id.reset(id);
  uint8_t service = options_.traffic_class;
  rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &service, sizeof service);
  SocketAddress own = address_of(gid_, 0), far = address_of(c.gid, c.port);
  return rdma_resolve_addr(id, own.get(), far.get(), kResolveMs) == 0 ? Status()
                                                                      : refused(c, "the address of peer");
}

rdma_conn_param Manager::parameters(const Connection& connection) const noexcept {
  rdma_conn_param parameters{};
  parameters.qp_num = connection.queue_pair->number();
  parameters.srq = 1;
  parameters.responder_resources = connection.reads_in;
  parameters.initiator_depth = connection.reads_out;
  parameters.retry_count = options_.retries;
  parameters.rnr_retry_count = options_.rnr_retries;
  return parameters;
}

Status Manager::offer(Connection& c) {
  PLAIT_TRY(raise(c, {IBV_QPS_INIT}));
  rdma_conn_param wish = parameters(c);
  const Greeting greeting{c.theirs, c.mine};
  wish.private_data = &greeting;
  wish.private_data_len = sizeof greeting;
  return rdma_connect(c.id.get(), &wish) == 0 ? Status() : refused(c, "connecting to peer");
}

Status Manager::accept(Connection& c) {
  c.id->context = context_of(c);
  PLAIT_TRY(raise(c, {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}));
  rdma_conn_param wish = parameters(c);
  return rdma_accept(c.id.get(), &wish) == 0 ? Status() : refused(c, "accepting peer");
}

Status Manager::finish(Connection& c) {
  PLAIT_TRY(raise(c, {IBV_QPS_RTR, IBV_QPS_RTS}));
  return rdma_establish(c.id.get()) == 0 ? Status() : refused(c, "connecting to peer");
}

Status Manager::raise(Connection& c, std::initializer_list<ibv_qp_state> states) {
  for (const ibv_qp_state state : states) {
    ibv_qp_attr attributes{};
    int mask = 0;
    attributes.qp_state = state;
    if (rdma_init_qp_attr(c.id.get(), &attributes, &mask) != 0)
      return refused(c, "what the connection manager knows of peer");
    if (state == IBV_QPS_INIT) attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    if (state == IBV_QPS_INIT) mask |= IBV_QP_ACCESS_FLAGS;
    if (state == IBV_QPS_RTS) attributes.timeout = options_.timeout;
    PLAIT_TRY(c.queue_pair->set(attributes, mask, "what the connection manager wants"));
  }
  return {};
}

// Somebody dialed. Who knows both nonces has read what the two sides told each other.
void Manager::requested(rdma_cm_id* raw, uint64_t to, uint64_t from) noexcept {
  Owned<rdma_cm_id, rdma_destroy_id> id(raw);
  Connection* c = find(to);
  const bool early = c != nullptr && c->theirs == 0;
  if (c == nullptr || c->id != nullptr || !(early || c->theirs == from)) {
    log::info("rdma: turned away a connection: it names no endpoint that waits for one");
    rdma_reject(raw, nullptr, 0);
    return;
  }
  c->id = std::move(id);
  c->dialed_by = from;
  if (early) return;
  if (const Status status = accept(*c); !status.ok()) tell(*c, status);
}

bool Manager::look() noexcept {
  rdma_cm_event* event = nullptr;
  bool any = false;
  while (channel_ != nullptr && rdma_get_cm_event(channel_.get(), &event) == 0) {
    any = true;
    const rdma_cm_event copy = *event;
    const bool request = copy.event == RDMA_CM_EVENT_CONNECT_REQUEST;
    Greeting said;
    if (const auto& conn = event->param.conn;
        request && conn.private_data != nullptr && conn.private_data_len >= sizeof said)
      std::memcpy(&said, conn.private_data, sizeof said);
    rdma_ack_cm_event(event);
    if (request) {
      requested(copy.id, said.to, said.from);
    } else if (Connection* c = find(reinterpret_cast<uint64_t>(copy.id->context)); c != nullptr) {
      advance(*c, copy);
    }
  }
  return any;
}

// Who is told of an end may remove the connection.
void Manager::tell(const Connection& connection, const Status& status) noexcept {
  told_(connection.user, status);
}

void Manager::advance(Connection& c, const rdma_cm_event& event) noexcept {
  const std::string peer = "peer " + to_string(c.gid);
  Status status;
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      status = rdma_resolve_route(c.id.get(), kResolveMs) == 0 ? Status() : refused(c, "a route to peer");
      break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      status = offer(c);
      break;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return tell(c, finish(c));
    case RDMA_CM_EVENT_ESTABLISHED:
      return tell(c, {});
    case RDMA_CM_EVENT_DISCONNECTED:
      return tell(c, Status(Code::peer, peer + " closed this endpoint, or its process has gone"));
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return;
    default:
      status = Status(Code::peer, "connecting to " + peer + " failed: " + rdma_event_str(event.event) + " (" +
                                      std::to_string(event.status) +
                                      "): is it alive, and is there a route to it from this port?");
  }
  if (!status.ok()) tell(c, status);
}

}  // namespace plait::rdma
