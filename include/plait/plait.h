/* plait: the communication runtime that training jobs stand on. The C API.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Conventions
 *   - Every function returns plait_status unless it cannot fail; out-parameters come last and are set on success only.
 *   - Handles are opaque and belong to the process that made them. NULL where a handle is due is PLAIT_ERR_INVALID.
 *   - Config structs begin with `size_t struct_size`, set by the caller to sizeof. They only ever grow at the end; zero
 *     means default in every field. A struct_size of 0, or larger than this library knows with anything but zeroes in
 *     the part it does not know, is PLAIT_ERR_INVALID.
 *   - Strings are UTF-8, NUL-terminated, copied by the callee.
 *   - After an error the sentence is in plait_last_error(comm), or plait_last_error(NULL) where no communicator exists.
 *
 * Threads
 *   - One thread at a time drives a communicator: everything that takes a communicator, or a request of it, except
 *     plait_comm_abort, plait_comm_dump, plait_last_error, plait_comm_rank and plait_comm_size, which any thread may
 *     call at any time. Which thread drives may change from call to call. Any number of communicators may be driven at
 *     once.
 *   - Several ranks may live in one process, each with its own communicator handle and driving thread.
 *   - plait_init, plait_finalize, plait_mem_alloc, plait_mem_free, all of memory.h, plait_register, plait_deregister,
 *     plait_op_create and plait_op_free: any thread.
 *   - Nothing runs between calls: plait has no threads of its own, but those that queues are given (queue.h). An operation
 *     moves while some thread is in plait_test, plait_wait, plait_wait_any or a blocking call on its communicator.
 *
 * Collective calls: plait_comm_create, plait_comm_split, plait_comm_dup, plait_comm_destroy and every operation but sends
 * and receives are made by all ranks of the communicator. Operations match in the order in which each rank starts them.
 * Of one communicator they are executed in that order; independent communicators progress independently.
 *
 * Processes and signals
 *   - fork: a child may not use its parent's handles; each call says PLAIT_ERR_STATE. It may call exec, or plait_init
 *     for itself after plait_finalize.
 *   - Signals: EINTR is retried, SIGPIPE is never raised, every descriptor is close-on-exec. No handler is installed,
 *     but for one: where PLAIT_DUMP is set and SIGUSR1 has its default disposition at plait_init, SIGUSR1 writes the
 *     record of every communicator, as plait_comm_dump does, until the last plait_finalize. A handler that the program
 *     installs before or after that is left alone. Forked children ignore the signal.
 *   - Shared memory is memfd, sealed so that no peer can truncate a mapping; /dev/shm and its limit do not matter.
 *     It counts against the cgroup's memory limit of the process that touches it first; RLIMIT_MEMLOCK does not matter
 *     inside a host.
 *   - Each rank holds about 3 descriptors for each peer on its host and a handful more (RLIMIT_NOFILE).
 *
 * Environment: all variables are listed in docs/environment.md; explicit config overrides them.
 */
#ifndef PLAIT_PLAIT_H
#define PLAIT_PLAIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLAIT_VERSION_MAJOR 0
#define PLAIT_VERSION_MINOR 1
#define PLAIT_VERSION_PATCH 0
/* One number that grows: compare with plait_version(). */
#define PLAIT_VERSION (PLAIT_VERSION_MAJOR * 10000 + PLAIT_VERSION_MINOR * 100 + PLAIT_VERSION_PATCH)

#if defined(__GNUC__)
#define PLAIT_API __attribute__((visibility("default")))
#else
#define PLAIT_API
#endif

