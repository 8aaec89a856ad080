// One rail to one peer, whose puts are RDMA writes, one each, with the signal: its number among all signals
// of the endpoint, a counter and what to add. The number shows the target whether one is missing: a provider
// that loses a connection makes another without a word, and what it was told to inject, or gave to the
// kernel, is gone.
//
// Where signals are bells (Choice::rings), one without bytes is a write, or an injected message that its
// receiver rings the bell of. The write tells its sender of its end, which costs two system calls; the
// message costs its receiver more than a bell. So whoever hears bells with many bytes, without waiting for
// them, sends messages: it is waited for.
//
// Gets are messages all the same: progress is the target's anyway, and the tcp provider of libfabric 1.17
// frees what a read uses twice when its connection ends in mid-read.
#pragma once

#include "fabric/signalled_writes.h"
#include "transport/ofi/endpoint.h"
#include "transport/ofi/region.h"

namespace plait::transport::ofi {

class DirectEndpoint final : public OfiEndpoint {
 public:
  using OfiEndpoint::OfiEndpoint;
  ~DirectEndpoint() override { leave(); }
  Status start() override;
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  Rest rest() const noexcept override;

 private:
  Status reach(const am::Ticket& peer) override;
  const char* refusal(const Transfer& transfer) const noexcept override;
  bool take(const Transfer& transfer) noexcept override;
  void let_go() noexcept override;
  void written(fabric::Context& context) noexcept override;
  void signalled(uint32_t word) noexcept override;
  void other(ByteView message) noexcept override;
  void listen() noexcept override;
  bool write(const Transfer& transfer) noexcept;
  bool ring(const Signal& signal) noexcept;
  uint32_t word_of(const Signal& s) const noexcept {
    return signal_word(their_where_.stamp + writes_.bells().sent(), s);
  }
  bool rings() const noexcept { return writes_.rings(); }

  fabric::SignalledWrites writes_;
  uint64_t seen_ = 0;             // signals
  bool much_ = false;             // came with the latest bell
  uint32_t waited_ = UINT32_MAX;  // polls in vain before the latest bell; many where several came at once
};

}  // namespace plait::transport::ofi
