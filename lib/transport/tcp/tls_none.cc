// Of a build without OpenSSL's libssl.
#include "transport/tcp/tls.h"

namespace plait::transport::tcp {

Result<std::unique_ptr<TlsContext>> TlsContext::make(const TlsKey& /*key*/, uint64_t /*records_a_key*/) {
  return Status(Code::unsupported,
                "tcp: this build has no TLS (it needs OpenSSL's libssl: meson setup -Dtls=enabled)");
}
TlsContext::~TlsContext() = default;

std::unique_ptr<Tls> Tls::make(TlsContext& /*context*/, int /*socket*/, bool /*dials*/) noexcept {
  return nullptr;
}
Tls::~Tls() = default;
Tls::Step Tls::shake() noexcept { return Step::failed; }
ssize_t Tls::send(std::span<const iovec> /*parts*/) noexcept { return -1; }
ssize_t Tls::receive(std::span<const iovec> /*parts*/) noexcept { return -1; }
bool Tls::push() noexcept { return false; }
std::string Tls::name() const { return {}; }

}  // namespace plait::transport::tcp