/* What a call came to. 0 is success, errors are negative; docs/errors.md says what to try for each. */
typedef enum plait_status {
  PLAIT_OK = 0,
  PLAIT_ERR_INVALID = -1,     /* an argument is wrong; nothing was started or changed */
  PLAIT_ERR_MEMORY = -2,      /* out of memory or of a memory limit */
  PLAIT_ERR_SYSTEM = -3,      /* the operating system refused a call */
  PLAIT_ERR_UNSUPPORTED = -4, /* known, but not available here or not in this version */
  PLAIT_ERR_TIMEOUT = -5,     /* a deadline passed; the text names who is missing */
  PLAIT_ERR_PEER = -6,        /* a peer died; the text names rank and phase */
  PLAIT_ERR_MISMATCH = -7,    /* ranks called different things; the text says who called what */
  PLAIT_ERR_ABORTED = -8,     /* the communicator was aborted, here or by a peer */
  PLAIT_ERR_STATE = -9,       /* the call is not allowed now */
  PLAIT_ERR_VERSION = -10,    /* a rank runs another version of plait */
  PLAIT_ERR_AUTH = -11,       /* a peer is not who it should be */
  PLAIT_ERR_INTERNAL = -12    /* a bug in plait: please report it */
} plait_status;

/* Element types. The numbers are NCCL's. The 8-bit floats are those of OCP: e5m2 is to float16 what bfloat16 is to
 * float32; e4m3 (E4M3FN) reaches up to 448, has no infinities and one NaN of each sign. */
typedef int32_t plait_dtype;
enum {
  PLAIT_INT8 = 0,
  PLAIT_UINT8 = 1,
  PLAIT_INT32 = 2,
  PLAIT_UINT32 = 3,
  PLAIT_INT64 = 4,
  PLAIT_UINT64 = 5,
  PLAIT_FLOAT16 = 6,
  PLAIT_FLOAT32 = 7,
  PLAIT_FLOAT64 = 8,
  PLAIT_BFLOAT16 = 9,
  PLAIT_FLOAT8_E4M3 = 10,
  PLAIT_FLOAT8_E5M2 = 11
};

/* Reductions. Numbers from 1024 are made by plait_op_create. Every fold of two values rounds to the dtype, except a
 * chain that one rank folds at once, which rounds once, to nearest even; float16, bfloat16 and float8 are computed in
 * float32. A result beyond the largest number is infinite, and NaN in e4m3 (as PyTorch casts; nothing saturates, so
 * that an overflow shows). All ranks get the same bits. Integers wrap. min and max return NaN where an operand is NaN. */
typedef int32_t plait_op;
enum {
  PLAIT_SUM = 0,
  PLAIT_PROD = 1,
  PLAIT_MAX = 2,
  PLAIT_MIN = 3,
  /* The sum, divided once by the number of ranks. Of float16, bfloat16 and float8 no partial sum overflows where the
   * values do not: an algorithm that rounds on the way scales each contribution down by the power of two next to the
   * number of ranks, which costs nothing but the last bits of numbers so small that they become subnormal. Integers:
   * the sum wraps, and is then divided, truncated towards zero. */
  PLAIT_AVG = 4,
  PLAIT_PREMULTIPLIED_SUM = 5 /* not to be given: plait_op_create makes an op of a scaling */
};

typedef int32_t plait_memory_kind;
enum { PLAIT_MEMORY_HOST = 0, PLAIT_MEMORY_DEVICE = 1 };

typedef struct plait_comm plait_comm;
typedef struct plait_request plait_request;
typedef struct plait_region plait_region;

/* ---- library ------------------------------------------------------------------------------------------------- */

/* PLAIT_VERSION of the library that runs. */
PLAIT_API int plait_version(void);

/* The name and meaning of a status in a few words. Never NULL, static. */
PLAIT_API const char* plait_status_string(plait_status status);

/* A sentence about the last error of `comm`: what happened, to which rank, in which phase, what to try. comm NULL, or a
 * handle that is none: of the calling thread's last failed call without a communicator. Never NULL; empty when there
 * was none. Valid until the calling thread calls plait_last_error again. Any thread. */
PLAIT_API const char* plait_last_error(const plait_comm* comm);

typedef int32_t plait_log_level;
enum {
  PLAIT_LOG_DEFAULT = 0, PLAIT_LOG_DEBUG = 1, PLAIT_LOG_INFO = 2, PLAIT_LOG_WARN = 3, PLAIT_LOG_ERROR = 4, PLAIT_LOG_OFF = 5
};

