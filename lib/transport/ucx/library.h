// UCX itself: a UCP context and its one worker, set up as a library inside somebody's program must be.
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <string>

#include "base/bytes.h"
#include "transport/ucx/ucx.h"

namespace plait::transport::ucx {

constexpr unsigned kMessages = 7;  // the id of our active messages

class Library {
 public:
  // `on_message` is called with `owner` in ucp_worker_progress().
  static Result<std::unique_ptr<Library>> open(const Options& options, ucp_am_recv_callback_t on_message,
                                               void* owner);
  ~Library();
  ucp_worker_h worker() const noexcept { return worker_; }
  int wait_fd() const noexcept { return wait_fd_; }
  ByteView address() const noexcept { return address_; }
  // Whether endpoints tell of failures (UCP_ERR_HANDLING_MODE_PEER).
  bool peer_errors() const noexcept { return peer_errors_; }
  // Bytes that go with a header in one packet of every transport that may be chosen.
  size_t piece() const noexcept { return piece_; }
  // UCX_TLS, for sentences.
  const std::string& transports() const noexcept { return transports_; }
  // Never blocks; later failures go to `on_error`.
  ucs_status_t connect(ByteView address, const ucp_err_handler_t& on_error, ucp_ep_h& end) noexcept;
  // And forgets what it did not send; null: it was closed.
  void close(ucp_ep_h& end) noexcept;

 private:
  Status start(const Options& options);
  Status start_worker(ucp_am_recv_callback_t on_message, void* owner);
  void probe() noexcept;

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int wait_fd_ = -1;
  Bytes address_;
  bool peer_errors_ = true;
  size_t piece_ = 0;
  std::string transports_;
};

}  // namespace plait::transport::ucx
