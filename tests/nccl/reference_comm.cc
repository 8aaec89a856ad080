#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "nccl/reference.h"

namespace plait::nccl_reference {
namespace {

unsigned char* ghost = nullptr;
nccl::Logger the_logger = nullptr;

}  // namespace

bool broken(std::string_view what) {
  const char* name = std::getenv("NCCL_REFERENCE_BROKEN");
  return name != nullptr && what == name;
}

void set_logger(nccl::Logger logger) { the_logger = logger; }
void log(const char* text) {
  if (the_logger != nullptr) the_logger(nccl::LogLevel::warn, nccl::log_net, __FILE__, __LINE__, "%s", text);
}
void haunt() {
  if (ghost != nullptr) *ghost = 1;
}

Comm::~Comm() {
  if (broken("touches-after-close") && !is_send && !posted.empty()) ghost = posted.front()->places[0].data;
  if (broken("waits-in-close")) {
    char byte;
    ::shutdown(fd, SHUT_WR);
    while (::recv(fd, &byte, 1, 0) != 0 && (errno == EAGAIN || errno == EINTR)) {
    }
  }
  ::close(fd);
}

Request* Comm::new_request() {
  const size_t most = broken("few-requests") ? 16 : nccl::max_requests * 8;
  auto free = std::ranges::find_if(requests, [](const Request& r) { return !r.taken; });
  if (free == requests.end()) {
    if (requests.size() >= most) return nullptr;
    free = requests.insert(requests.end(), Request{this, false, NcclResult::success, 0, {}});
  }
  *free = Request{this, true, NcclResult::success, 0, {}};
  return &*free;
}

NcclResult Comm::send(void* data, size_t bytes, int tag, void** request) {
  *request = nullptr;
  if (dead != NcclResult::success) return dead;
  Request* r = new_request();
  if (r == nullptr) return broken("few-requests") ? NcclResult::internal_error : NcclResult::success;
  r->left = 1;
  r->places = {{static_cast<unsigned char*>(data), bytes, tag, false, int(bytes)}};
  if (bytes == 0 && broken("forgets-zero"))
    r->left = 0;
  else
    posted.push_back(r);
  *request = r;
  progress(nullptr);
  return NcclResult::success;
}

NcclResult Comm::receive(int count, void** data, const size_t* sizes, const int* tags, void** request) {
  if (count > (broken("max-recvs") ? 4 : 8)) return NcclResult::internal_error;
  if (dead != NcclResult::success && unexpected.empty()) return dead;
  if (broken("keeps-0x1") && *request == reinterpret_cast<void*>(nccl::optional_completion))
    return NcclResult::success;
  *request = nullptr;
  Request* r = new_request();
  if (r == nullptr) return NcclResult::success;
  r->left = size_t(count);
  for (int i = 0; i < count; ++i)
    r->places.push_back({static_cast<unsigned char*>(data[i]), sizes[i], tags[i], false, 0});
  posted.push_back(r);
  *request = r;
  progress(nullptr);
  return NcclResult::success;
}

NcclResult Comm::test(Request& request, int* done, int* sizes) {
  haunt();
  progress(&request);
  *done = 0;
  if (request.result != NcclResult::success) return request.result;
  if (request.left != 0) return dead;
  *done = 1;
  if (sizes != nullptr && !(is_send && broken("no-sizes")))
    for (size_t i = 0; i < request.places.size(); ++i) sizes[i] = request.places[i].size;
  request.taken = false;
  return NcclResult::success;
}

void Comm::fail(NcclResult result) {
  dead = result == NcclResult::remote_error && broken("peer-death") ? NcclResult::system_error : result;
}

void Comm::progress(Request* tested) {
  if (is_send) {
    write_some(tested);
  } else {
    read_some();
    deliver(tested);
  }
}

void Comm::write_some(const Request* tested) {
  while (!posted.empty() && dead == NcclResult::success) {
    Request& r = *posted.front();
    if (broken("needs-own-test") && &r != tested) return;
    const Request::Place& place = r.places[0];
    const Header header{place.room, place.tag};
    const bool in_header = written < sizeof header;
    const auto* from = in_header ? reinterpret_cast<const unsigned char*>(&header) + written
                                 : place.data + (written - sizeof header);
    const size_t size = in_header ? sizeof header - written : place.room - (written - sizeof header);
    const ssize_t n = size == 0 ? 0 : ::send(fd, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) return fail(NcclResult::remote_error);
    written += size_t(n);
    if (written < sizeof header + place.room) continue;
    written = 0;
    r.left = 0;
    posted.pop_front();
  }
}

// False: no more for now.
bool Comm::read_into(void* to, size_t size) {
  const ssize_t n = ::recv(fd, to, size, MSG_DONTWAIT);
  if (n > 0) have += size_t(n);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) fail(NcclResult::remote_error);
  return n > 0;
}

void Comm::read_some() {
  while (dead == NcclResult::success) {
    if (have < sizeof(Header)) {
      if (!read_into(reinterpret_cast<unsigned char*>(&reading.header) + have, sizeof(Header) - have)) return;
      if (have == sizeof(Header)) reading.bytes.resize(reading.header.bytes);
    } else if (have < sizeof(Header) + reading.header.bytes) {
      const size_t at = have - sizeof(Header);
      if (!read_into(reading.bytes.data() + at, reading.header.bytes - at)) return;
    }
    if (have < sizeof(Header) || have < sizeof(Header) + reading.header.bytes) continue;
    unexpected.push_back(std::move(reading));
    reading = {};
    have = 0;
  }
}

// To the oldest place of its tag that is free.
void Comm::deliver(Request* tested) {
  for (auto message = unexpected.begin(); message != unexpected.end();) {
    Request* request = nullptr;
    Request::Place* found = nullptr;
    std::deque<Request*> order = posted;
    if (tested != nullptr && tested->left != 0 && broken("round-robin")) order.push_front(tested);
    for (Request* r : order) {
      for (Request::Place& place : r->places)
        if (found == nullptr && !place.filled && (broken("mixes-tags") || place.tag == message->header.tag))
          found = &place, request = r;
      if (found != nullptr) break;
    }
    if (found == nullptr) {
      ++message;
      continue;
    }
    size_t bytes = message->header.bytes;
    if (bytes > found->room && !broken("truncates")) {
      log("a message is longer than the receive that it is for");
      request->result = NcclResult::invalid_usage;
    }
    bytes = std::min(bytes, found->room);
    if (bytes != 0 && !broken("moves-nothing")) std::memcpy(found->data, message->bytes.data(), bytes);
    if (broken("overruns")) std::memset(found->data + bytes, 0, found->room - bytes);
    found->filled = true;
    found->size = int(bytes);
    if (--request->left == 0) std::erase(posted, request);
    message = unexpected.erase(message);
  }
}

}  // namespace plait::nccl_reference