typedef struct plait_config {
  size_t struct_size;
  plait_log_level log_level; /* default: PLAIT_LOG, else warn */
  /* Called with each line instead of writing it to stderr; from any thread, must not call plait. */
  void (*log)(void* context, plait_log_level level, const char* line);
  void* log_context;
} plait_config;

/* Readies the library. Counted: each success needs one plait_finalize. config may be NULL.
 * PLAIT_ERR_INVALID (config), PLAIT_ERR_STATE (called in a forked child that has not finalized). */
PLAIT_API plait_status plait_init(const plait_config* config);

/* Ends what plait_init began. The last one frees everything that is left; requests still pending are abandoned as by
 * plait_comm_abort, and peers see this rank leave. PLAIT_ERR_STATE without a plait_init. */
PLAIT_API plait_status plait_finalize(void);

/* ---- communicator -------------------------------------------------------------------------------------------- */

/* What all ranks of a communicator need to find each other, as bytes to hand around: where rank 0 listens, and a fresh
 * secret. Whoever reads it can join: hand it over a channel that you trust as much as the job. */
typedef struct plait_unique_id {
  char bytes[128];
} plait_unique_id;

typedef struct plait_comm_config {
  size_t struct_size;
  /* Who we are. size 0: rank, size, job and where rank 0 is met come from the launcher's environment (torchrun and
   * plait-run, Open MPI, MPICH, Slurm, Kubernetes: docs/bootstrap.md has the table); without any the communicator has one
   * rank. */
  int32_t rank;
  int32_t size;
  const char* job;            /* names the job: equal on all ranks, different between jobs that may meet. PLAIT_JOB, else
                                 the launcher's */
  const char* host_id;        /* ranks share memory where it is equal. Default: PLAIT_HOST_ID, else boot id and network
                                 namespace. Ranks of one machine with different ids are joined by the network. */
  int64_t bootstrap_timeout_ms; /* default 60,000; PLAIT_BOOTSTRAP_TIMEOUT in seconds */
  int64_t timeout_ms;         /* of an operation; default 600,000; PLAIT_TIMEOUT in seconds */
  /* Reserved: must be NULL. plait_comm_split and plait_comm_dup make communicators from another. */
  plait_comm* parent;
  /* For ranks on several hosts. IPv4 and IPv6 alike. */
  const char* interface_name; /* interfaces to use, comma separated, best first: names, addresses or subnets
                                 ("eth0,10.0.0.0/8"); "^name" leaves one out. Default: all that are up, but those of
                                 containers and virtual machines, loopback only when there is no other; PLAIT_IFACE */
  uint16_t port_min, port_max; /* ports to listen on, both included, for firewalls; 0 and 0: any; PLAIT_PORTS, "MIN-MAX" */
  const char* secret_file;    /* the job's secret, alike on all ranks, readable by its user only; PLAIT_SECRET_FILE.
                                 Needed over a network, unless PLAIT_INSECURE=1 */
  const char* address;        /* where rank 0 is met: HOST:PORT, several comma separated, tried in order; HOST is a name,
                                 an IPv4 address or an IPv6 address in brackets. PLAIT_ROOT, else the launcher's. None:
                                 all ranks are on this host */
  const plait_unique_id* unique_id; /* not NULL: instead of job, secret_file and address; rank and size must be given */
  /* Not NULL: the framework's own allgather, used once, instead of address. Gives every rank's `bytes` bytes at `mine`
   * by rank in `all`, and returns PLAIT_OK. Must be as trusted as the job: a secret passes through it. */
  plait_status (*allgather)(void* context, const void* mine, void* all, size_t bytes);
  void* allgather_context;
  const char* tuning_file;    /* measured times to choose algorithms by; used where all ranks have the same; PLAIT_TUNING */
  /* Not 0: the same bits for the same inputs, whatever the algorithm, the timing, the size of the message and how ranks
   * lie on hosts (docs/deterministic.md says what that costs). Alike on all ranks, else PLAIT_ERR_MISMATCH; children
   * inherit it. PLAIT_DETERMINISTIC=1 */
  int32_t deterministic;
  const char* programs;       /* files of programs, JSON or MSCCL XML, separated by ':': proved, then algorithms like plait's
                                 own, by their names, where their number of ranks fits (docs/exchange.md). Alike on all
                                 ranks; children inherit them. PLAIT_PROGRAMS */
  const char* network;        /* what joins ranks of different hosts: "tcp" (default), "tcp:eth1", "tcp:near", "verbs",
                                 "verbs:mlx5_0", "ofi:tcp", "ucx", ... (docs/network.md). Alike on all ranks, else
                                 PLAIT_ERR_MISMATCH; children inherit it. PLAIT_NETWORK. TCP takes options behind a
                                 question mark: "tcp?tls=1" (TLS 1.3, proved with the job's secret: PLAIT_ERR_AUTH
                                 without one), "tcp:eth1?connections=2+send_buffer=4M"; they may differ from rank to rank,
                                 tls not */
} plait_comm_config;

