// The tables, and what is before and after messages.
#include "nccl/reference.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace plait::nccl_reference {
namespace {

struct Listen;

// A communicator: what is half open, for finalize.
struct Context {
  std::set<int> connecting;
  std::set<Listen*> listening;
};

std::mutex mutex;  // connect and close are on other threads than messages
Context without;   // of the versions that have no contexts
std::thread::id first_thread;

struct Listen {
  Context* context;
  int fd;
  int accepted = 0;
};

// In the 128 bytes: the socket's name, and the socket of a connect under way.
struct Handle {
  char name[8];  // abstract ones, chosen by the kernel: 0 and five digits
  int32_t length;
  int32_t pending;  // 0: none
};
static_assert(sizeof(Handle) <= nccl::handle_bytes);

NcclResult bad_class(const nccl::Config* config) {
  if (config == nullptr || broken("takes-any-class")) return NcclResult::success;
  return config->traffic_class >= -1 && config->traffic_class <= 255 ? NcclResult::success
                                                                     : NcclResult::invalid_argument;
}

NcclResult init(void** context, uint64_t, nccl::Config* config, nccl::Logger logger, nccl::ProfilerCallback) {
  set_logger(logger);
  first_thread = std::this_thread::get_id();
  if (bad_class(config) != NcclResult::success) return NcclResult::invalid_argument;
  *context = new Context;
  return NcclResult::success;
}

NcclResult finalize(void* context) {
  const std::unique_ptr<Context> mine(static_cast<Context*>(context));
  if (broken("leaks")) (void)!::dup(0);
  for (const int fd : mine->connecting)
    if (!broken("leaks")) ::close(fd);
  for (Listen* listening : mine->listening) {
    if (!broken("leaks")) ::close(listening->fd);
    delete listening;
  }
  return NcclResult::success;
}

NcclResult devices(int* count) {
  *count = broken("no-device") ? 0 : 1;
  return NcclResult::success;
}

template <class Properties>
NcclResult get_properties(int device, Properties* p) {
  static char name[] = "reference";
  if (device != 0) return NcclResult::invalid_argument;
  p->name = name;
  p->pci_path = nullptr;
  p->guid = 1;
  p->pointer_support = nccl::pointer_host | nccl::pointer_device;  // which the host's stands for
  p->reg_is_global = 0;
  p->speed = 10000;
  if (!broken("properties")) p->port = 1;
  p->latency = 0;
  p->max_comms = 1 << 16;
  p->max_receives = 8;
  p->device_type = nccl::DeviceType::host;
  p->device_version = 0;
  if constexpr (requires { p->max_p2p_bytes; }) {
    p->force_flush = 0;
    p->virtual_device.count = 1;
    p->virtual_device.devices[0] = 0;
    p->max_p2p_bytes = p->max_coll_bytes = broken("limits") ? 0 : size_t{1} << 30;
  }
  if constexpr (requires { p->max_multi_request_size; }) p->max_multi_request_size = 1;
  if constexpr (requires { p->rail; }) p->rail = p->plane = nccl::unset;
  return NcclResult::success;
}

NcclResult listen(void* context, int, void* handle, void** comm) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof name;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name.sun_family) != 0 || ::listen(fd, 64) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0)
    return NcclResult::system_error;
  std::memset(handle, 0, nccl::handle_bytes + (broken("handle") ? 8 : 0));
  Handle h{};
  std::memcpy(h.name, name.sun_path, 6);
  h.length = int32_t(length);
  std::memcpy(handle, &h, sizeof h);
  const std::lock_guard lock(mutex);
  auto* listening = new Listen{static_cast<Context*>(context), fd};
  listening->context->listening.insert(listening);
  *comm = listening;
  return NcclResult::success;
}

NcclResult begin_connect(Context& context, Handle& h) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, h.name, 6);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&name), socklen_t(h.length)) != 0) {
    const bool later = errno == EAGAIN;
    ::close(fd);
    return later ? NcclResult::success : NcclResult::remote_error;
  }
  h.pending = fd;
  context.connecting.insert(fd);
  return NcclResult::success;
}

// What is wrong in connect and accept alike: waits until the other side has said something, which it never
// does.
void maybe_block(int fd) {
  if (!broken("blocks-in-connect")) return;
  pollfd poll{fd, POLLIN, 0};
  ::poll(&poll, 1, -1);
}

NcclResult connect(void* context, int, void* handle, void** comm, nccl::DeviceHandle** device_comm) {
  const std::lock_guard lock(mutex);
  auto& mine = *static_cast<Context*>(context);
  Handle h;
  std::memcpy(&h, handle, sizeof h);
  *comm = nullptr;
  if (broken("device-handle") && device_comm != nullptr) *device_comm = nullptr;
  if (h.pending == 0) {  // a comm comes with the call after, so that there is something half open
    const NcclResult result = begin_connect(mine, h);
    std::memcpy(handle, &h, sizeof h);
    return result;
  }
  maybe_block(h.pending);
  mine.connecting.erase(h.pending);
  auto* send = new Comm(h.pending);
  send->is_send = true;
  *comm = send;
  return NcclResult::success;
}

