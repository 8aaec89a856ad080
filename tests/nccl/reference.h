// The simplest plugin that keeps the contract, over Unix sockets: what nccl-net-drive is tested with.
// NCCL_REFERENCE_BROKEN names one thing that it then does wrong.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "nccl-net/abi.h"

namespace plait::nccl_reference {

using nccl::NcclResult;

// Whether this is what is to be wrong.
bool broken(std::string_view what);

struct Comm;

// A post of either side, as `test` is given it.
struct Request {
  Comm* comm;
  bool taken = false;  // in use
  NcclResult result = NcclResult::success;
  size_t left = 0;  // places that nothing has come to; of a send: 1 until it is written
  struct Place {
    unsigned char* data;
    size_t room;
    int tag;
    bool filled;
    int size;
  };
  std::vector<Place> places;
};

struct Header {
  uint64_t bytes;
  int64_t tag;
};

// A connection in one direction. Every call on it moves what can be moved.
struct Comm {
  explicit Comm(int socket) : fd(socket) {}
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  ~Comm();

  NcclResult send(void* data, size_t bytes, int tag, void** request);
  NcclResult receive(int count, void** data, const size_t* sizes, const int* tags, void** request);
  NcclResult test(Request& request, int* done, int* sizes);

  int fd;
  bool is_send = false;

 private:
  struct Arrived {
    Header header;
    std::vector<unsigned char> bytes;
  };
  Request* new_request();
  void progress(Request* tested);
  void write_some(const Request* tested);
  void read_some();
  bool read_into(void* to, size_t size);
  void deliver(Request* tested);
  void fail(NcclResult result);

  std::deque<Request> requests;    // never moves one
  std::deque<Request*> posted;     // in order, without those that are complete
  std::deque<Arrived> unexpected;  // complete messages that no place was posted for
  Arrived reading{};
  size_t have = 0;     // bytes of `reading`, header and all
  size_t written = 0;  // of the oldest send, header and all
  NcclResult dead = NcclResult::success;
};

void log(const char* text);
void set_logger(nccl::Logger logger);
// What touches-after-close still writes to.
void haunt();

}  // namespace plait::nccl_reference