/* Makes a unique id for one communicator and starts listening for its ranks. Call it in the process that will be rank 0,
 * and give the bytes to all ranks. interface_name, port_min and port_max as in plait_comm_config; NULL, 0 and 0: defaults.
 * PLAIT_ERR_INVALID, PLAIT_ERR_STATE (no plait_init), PLAIT_ERR_SYSTEM. */
PLAIT_API plait_status plait_get_unique_id(const char* interface_name, uint16_t port_min, uint16_t port_max,
                                           plait_unique_id* id);

/* Makes a communicator. Collective. config may be NULL. *comm belongs to the caller, who ends it by plait_comm_destroy.
 * Ranks of a job may create several communicators, in the same order on every rank.
 * PLAIT_ERR_INVALID, PLAIT_ERR_STATE (no plait_init), PLAIT_ERR_TIMEOUT (names the ranks that did not come),
 * PLAIT_ERR_PEER, PLAIT_ERR_VERSION, PLAIT_ERR_AUTH, PLAIT_ERR_MISMATCH (size, a rank twice, programs), PLAIT_ERR_MEMORY,
 * PLAIT_ERR_SYSTEM, PLAIT_ERR_UNSUPPORTED. */
PLAIT_API plait_status plait_comm_create(const plait_comm_config* config, plait_comm** comm);

#define PLAIT_NO_COLOR (-1) /* of plait_comm_split: this rank gets no communicator */

/* Makes communicators of the ranks of `comm`: one for each color, of the ranks that give it. Collective over all ranks
 * of `comm`, those without a color too, and blocking. No address, port or secret is needed: ranks tell each other over
 * `comm` (docs/bootstrap.md).
 *   comm    the parent
 *   color   0 or more; PLAIT_NO_COLOR: this rank takes part and gets no communicator
 *   key     orders the ranks of a child, low first; equal ones by their rank in `comm`
 *   config  NULL, or the child's timeouts: bootstrap_timeout_ms, which also bounds this call, and timeout_ms; 0 is the
 *           parent's. All other fields must be 0 or NULL: they are the parent's.
 *   child   gets the communicator, which belongs to the caller and ends by plait_comm_destroy; NULL with PLAIT_NO_COLOR
 * Order: an operation of `comm` like others. It matches other ranks' splits by order, and comes after what this rank
 * started before, each of which is waited for up to its own deadline; their requests stay to be tested and freed.
 * Threads: as all that takes `comm`; another thread's plait_comm_abort of `comm` ends it.
 * The child is independent of its parent: either may be destroyed first, it moves when it is driven, and its errors,
 * timeouts and aborts are its own. A rank that dies breaks every communicator that it is in.
 * PLAIT_ERR_INVALID, PLAIT_ERR_STATE (forked child): nothing started. When not all ranks make the call, when one dies
 * in it or aborts, the parent is broken as by any operation, and no rank that is still in the call gets a child:
 * PLAIT_ERR_MISMATCH (says who called what), PLAIT_ERR_TIMEOUT (names who did not call), PLAIT_ERR_PEER,
 * PLAIT_ERR_ABORTED. When only the ranks of one color cannot come together, these get the reason, from whichever of
 * them has it, and the parent and other children go on: PLAIT_ERR_SYSTEM, PLAIT_ERR_MEMORY, PLAIT_ERR_TIMEOUT,
 * PLAIT_ERR_PEER, PLAIT_ERR_AUTH, PLAIT_ERR_VERSION, PLAIT_ERR_UNSUPPORTED. The next call on `comm` tells which of the
 * two it was. The text is in plait_last_error(comm). */
