#include "transport/ucx/library.h"

#include <dlfcn.h>
#include <ucs/debug/debug.h>
#include <uct/api/uct.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "transport/am/wire.h"

namespace plait::transport::ucx {
namespace {

constexpr int kProbeMs = 1000;
constexpr size_t kPage = 4096;

bool user_says(std::initializer_list<const char*> variables) {
  return std::ranges::any_of(variables, [](const char* v) { return std::getenv(v) != nullptr; });
}

// What the user did not decide by a variable of UCX. Names are without the transport's prefix, as UCX wants
// them.
void tune(ucp_config_t* config, const Options& options) {
  const std::string probes = std::to_string(std::max(1, options.keepalive_s - 1));
  // UCX prints to stdout; what matters comes as a status, and we say it.
  if (!user_says({"UCX_LOG_LEVEL"})) ucp_config_modify(config, "LOG_LEVEL", "fatal");
  // Packets that are worth a system call, or a turn of a shared queue; UCX's own are 8 KiB (docs/transport.md
  // has figures).
  if (!user_says({"UCX_TCP_TX_SEG_SIZE", "UCX_TCP_RX_SEG_SIZE"})) {
    ucp_config_modify(config, "TX_SEG_SIZE", "520k");
    ucp_config_modify(config, "RX_SEG_SIZE", "520k");
  }
  if (!user_says({"UCX_POSIX_SEG_SIZE", "UCX_SYSV_SEG_SIZE", "UCX_MM_SEG_SIZE"}))
    ucp_config_modify(config, "MM_SEG_SIZE", "33k");
  // Of these segments: one for each place of the queue, and some.
  if (!user_says({"UCX_POSIX_RX_BUFS_GROW", "UCX_SYSV_RX_BUFS_GROW", "UCX_MM_RX_BUFS_GROW"}))
    ucp_config_modify(config, "MM_RX_BUFS_GROW", "96");
  // Shared memory tells of failed peers, and can be closed with messages under way, when it is asked to.
  if (!user_says({"UCX_POSIX_ERROR_HANDLING", "UCX_SYSV_ERROR_HANDLING", "UCX_MM_ERROR_HANDLING"}))
    ucp_config_modify(config, "MM_ERROR_HANDLING", "y");
  if (!user_says({"UCX_KEEPALIVE_INTERVAL"})) ucp_config_modify(config, "KEEPALIVE_INTERVAL", "1s");
  if (!user_says({"UCX_TCP_CONN_NB"})) ucp_config_modify(config, "CONN_NB", "y");  // connect() must not wait
  if (!user_says({"UCX_TCP_KEEPIDLE", "UCX_TCP_KEEPINTVL", "UCX_TCP_KEEPCNT"})) {
    ucp_config_modify(config, "KEEPIDLE", "1s");
    ucp_config_modify(config, "KEEPINTVL", "1s");
    ucp_config_modify(config, "KEEPCNT", probes.c_str());
  }
}

// UCX takes SIGSEGV and its like when it is loaded, to print a stack. They are the program's: given back
// where they are still UCX's and the user did not ask for that.
void give_signals_back() {
  if (user_says({"UCX_HANDLE_ERRORS"})) return;
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction now {};
    Dl_info where{};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN &&
        dladdr(reinterpret_cast<void*>(now.sa_handler), &where) != 0 &&
        std::strstr(where.dli_fname, "libucs") != nullptr)
      ucs_debug_disable_signal(number);
  }
}

std::string what_there_is() {
  std::string text;
  for (const Device& d : list()) text += (text.empty() ? "" : ", ") + d.transport + " on " + d.device;
  return text.empty() ? "UCX finds nothing here" : "there is " + text;
}

Status trouble(ucs_status_t status, const std::string& phase) {
  const Code code = status == UCS_ERR_NO_MEMORY ? Code::memory : Code::system;
  return Status(code, "ucx: " + phase + ": " + ucs_status_string(status) +
                          " (look at /dev/shm, ulimit -n and ulimit -l; UCX_LOG_LEVEL=info says more)");
}

}  // namespace

Result<std::unique_ptr<Library>> Library::open(const Options& options, ucp_am_recv_callback_t on_message,
                                               void* owner) {
  auto library = std::make_unique<Library>();
  PLAIT_TRY(library->start(options));
  PLAIT_TRY(library->start_worker(on_message, owner));
  library->probe();
  return library;
}

