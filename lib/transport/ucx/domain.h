// The domain: UCX's worker, the peers it met, and what polling and sleeping mean.
#pragma once

#include "transport/am/domain.h"
#include "transport/ucx/endpoint.h"
#include "transport/ucx/library.h"

namespace plait::transport::ucx {

constexpr Maker kMaker{"ucx", "UCX", 0x58435550, 3};  // "PUCX"

// Identity::use. kPeerErrors: endpoints tell of failures, which both sides must ask UCX for. kLocal: stays on
// its host.
enum Reach : uint8_t { kPeerErrors = 1, kLocal = 2 };

class UcxDomain final : public am::MessageDomain {
 public:
  explicit UcxDomain(const Options& options) : MessageDomain(kMaker, options.label), options_(options) {}
  ~UcxDomain() override;
  Status start();

  bool reaches(ByteView peer_identity) const noexcept override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override { return idle() && ucp_worker_arm(library_->worker()) == UCS_OK; }
  int wait_fd() const noexcept override { return library_->wait_fd(); }
  void trim() noexcept override;

  // What endpoints and flights call.
  Library& library() noexcept { return *library_; }
  // The peer of this ticket: known already, or met now.
  ucs_status_t meet(const am::Ticket& ticket, Peer*& peer) noexcept;
  Slab<Flight>& flights() noexcept { return flights_; }
  // Of the flights that an endpoint may have, so many are under way and have no owner any more.
  void left_behind(size_t most, size_t flying) noexcept;
  void landed(Flight& flight, ucs_status_t status) noexcept;
  // An error of a message is its peer's, too.
  static void on_error(void* peer, ucp_ep_h end, ucs_status_t status) noexcept;

 private:
  Result<std::unique_ptr<am::MessageEndpoint>> make(const am::TicketHead& mine, uint64_t cookie) override;
  static ucs_status_t on_message(void* domain, const void* header, size_t header_bytes, void* data,
                                 size_t bytes, const ucp_am_recv_param_t* param) noexcept;
  void lose(Peer& peer) noexcept;

  const Options options_;
  Slab<Flight> flights_;
  std::vector<std::unique_ptr<Peer>> peers_;
  size_t lost_ = 0;                   // peers, of whom endpoints were not told
  size_t strays_ = 0;                 // flights without owners
  bool rested_ = false;               // the last poll did not ask UCX
  std::unique_ptr<Library> library_;  // goes before all of these
};

}  // namespace plait::transport::ucx