PLAIT_API plait_status plait_comm_split(plait_comm* comm, int32_t color, int32_t key, const plait_comm_config* config,
                                        plait_comm** child);

/* Makes one more communicator of the same ranks in the same order: plait_comm_split with one color for all, but a call
 * of its own, which does not match a split. Parameters, order, threads and statuses as there. For libraries that share
 * ranks with others and want operations that move independently of theirs. */
PLAIT_API plait_status plait_comm_dup(plait_comm* comm, const plait_comm_config* config, plait_comm** child);

/* Ends a communicator and frees it and all its requests. Collective: waits, up to the operation's deadline, until every
 * rank has destroyed it, so that no rank loses a peer that it still needs. After an error or abort it waits for nobody,
 * but for a peer that is just then storing to this rank's memory: microseconds, and 2 s for one that is stopped.
 * The handle is gone in every case but PLAIT_ERR_INVALID; requests that were pending are abandoned
 * (PLAIT_ERR_STATE says that some were). PLAIT_ERR_TIMEOUT, PLAIT_ERR_PEER: the wait failed; all the same it is gone. */
PLAIT_API plait_status plait_comm_destroy(plait_comm* comm);

/* Breaks a communicator: its operations, here and as soon as they hear of it on all other ranks, end with
 * PLAIT_ERR_ABORTED; later calls say the same. Not collective; any thread; returns at once. The communicator must still
 * be destroyed. */
PLAIT_API plait_status plait_comm_abort(plait_comm* comm);

/* Writes the flight recorder of a communicator, as JSON: its last 64 operations with their calls and states (queued,
 * running, done, failed), what the running one waits for and since when, the latest operation that each other rank has
 * called, and what broke the communicator. docs/debugging.md reads one. Not collective; any thread, also while another
 * drives or is stuck; it waits for nobody but the file system. Nothing of the communicator changes by it.
 *   path  a file of at most 1000 bytes of path, made or replaced as a whole, readable by this user only. NULL: where the
 *         environment says, PLAIT_DUMP.RANK.COMMUNICATOR.json (communicators count from 0); without PLAIT_DUMP, stderr.
 * With PLAIT_DUMP set it is also written when the communicator breaks, and on SIGUSR1 (see above).
 * PLAIT_ERR_INVALID, PLAIT_ERR_SYSTEM (the file cannot be written; the text says why), PLAIT_ERR_STATE (forked child). */
PLAIT_API plait_status plait_comm_dump(plait_comm* comm, const char* path);

PLAIT_API plait_status plait_comm_rank(const plait_comm* comm, int32_t* rank);
PLAIT_API plait_status plait_comm_size(const plait_comm* comm, int32_t* size);

/* A level of the machine as the communicator sees it, innermost first: groups of ranks that share something. */
typedef struct plait_level {
  size_t struct_size;     /* set by the caller in each element */
  char name[32];          /* "pod", "host", "network" */
  char transport[32];     /* what joins ranks at this level: "icl", "shm", or the network: "tcp", "ofi:tcp" */
  int32_t group_size;     /* ranks in this rank's group of this level */
  int32_t group_count;    /* such groups in the communicator */
} plait_level;

/* The levels, a list: at most `capacity` are written to `levels` (may be NULL with capacity 0), *count is how many there
 * are: the pod ("icl"), where links of chips' own join ranks, the host ("shm") and, where ranks are on several, the network
 * (plait_comm_config.network without the links of chips, its beginning). A pod may be larger than a host. */
