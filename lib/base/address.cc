#include "base/address.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace plait {

bool Address::valid() const noexcept {
  if (zero != 0) return false;
  return family == 6 ||
         (family == 4 && std::all_of(bytes.begin() + 4, bytes.end(), [](uint8_t b) { return b == 0; }));
}

bool Address::loopback() const noexcept {
  if (family == 4) return bytes[0] == 127;
  return family == 6 && std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t b) { return b == 0; }) &&
         bytes[15] == 1;
}

bool Address::link_local() const noexcept {
  if (family == 4) return bytes[0] == 169 && bytes[1] == 254;
  return family == 6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool Address::any() const noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0; });
}

Address Address::with_port(uint16_t p) const noexcept {
  Address a = *this;
  a.port = p;
  return a;
}

std::string to_string(const Address& a) {
  if (!a.valid()) return "no address";
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(a.family == 4 ? AF_INET : AF_INET6, a.bytes.data(), text, sizeof text);
  std::string host = text;
  if (a.family == 6 && a.scope != 0) host += "%" + std::to_string(a.scope);
  if (a.port == 0) return host;
  return (a.family == 6 ? "[" + host + "]" : host) + ":" + std::to_string(a.port);
}

Result<Address> parse_ip(std::string_view given) {
  std::string text(given);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  Address a;
  const size_t percent = text.find('%');
  std::string scope;
  if (percent != text.npos) {
    scope = text.substr(percent + 1);
    text.resize(percent);
  }
  if (percent == text.npos && inet_pton(AF_INET, text.c_str(), a.bytes.data()) == 1) {
    a.family = 4;
    return a;
  }
  if (inet_pton(AF_INET6, text.c_str(), a.bytes.data()) != 1) {
    return Status(Code::invalid, "\"" + std::string(given) + "\" is no IPv4 or IPv6 address");
  }
  a.family = 6;
  if (percent == text.npos) return a;
  const char* end = scope.data() + scope.size();
  auto [stop, error] = std::from_chars(scope.data(), end, a.scope);
  if (error != std::errc() || stop != end) a.scope = if_nametoindex(scope.c_str());
  if (a.scope == 0)
    return Status(Code::invalid, "\"" + std::string(given) + "\": there is no interface " + scope);
  return a;
}

SocketAddress to_socket(const Address& a) noexcept {
  SocketAddress s;
  if (a.family == 4) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(a.port);
    std::memcpy(&in.sin_addr, a.bytes.data(), 4);
    std::memcpy(&s.storage, &in, s.length = sizeof in);
  } else if (a.family == 6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(a.port);
    in.sin6_scope_id = a.scope;
    std::memcpy(&in.sin6_addr, a.bytes.data(), 16);
    std::memcpy(&s.storage, &in, s.length = sizeof in);
  }
  return s;
}

Address from_socket(const sockaddr* address, socklen_t length) noexcept {
  Address a;
  if (address->sa_family == AF_INET && length >= socklen_t(sizeof(sockaddr_in))) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    a.family = 4;
    a.port = ntohs(in.sin_port);
    std::memcpy(a.bytes.data(), &in.sin_addr, 4);
  } else if (address->sa_family == AF_INET6 && length >= socklen_t(sizeof(sockaddr_in6))) {
    sockaddr_in6 in;
    std::memcpy(&in, address, sizeof in);
    a.port = ntohs(in.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) {
      a.family = 4;
      std::memcpy(a.bytes.data(), in.sin6_addr.s6_addr + 12, 4);
    } else {
      a.family = 6;
      a.scope = IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr) ? in.sin6_scope_id : 0;
      std::memcpy(a.bytes.data(), in.sin6_addr.s6_addr, 16);
    }
  }
  return a;
}

}  // namespace plait
