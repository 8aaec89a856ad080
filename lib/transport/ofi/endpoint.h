// One rail to one peer: a libfabric endpoint of its own, so that closing it ends all that could come through
// it. Puts and gets are messages, which are copied at both sides: so a source is free once its last one is
// sent.
#pragma once

#include "fabric/message_slots.h"
#include "transport/am/endpoint.h"
#include "transport/ofi/wire.h"

namespace plait::transport::ofi {

class OfiDomain;

constexpr size_t kPollBytes = size_t{256} << 10;

class OfiEndpoint : public am::MessageEndpoint {
 public:
  OfiEndpoint(OfiDomain& domain, const am::TicketHead& mine, uint64_t cookie);
  ~OfiEndpoint() override;
  virtual Status start();  // opens what libfabric has to have

  // What the domain calls.
  void progress(size_t& budget) noexcept;
  // What there would be to do without anything new from outside.
  enum class Rest : uint8_t { sleep, soon, now };
  virtual Rest rest() const noexcept;
  uint32_t quiet = 0;  // polls that found nothing

 protected:
  Status reach(const am::Ticket& peer) override;
  am::Sent send(const am::Message& message) noexcept override;
  void let_go() noexcept override;
  std::string peer_name() const override;
  // Direct: a write was done; a signal came with a write; a message came that is none for all endpoints;
  // looks for signals, and sends what there was no room for.
  virtual void written(fabric::Context& /*context*/) noexcept {}
  virtual void signalled(uint32_t /*word*/) noexcept {}
  virtual void other(ByteView /*message*/) noexcept {}
  virtual void listen() noexcept {}

  OfiDomain& ours() const noexcept;
  const fabric::Device& device() const noexcept { return *device_; }
  // 0: done. Else there is no room, or the endpoint fails.
  am::Sent went(ssize_t rc, const char* doing) noexcept;

  Where where_, their_where_;
  fabric::Endpoint line_;

 private:
  void read() noexcept;
  void read_error() noexcept;
  void take_messages(size_t& budget) noexcept;
  void break_off(Code code, const std::string& why) noexcept;
  void hang_up() noexcept;

  const std::shared_ptr<const fabric::Device> device_;
  const size_t message_bytes_;
  fabric::MessageSlots slots_;
  bool ending_ = false;
};

}  // namespace plait::transport::ofi