PLAIT_API plait_status plait_comm_levels(const plait_comm* comm, plait_level* levels, size_t capacity, size_t* count);

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* Memory for gradients: pooled shared memory that peers on the host reduce from where it lies, up to 4 times faster than
 * plain memory. It belongs to the process, serves every communicator, and is exposed to each on first use. Aligned to
 * 4096 bytes; zeroed. memory.h gives the same memory with malloc's face, of any size, and says what is kept of it when it
 * is freed. bytes 0 is PLAIT_ERR_INVALID. PLAIT_ERR_STATE (no plait_init, forked child), PLAIT_ERR_MEMORY,
 * PLAIT_ERR_SYSTEM. */
PLAIT_API plait_status plait_mem_alloc(size_t bytes, void** memory);

/* Frees what plait_mem_alloc, or plait_malloc and its like, gave. No operation may be using it. NULL is fine.
 * PLAIT_ERR_INVALID for other pointers, PLAIT_ERR_STATE in a forked child. */
PLAIT_API plait_status plait_mem_free(void* memory);

typedef struct plait_memory {
  size_t struct_size;
  void* base;
  size_t bytes;
  plait_memory_kind kind; /* PLAIT_MEMORY_DEVICE: PLAIT_ERR_UNSUPPORTED in this version */
  int32_t device;         /* of device memory */
  int32_t has_dmabuf;     /* not 0: dmabuf_fd and dmabuf_offset hold */
  int32_t dmabuf_fd;      /* borrowed for the call */
  uint64_t dmabuf_offset;
} plait_memory;

/* Lets peers reach plain memory: other processes of the host may read it (CMA), networks may move it without a copy.
 * The pages stay the caller's and must outlive the region. Plain memory works in every call unregistered, too.
 * Memory of plait_mem_alloc needs no registering; doing it is harmless. *region ends by plait_deregister.
 * PLAIT_ERR_INVALID, PLAIT_ERR_UNSUPPORTED, PLAIT_ERR_MEMORY, PLAIT_ERR_STATE. */
PLAIT_API plait_status plait_register(const plait_memory* memory, plait_region** region);

/* Takes the right back. No operation may be using the memory. */
PLAIT_API plait_status plait_deregister(plait_region* region);

/* ---- operations ---------------------------------------------------------------------------------------------- */

/* How one call is made; every collective takes it, NULL means defaults. All ranks give the same algorithm and codec. */
typedef struct plait_call_config {
  size_t struct_size;
  const char* algorithm;  /* "ring", "direct", ...; NULL: chosen for size and communicator. docs/program.md lists them */
  int64_t timeout_ms;     /* 0: the communicator's. Counted from the first wait that finds the operation unfinished */
  int32_t priority;       /* reserved: order of queued operations; ignored in this version */
  uint64_t tensor_key;    /* names the tensor on this communicator, not 0: codecs keep by it what they left out of it */
  const int64_t* shape;   /* of the tensor, shape_dims long, the outermost first; copied. For codecs of matrices */
  size_t shape_dims;
  const char* codec;      /* gradient compression, "int8", "topk:ratio=0.01", ...: codec.h; NULL or "": none */
} plait_call_config;

/* A reduction of the user's own: either a function or a scaling, the other is NULL. */
typedef struct plait_op_desc {
  size_t struct_size;
  /* out[i] = left[i] (op) right[i] for `count` elements of `dtype`; must be associative, as results are folded in any
   * grouping. `out` may be `left` or `right`, and overlaps neither otherwise. A call sees any piece of the vector, of
   * whole elements: an element may be a struct of its size (two numbers of 32 bits in an int64), never part of one.
   * Pointers are aligned to the element where all ranks' buffers are. Called from the threads that drive
   * communicators, several at once where several do; must not call plait, block or throw: peers wait meanwhile. */
  void (*function)(void* context, const void* left, const void* right, void* out, size_t count, plait_dtype dtype);
  void* context;          /* passed to function; outlives the op */
  /* 0: the result is that of rank 0 (op) rank 1 (op) ... in this order. Only algorithms that keep the order of ranks
   * run it (docs/program.md): plait takes one, another one that is given by name is PLAIT_ERR_UNSUPPORTED. */
  int32_t commutative;
  /* Premultiplied sum: one element of `dtype` on this rank, copied. The contribution times this scalar, rounded to the
   * dtype, is what is summed; each rank may give another scalar. Integers wrap. */
  const void* scaling;
  plait_dtype dtype;      /* of scaling, and of the calls that use it */
} plait_op_desc;

