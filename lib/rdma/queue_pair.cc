#include "rdma/queue_pair.h"

#include <algorithm>
#include <cerrno>

namespace plait::rdma {

namespace {

constexpr uint8_t kReceiveTimer = 12;  // 0.64 ms, after which who met no receive tries again
constexpr int kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kReceiveMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kSendMask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

// The calls that newer drivers have, for what ibv_post_send() takes.
int post_extended(ibv_qp_ex& queue_pair, const ibv_send_wr* request) noexcept {
  ibv_wr_start(&queue_pair);
  for (; request != nullptr; request = request->next) {
    const auto& [address, key] = request->wr.rdma;
    queue_pair.wr_id = request->wr_id;
    queue_pair.wr_flags = request->send_flags;
    if (request->opcode == IBV_WR_RDMA_READ)
      ibv_wr_rdma_read(&queue_pair, key, address);
    else if (request->opcode == IBV_WR_RDMA_WRITE)
      ibv_wr_rdma_write(&queue_pair, key, address);
    else
      ibv_wr_rdma_write_imm(&queue_pair, key, address, request->imm_data);
    const ibv_sge* part = request->sg_list;
    if ((request->send_flags & IBV_SEND_INLINE) != 0)
      ibv_wr_set_inline_data(&queue_pair, reinterpret_cast<void*>(part->addr), part->length);
    else
      ibv_wr_set_sge_list(&queue_pair, size_t(request->num_sge), part);
  }
  return ibv_wr_complete(&queue_pair);
}

}  // namespace

Status QueuePair::make(Device& device, const Wish& wish) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_context = reinterpret_cast<void*>(wish.user);
  attributes.send_cq = attributes.recv_cq = wish.completions;
  attributes.srq = wish.receives;
  attributes.qp_type = IBV_QPT_RC;
  attributes.pd = &device.pd();
  attributes.cap.max_send_wr = wish.depth;
  attributes.cap.max_send_sge = 1;
  attributes.cap.max_inline_data = wish.inline_bytes;
  if (wish.receives == nullptr) attributes.cap.max_recv_wr = attributes.cap.max_recv_sge = 1;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attributes.send_ops_flags =
      IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;
  made_.reset(ibv_create_qp_ex(&device.context(), &attributes));
  extended_ = made_ == nullptr ? nullptr : ibv_qp_to_qp_ex(made_.get());
  if (made_ != nullptr) return {};
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  made_.reset(ibv_create_qp_ex(&device.context(), &attributes));
  return made_ != nullptr ? Status() : Status::system(errno, "a queue pair (ulimit -l? too many of them?)");
}

void QueuePair::destroy() noexcept {
  made_.reset();
  extended_ = nullptr;
}

Status QueuePair::set(ibv_qp_attr attributes, int mask, std::string_view step) {
  if (made_ == nullptr) return Status(Code::state, "the queue pair has gone");
  const int error = ibv_modify_qp(made_.get(), &attributes, mask);
  if (error == 0) return {};
  return Status::system(error, "the queue pair could not be set to " + std::string(step));
}

Status QueuePair::init(uint8_t port, unsigned rights) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port;
  attributes.qp_access_flags = rights;
  return set(attributes, kInitMask, "INIT");
}

Status QueuePair::bring_up(const Path& path) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = path.mtu;
  a.dest_qp_num = path.queue_pair;
  a.rq_psn = path.first_in & 0xffffff;
  a.max_dest_rd_atomic = path.reads_in;
  a.min_rnr_timer = kReceiveTimer;
  a.ah_attr.dlid = path.lid;
  a.ah_attr.sl = path.service_level;
  a.ah_attr.port_num = path.port;
  a.ah_attr.is_global = path.global;
  std::copy(path.gid.begin(), path.gid.end(), a.ah_attr.grh.dgid.raw);
  a.ah_attr.grh.sgid_index = path.gid_index;
  a.ah_attr.grh.hop_limit = 64;
  a.ah_attr.grh.traffic_class = path.traffic_class;
  PLAIT_TRY(set(a, kReceiveMask, "RTR (is there a route from this port to the peer?)"));
  a.qp_state = IBV_QPS_RTS;
  a.timeout = path.timeout;
  a.retry_cnt = path.retries;
  a.rnr_retry = path.rnr_retries;
  a.sq_psn = path.first_out & 0xffffff;
  a.max_rd_atomic = path.reads_out;
  return set(a, kSendMask, "RTS");
}

Status QueuePair::reset() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  return set(attributes, IBV_QP_STATE, "RESET");
}

void QueuePair::fail() noexcept {
  if (made_ == nullptr) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(made_.get(), &attributes, IBV_QP_STATE);
}

int QueuePair::post(ibv_send_wr* chain) noexcept {
  ibv_send_wr* bad = nullptr;
  return extended_ != nullptr ? post_extended(*extended_, chain) : ibv_post_send(made_.get(), chain, &bad);
}

Result<uint32_t> inline_limit(Device& device, uint32_t wanted) {
  const Owned<ibv_cq, ibv_destroy_cq> queue(ibv_create_cq(&device.context(), 1, nullptr, nullptr, 0));
  if (queue == nullptr) return Status::system(errno, "a completion queue (ulimit -l?)");
  for (uint32_t bytes = wanted;; bytes /= 2) {
    QueuePair probe;
    const Status status = probe.make(device, {queue.get(), nullptr, 1, bytes, 0});
    if (status.ok()) return bytes;
    if (bytes == 0) return status;
  }
}

}  // namespace plait::rdma