Status Library::start(const Options& options) {
  const char* chosen = std::getenv("UCX_TLS");
  transports_ = !options.transports.empty() ? options.transports : chosen != nullptr ? chosen : "all";
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return trouble(status, "reading the UCX_ variables");
  tune(config, options);
  if (!options.transports.empty()) status = ucp_config_modify(config, "TLS", options.transports.c_str());
  if (status == UCS_OK && !options.devices.empty())
    status = ucp_config_modify(config, "NET_DEVICES", options.devices.c_str());
  if (status == UCS_OK) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    status = ucp_init(&params, config, &context_);
  }
  ucp_config_release(config);
  give_signals_back();
  if (status == UCS_OK) return {};
  return Status(Code::unsupported, "ucx: no transport of '" + transports_ + "'" +
                                       (options.devices.empty() ? "" : " on '" + options.devices + "'") +
                                       ": " + ucs_status_string(status) + "; " + what_there_is());
}

Status Library::start_worker(ucp_am_recv_callback_t on_message, void* owner) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(context_, &params, &worker_);
  if (status != UCS_OK) return trouble(status, "creating a worker for '" + transports_ + "'");
  ucp_am_handler_param_t handler{};
  handler.field_mask =
      UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessages;
  handler.cb = on_message;
  handler.arg = owner;
  status = ucp_worker_set_am_recv_handler(worker_, &handler);
  ucp_worker_attr_t attr{};
  attr.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (status == UCS_OK) status = ucp_worker_query(worker_, &attr);
  if (status != UCS_OK) return trouble(status, "setting up a worker");
  const auto* bytes = reinterpret_cast<const std::byte*>(attr.address);
  address_.assign(bytes, bytes + attr.address_length);
  ucp_worker_release_address(worker_, attr.address);
  constexpr size_t kBeside = sizeof(am::Header) + sizeof am::kIntact;
  if (attr.max_am_header < 2 * kBeside || address_.size() > am::kAddressMost)
    return Status(Code::unsupported, "ucx: the packets of '" + transports_ +
                                         "' are too small, or its addresses " +
                                         "too long: name fewer transports or devices");
  const size_t room = attr.max_am_header - kBeside;
  piece_ = room >= 4 * kPage ? room / kPage * kPage : room;
  if (ucp_worker_get_efd(worker_, &wait_fd_) != UCS_OK) wait_fd_ = -1;
  return {};
}

// Whether its transports can tell of failures shows when they are asked to: by a connection to oneself.
void Library::probe() noexcept {
  ucp_ep_h end = nullptr;
  if (connect(address_, {}, end) != UCS_OK) {
    peer_errors_ = false;
    return;
  }
  // UCX aborts where RDMA endpoints are closed while they connect.
  ucp_request_param_t param{};
  void* request = ucp_ep_flush_nbx(end, &param);
  const auto flushed = [&] {
    return !UCS_PTR_IS_PTR(request) || ucp_request_check_status(request) != UCS_INPROGRESS;
  };
  for (Deadline give_up = Deadline::in_ms(kProbeMs); !flushed() && !give_up.passed();)
    ucp_worker_progress(worker_);
  if (flushed()) close(end);
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
}

void Library::close(ucp_ep_h& end) noexcept {
  if (end == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = peer_errors_ ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  void* request = ucp_ep_close_nbx(end, &param);
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);  // UCX keeps it until it is done
  end = nullptr;
}

ucs_status_t Library::connect(ByteView address, const ucp_err_handler_t& on_error, ucp_ep_h& end) noexcept {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      (on_error.cb != nullptr ? UCP_EP_PARAM_FIELD_ERR_HANDLER : 0);
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = peer_errors_ ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler = on_error;
  return ucp_ep_create(worker_, &params, &end);
}

Library::~Library() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

std::vector<Device> list() {
  std::vector<Device> found;
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) != UCS_OK) return found;
  for (unsigned i = 0; i < count; ++i) {
    uct_component_attr_t attr{};
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
    if (uct_component_query(components[i], &attr) != UCS_OK || attr.md_resource_count == 0) continue;
    std::vector<uct_md_resource_desc_t> memories(attr.md_resource_count);
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = memories.data();
    if (uct_component_query(components[i], &attr) != UCS_OK) continue;
    for (const uct_md_resource_desc_t& memory : memories) {
      uct_md_config_t* config = nullptr;
      uct_md_h md = nullptr;
      if (uct_md_config_read(components[i], nullptr, nullptr, &config) != UCS_OK) continue;
      if (uct_md_open(components[i], memory.md_name, config, &md) == UCS_OK) {
        uct_tl_resource_desc_t* resources = nullptr;
        unsigned n = 0;
        if (uct_md_query_tl_resources(md, &resources, &n) == UCS_OK) {
          for (unsigned r = 0; r < n; ++r) found.push_back({resources[r].tl_name, resources[r].dev_name});
          uct_release_tl_resource_list(resources);
        }
        uct_md_close(md);
      }
      uct_config_release(config);
    }
  }
  uct_release_component_list(components);
  return found;
}

}  // namespace plait::transport::ucx