/* Makes an op from a descriptor, for any call that takes a plait_op. Not collective: *op is a number of this process
 * (1024 and above, never the same twice), and ranks may have other numbers for what they call together. Ranks compare
 * whether the ops of a call are premultiplied sums, commute or do not (PLAIT_ERR_MISMATCH); that they mean the same
 * function is the caller's to see to. One op serves every communicator. *op ends by plait_op_free, or by the last
 * plait_finalize. Any thread. PLAIT_ERR_INVALID, PLAIT_ERR_STATE (no plait_init, forked child), PLAIT_ERR_MEMORY. */
PLAIT_API plait_status plait_op_create(const plait_op_desc* desc, plait_op* op);

/* Frees an op; its function is not called again. PLAIT_ERR_STATE, and nothing freed, while a request or plan made with
 * it is not freed. PLAIT_ERR_INVALID for a number that plait_op_create did not give or that was freed. Any thread. */
PLAIT_API plait_status plait_op_free(plait_op op);

/* ---- messages ------------------------------------------------------------------------------------------------ */

/* Sends and receives between two ranks. The k-th send of a tag from one rank to another meets the k-th receive of that
 * tag there from it. They take no part in the order of collectives, and move whenever the communicator is driven: in
 * plait_test or plait_wait of any request. Only the two ranks take part; they are connected when they first do.
 *
 *   buffer   `count` elements of `dtype`, this rank's until the request is done. Shared memory (plait_mem_alloc) is
 *            written where it lies.
 *   peer     the other rank; this one, too
 *   tag      0 or more; alike on both sides
 *   config   NULL, or the deadline (timeout_ms); no algorithm
 *   request  as for collectives; NULL: the call blocks, or in a group is waited for at its end
 *
 * A send is done when its buffer may be reused: of up to 8 KiB, between hosts maybe 64, perhaps before anybody receives
 * it, while 448 KiB and 256 messages of a pair wait so; else not until it is received. So two ranks that first send to
 * each other and then receive, both blocking, may wait for ever: use requests or a group. A receive may be longer than
 * its message: plait_request_bytes tells how much came; the dtypes of the two may differ, bytes are moved.
 * Statuses as for collectives. PLAIT_ERR_MISMATCH: the message is longer than its receive; the text names both sizes.
 * PLAIT_ERR_TIMEOUT and PLAIT_ERR_PEER name the rank and tag that were waited for.
 * Short messages that were done at once may have one request together: each call's is waited for and freed as if it had
 * one of its own. */
PLAIT_API plait_status plait_send(plait_comm* comm, const void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                                  int32_t tag, const plait_call_config* config, plait_request** request);
PLAIT_API plait_status plait_recv(plait_comm* comm, void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                                  int32_t tag, const plait_call_config* config, plait_request** request);

/* The same as persistent plans: each plait_start is one more send or receive of the tag. */
PLAIT_API plait_status plait_plan_send(plait_comm* comm, const void* buffer, size_t count, plait_dtype dtype,
                                       int32_t peer, int32_t tag, const plait_call_config* config,
                                       plait_request** plan);
PLAIT_API plait_status plait_plan_recv(plait_comm* comm, void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                                       int32_t tag, const plait_call_config* config, plait_request** plan);

/* How many bytes the message of a send or receive has, once it is done. PLAIT_ERR_STATE before; PLAIT_ERR_INVALID for a
 * collective. */
PLAIT_API plait_status plait_request_bytes(const plait_request* request, size_t* bytes);

