// A proxy before a domain's listener: it passes bytes on as slowly, as broken and as far as a test wants.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "rig.h"
#include "transport/tcp/socket.h"

namespace plait::transport::tcp::test {

class Proxy {
 public:
  struct Plan {
    size_t chunk = SIZE_MAX;        // bytes passed on at a time
    uint64_t flip_at = UINT64_MAX;  // the byte of which a bit is changed, counted over all
  };

  Proxy(const Address& target, const Plan& plan);
  ~Proxy();
  const Address& address() const noexcept { return address_; }
  // A ticket that leads here.
  Bytes ticket(const Endpoint& of) const;
  uint64_t passed() const noexcept { return passed_.load(); }
  // When so many more bytes have passed, everything is reset.
  void cut_after(uint64_t bytes) noexcept { cut_at_.store(passed_.load() + bytes); }

 private:
  struct Way {
    Fd from;
    int to = -1;
    Bytes left;
    bool over = false;
  };
  void run();
  void let_in();
  bool pass(Way& way);
  void reset_all();

  Address address_, target_;
  const Plan plan_;
  Fd listener_;
  std::vector<Way> ways_;
  std::atomic<uint64_t> passed_{0}, cut_at_{UINT64_MAX};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace plait::transport::tcp::test
