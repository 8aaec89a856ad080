#include "bootstrap/resolve.h"

#include <netdb.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace plait::bootstrap {
namespace {

constexpr size_t kMostOfHost = 8, kMostHosts = 8, kMostHostName = 253;

Status wrong_place(std::string_view text, std::string_view why) {
  return {Code::invalid, "\"" + std::string(text) + "\" is no HOST:PORT: " + std::string(why) +
                             " (like node1:2000, 10.0.0.1:2000 or [fd00::1]:2000)"};
}

// A look-up that others may stop waiting for: it then belongs to its thread alone.
struct Resolution {
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  int error = 0;
  std::vector<Address> addresses;
};

void look_up(const std::shared_ptr<Resolution>& lookup, const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &first);
  std::vector<Address> addresses;
  for (const addrinfo* i = error == 0 ? first : nullptr; i != nullptr; i = i->ai_next) {
    const Address address = from_socket(i->ai_addr, i->ai_addrlen).with_port(port);
    const bool there = std::find(addresses.begin(), addresses.end(), address) != addresses.end();
    if (address.valid() && !there && addresses.size() < kMostOfHost) addresses.push_back(address);
  }
  if (error == 0) ::freeaddrinfo(first);
  const std::lock_guard lock(lookup->mutex);
  lookup->error = error;
  lookup->addresses = std::move(addresses);
  lookup->finished = true;
  lookup->done.notify_all();
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  HostPort parsed;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == text.npos) return wrong_place(text, "a ] is missing");
    parsed.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    auto address = parse_ip(parsed.host);
    if (!address.ok()) return address.status();
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    parsed.host = text.substr(0, colon);
    rest = text.substr(colon);
    if (rest.find(':', 1) != rest.npos) return wrong_place(text, "an IPv6 address stands in brackets");
  }
  if (parsed.host.empty() || parsed.host.size() > kMostHostName)
    return wrong_place(text, "the host is missing or too long");
  if (std::any_of(parsed.host.begin(), parsed.host.end(),
                  [](unsigned char c) { return c <= ' ' || c == ',' || c == 127; }))
    return wrong_place(text, "one host is meant, and its name has no spaces and no commas");
  if (!rest.starts_with(':')) return wrong_place(text, "the port is missing");
  const char* end = rest.data() + rest.size();
  auto [stop, error] = std::from_chars(rest.data() + 1, end, parsed.port);
  if (error != std::errc() || stop != end || parsed.port == 0)
    return wrong_place(text, "a port is a number from 1 to 65535");
  return parsed;
}

Result<std::vector<HostPort>> parse_host_ports(std::string_view text) {
  std::vector<HostPort> all;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    auto one = parse_host_port(rest.substr(0, comma));
    if (!one.ok()) return one.status();
    all.push_back(std::move(*one));
    if (comma == rest.npos) return all;
    if (all.size() == kMostHosts) return wrong_place(text, "more than 8 places");
    rest.remove_prefix(comma + 1);
  }
}

Result<std::vector<Address>> resolve(const std::string& host, uint16_t port,
                                     const transport::Bounds& bounds) {
  if (auto numeric = parse_ip(host); numeric.ok()) return std::vector{numeric->with_port(port)};
  auto lookup = std::make_shared<Resolution>();
  // The one exception that can come here: no thread is to be had.
  try {
    std::thread(look_up, lookup, host, port).detach();
  } catch (const std::system_error& error) {
    return Status::system(error.code().value(), "a thread to look up " + host);
  }
  std::unique_lock lock(lookup->mutex);
  while (!lookup->finished) {
    if (bounds.aborted()) return Status(Code::aborted, "the communicator was aborted");
    const int ms = bounds.deadline.left_ms(50);
    if (ms == 0)
      return Status(Code::timeout, "looking up the name " + host + " took too long: does its DNS answer?");
    lookup->done.wait_for(lock, std::chrono::milliseconds(ms));
  }
  if (lookup->error != 0 || lookup->addresses.empty()) {
    return Status(Code::invalid, "the name " + host + " is not known here (" +
                                     (lookup->error != 0 ? ::gai_strerror(lookup->error) : "no address") +
                                     "): give an address in PLAIT_ROOT");
  }
  return lookup->addresses;
}

}  // namespace plait::bootstrap