/* Calls of this thread from plait_group_begin to plait_group_end are progressed together: whatever would block (sends,
 * receives and collectives with request NULL, of any communicators) is started, returns at once, and is done when
 * plait_group_end returns, which says what the first that failed came to. Their buffers are the caller's again then. So
 * exchanges in a cycle end. A short message that is done at once takes no request, so that a group is the fastest way for
 * many. A wrong argument is said by the call itself, and what it was for is not in the group.
 * Groups may be nested: the outermost end waits. PLAIT_ERR_STATE for an end without a begin. */
PLAIT_API plait_status plait_group_begin(void);
PLAIT_API plait_status plait_group_end(void);

/* ---- requests ------------------------------------------------------------------------------------------------ */

/* Moves the communicator on and says whether `request` is done (*done = 1). Returns what the operation came to when it
 * is done, else PLAIT_OK; an error is always done. A request that is done stays so; testing it again is fine. */
PLAIT_API plait_status plait_test(plait_request* request, int* done);

/* Blocks until `request` is done, its deadline passes, a peer dies or the communicator is aborted. Does not free. */
PLAIT_API plait_status plait_wait(plait_request* request);

/* Blocks until one of `count` requests is done and sets *index to it; NULL entries are skipped; requests may belong to
 * different communicators of this thread. Returns what that request came to. PLAIT_ERR_INVALID when all are NULL. */
PLAIT_API plait_status plait_wait_any(plait_request** requests, size_t count, size_t* index);

/* The name of the algorithm that a request runs, as plait_call_config takes it; alike on all ranks. *name belongs to the
 * library and lives as long as it. PLAIT_ERR_INVALID. */
PLAIT_API plait_status plait_request_algorithm(const plait_request* request, const char** name);

/* One way to make a call, as plait sees it when it chooses among them. */
typedef struct plait_candidate {
  size_t struct_size;     /* set by the caller in each element */
  const char* algorithm;  /* as plait_call_config takes it; the library's, lives as long as it */
  double predicted_us;    /* negative: plait has no prediction */
  double tuned_us;        /* measured earlier: of the tuning file; negative: not in it */
  int32_t simulated;      /* 1: predicted_us is of a simulation, 0: of a formula; the two do not compare */
  int32_t runs;           /* 0: not possible here; forced by name, the call is PLAIT_ERR_UNSUPPORTED */
  int32_t chosen;         /* 1: taken where the call names no algorithm */
} plait_candidate;

/* The candidates for a plan of a collective, best first, whatever algorithm the plan itself was made with: at most
 * `capacity` are written to `candidates` (may be NULL with capacity 0), *count is how many there are. Alike on all ranks,
 * but not collective; starts nothing. As the driving thread of the plan's communicator.
 * PLAIT_ERR_INVALID: not a plan, or one of a send or receive; an argument is NULL. PLAIT_ERR_STATE (forked child). */
PLAIT_API plait_status plait_candidates(plait_request* plan, plait_candidate* candidates, size_t capacity,
                                        size_t* count);

/* The same as text: a line that says what is asked, then one for each candidate, `*` before the one that is chosen. What
 * fits is written to `text`, which is the caller's, with a NUL behind it; *length is that of the whole text without
 * the NUL, so that a `capacity` of *length + 1 holds all of it. `text` may be NULL with capacity 0. The wording is for
 * people and may change. Threads and statuses as above. */
PLAIT_API plait_status plait_explain(plait_request* plan, char* text, size_t capacity, size_t* length);

/* What could join this process to others, as text: a line for each transport and network device here that says whether a
 * communicator made now, from the environment, would use it, and what it can do, or why it is not used. `text`, `capacity`
 * and `length` as for plait_explain. Loads the modules of all fabrics: for tools. Any thread.
 * PLAIT_ERR_INVALID (arguments, environment), PLAIT_ERR_STATE (forked child). */
PLAIT_API plait_status plait_list_networks(char* text, size_t capacity, size_t* length);

/* Frees a request. PLAIT_ERR_STATE, and nothing freed, while it is not done. NULL is fine. */
PLAIT_API plait_status plait_request_free(plait_request* request);

#ifdef __cplusplus
}
#endif

#include <plait/codec.h>
#include <plait/collectives.h>
#include <plait/memory.h>
#include <plait/queue.h>

#endif