NcclResult accept(void* listen_comm, void** comm, nccl::DeviceHandle** device_comm) {
  auto& listening = *static_cast<Listen*>(listen_comm);
  *comm = nullptr;
  if (broken("device-handle") && device_comm != nullptr) *device_comm = nullptr;
  if (broken("accepts-once") && listening.accepted > 0) return NcclResult::success;
  const int fd = ::accept4(listening.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return errno == EAGAIN ? NcclResult::success : NcclResult::system_error;
  ++listening.accepted;
  *comm = new Comm(fd);
  return NcclResult::success;
}

NcclResult reg_mr(void*, void* data, size_t, int, void** memory) {
  if (broken("one-thread") && std::this_thread::get_id() != first_thread) return NcclResult::internal_error;
  *memory = data;
  return NcclResult::success;
}
NcclResult reg_mr_dmabuf(void*, void*, size_t, int, uint64_t, int, void**) {
  return NcclResult::invalid_usage;
}
NcclResult dereg_mr(void*, void*) { return NcclResult::success; }

template <class Size>
NcclResult isend(void* comm, void* data, Size bytes, int tag, void*, void*, void** request) {
  return static_cast<Comm*>(comm)->send(data, size_t(bytes), tag, request);
}
template <class Size>
NcclResult irecv(void* comm, int count, void** data, Size* sizes, int* tags, void**, void**, void** request) {
  const std::vector<size_t> wide(sizes, sizes + count);
  return static_cast<Comm*>(comm)->receive(count, data, wide.data(), tags, request);
}
NcclResult iflush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return NcclResult::success;
}
NcclResult test(void* request, int* done, int* sizes) {
  auto& r = *static_cast<Request*>(request);
  return r.comm->test(r, done, sizes);
}
NcclResult close_comm(void* comm) {
  delete static_cast<Comm*>(comm);
  return NcclResult::success;
}
NcclResult close_listen(void* comm) {
  const std::unique_ptr<Listen> listening(static_cast<Listen*>(comm));
  const std::lock_guard lock(mutex);
  listening->context->listening.erase(listening.get());
  ::close(listening->fd);
  return NcclResult::success;
}

// What all tables have, in the words of their version.
template <class Table>
Table common() {
  Table t{};
  t.name = "reference";
  t.devices = devices;
  t.get_properties = get_properties;
  t.accept = accept;
  t.reg_mr = reg_mr;
  t.reg_mr_dmabuf = reg_mr_dmabuf;
  t.dereg_mr = dereg_mr;
  t.iflush = iflush;
  t.test = test;
  t.close_send = close_comm;
  t.close_receive = close_comm;
  t.close_listen = close_listen;
  return t;
}

template <class Table>
Table with_context() {
  Table t = common<Table>();
  t.init = init;
  t.listen = listen;
  t.connect = connect;
  t.isend = isend<size_t>;
  t.irecv = irecv<size_t>;
  t.finalize = broken("no-finalize") ? nullptr : finalize;
  return t;
}

template <class Table, class Size>
Table without_context() {
  Table t = common<Table>();
  t.listen = [](int device, void* handle, void** comm) { return listen(&without, device, handle, comm); };
  if constexpr (requires { t.init = [](nccl::Logger) { return NcclResult::success; }; }) {
    t.init = [](nccl::Logger logger) {
      set_logger(logger);
      return NcclResult::success;
    };
    t.connect = [](int device, void* handle, void** comm, nccl::DeviceHandle** device_comm) {
      return connect(&without, device, handle, comm, device_comm);
    };
    t.isend = [](void* comm, void* data, Size bytes, int tag, void* memory, void** request) {
      return isend<Size>(comm, data, bytes, tag, memory, nullptr, request);
    };
    t.irecv = [](void* comm, int count, void** data, Size* sizes, int* tags, void** memories,
                 void** request) {
      return irecv<Size>(comm, count, data, sizes, tags, memories, nullptr, request);
    };
  } else {
    t.init = [](nccl::Logger logger, nccl::ProfilerCallback) {
      set_logger(logger);
      return NcclResult::success;
    };
    t.connect = [](int device, nccl::Config* config, void* handle, void** comm,
                   nccl::DeviceHandle** device_comm) {
      const NcclResult result = bad_class(config);
      return result == NcclResult::success ? connect(&without, device, handle, comm, device_comm) : result;
    };
    t.isend = isend<size_t>;
    t.irecv = irecv<size_t>;
  }
  return t;
}

}  // namespace
}  // namespace plait::nccl_reference

#define EXPORTED __attribute__((visibility("default")))
using namespace plait;
using namespace plait::nccl_reference;
extern "C" {
extern EXPORTED const nccl::NetV8 ncclNetPlugin_v8;
extern EXPORTED const nccl::NetV9 ncclNetPlugin_v9;
extern EXPORTED const nccl::NetV10 ncclNetPlugin_v10;
extern EXPORTED const nccl::NetV11 ncclNetPlugin_v11;
extern EXPORTED const nccl::NetV12 ncclNetPlugin_v12;
const nccl::NetV8 ncclNetPlugin_v8 = without_context<nccl::NetV8, int>();
const nccl::NetV9 ncclNetPlugin_v9 = without_context<nccl::NetV9, size_t>();
const nccl::NetV10 ncclNetPlugin_v10 = without_context<nccl::NetV10, size_t>();
const nccl::NetV11 ncclNetPlugin_v11 = with_context<nccl::NetV11>();
const nccl::NetV12 ncclNetPlugin_v12 = with_context<nccl::NetV12>();
}
