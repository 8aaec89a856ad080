// plait for C++ (17 and newer), over the C API and nothing else: handles that end what they hold, memory that
// peers reach for containers and std::pmr, errors as exceptions. Header only.
//
// SPDX-License-Identifier: BSD-3-Clause
//
//   plait::library library;                                  // plait_init; plait_finalize at the end
//   plait::communicator comm = plait::make_communicator();   // rank and size from the launcher
//   plait::vector<float> gradient(count);                    // std::vector in memory that peers reduce from
//   in place plait::check(plait_allreduce(comm.get(), gradient.data(), gradient.data(), gradient.size(),
//   PLAIT_FLOAT32, PLAIT_SUM,
//                                nullptr, nullptr), comm.get());
//
// Handles convert to nothing by themselves: get() is for calls of the C API. Threads, order and lifetimes are
// those of the C calls. A type here may be used by one thread at a time, unless it says so.
#ifndef PLAIT_PLAIT_HPP
#define PLAIT_PLAIT_HPP

#include <plait/plait.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

namespace plait {

// ---- errors
// ---------------------------------------------------------------------------------------------------

// What a call of the C API came to, where that is not PLAIT_OK. what() is the sentence of plait_last_error.
class error : public std::runtime_error {
 public:
  error(plait_status status, const std::string& sentence)
      : std::runtime_error(sentence.empty() ? plait_status_string(status) : sentence), status_(status) {}
  plait_status status() const noexcept { return status_; }

 private:
  plait_status status_;
};

// Throws `error` unless `status`, which a call has just returned on this thread, is PLAIT_OK.
//   comm  the communicator of the call; nullptr: it had none
inline void check(plait_status status, const plait_comm* comm = nullptr) {
  if (status != PLAIT_OK) throw error(status, plait_last_error(comm));
}

// ---- handles
// --------------------------------------------------------------------------------------------------

// plait_init while it lives, counted: any number may live at once.
class library {
 public:
  //   config  as plait_init's; nullptr: defaults
  explicit library(const plait_config* config = nullptr) { check(plait_init(config)); }
  library(const library&) = delete;
  library& operator=(const library&) = delete;
  ~library() { (void)plait_finalize(); }
};

struct destroy_communicator {
  // Collective, and waits as plait_comm_destroy does. Call that on release() to hear of errors.
  void operator()(plait_comm* comm) const noexcept { (void)plait_comm_destroy(comm); }
};
// Owns a communicator, or none. Destroyed on all ranks, as plait_comm_destroy is called.
using communicator = std::unique_ptr<plait_comm, destroy_communicator>;

struct free_request {
  // Waits for the operation to end, since a request that is pending cannot be freed; its status is lost.
  void operator()(plait_request* request) const noexcept {
    if (plait_request_free(request) == PLAIT_OK) return;
    (void)plait_wait(request);
    (void)plait_request_free(request);
  }
};
// Owns a request or a plan, or none. Ends before its communicator does.
using request = std::unique_ptr<plait_request, free_request>;

// plait_comm_create. Collective. Throws `error`.
//   config  nullptr: defaults
inline communicator make_communicator(const plait_comm_config* config = nullptr) {
  plait_comm* comm = nullptr;
  check(plait_comm_create(config, &comm));
  return communicator(comm);
}

// plait_comm_split. Collective over the ranks of `parent`. Throws `error`.
//   color, key  as plait_comm_split's; color PLAIT_NO_COLOR: what is returned owns none
inline communicator split(const communicator& parent, int32_t color, int32_t key = 0) {
  plait_comm* child = nullptr;
  check(plait_comm_split(parent.get(), color, key, nullptr, &child), parent.get());
  return communicator(child);
}

// ---- memory
// ---------------------------------------------------------------------------------------------------

// Memory of plait_mem_alloc: zeroed, a multiple of 4096 by its address, freed at the end. Needs plait_init,
// and to end in the process that made it. Operations that use it must be done before it ends.
class buffer {
 public:
  buffer() noexcept = default;
  //   bytes  0: no memory, data() is nullptr. Throws `error`.
  explicit buffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes != 0) check(plait_mem_alloc(bytes, &data_));
  }
  buffer(buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    buffer old(std::move(*this));
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~buffer() { plait_free(data_); }

  void* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }
  // The same as elements of T: data() and how many there are of them.
  template <class T>
  T* as() const noexcept {
    static_assert(std::is_trivial<T>::value, "memory of a buffer holds values, not objects");
    return static_cast<T*>(data_);
  }
  template <class T>
  std::size_t count() const noexcept {
    return bytes_ / sizeof(T);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// An allocator of containers: std::vector<float, plait::allocator<float>>. All are equal, so containers move
// and swap their memory. Needs no plait_init. Any thread.
template <class T>
class allocator {
 public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::true_type;

  constexpr allocator() noexcept = default;
  template <class U>
  constexpr allocator(const allocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor)

  // Throws std::bad_array_new_length, or std::bad_alloc: plait_last_error(nullptr) says why.
  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    void* memory = plait_aligned_alloc(alignof(T), count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { plait_free(memory); }

  template <class U>
  friend constexpr bool operator==(const allocator&, const allocator<U>&) noexcept {
    return true;
  }
  template <class U>
  friend constexpr bool operator!=(const allocator&, const allocator<U>&) noexcept {
    return false;
  }
};

template <class T>
using vector = std::vector<T, allocator<T>>;

#if defined(__cpp_lib_memory_resource)
// The same for std::pmr: give containers shared_memory(). Any thread.
class memory_resource final : public std::pmr::memory_resource {
  // Throws std::bad_alloc.
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* memory = plait_aligned_alloc(alignment, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { plait_free(memory); }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
#if defined(__cpp_rtti)
    return dynamic_cast<const memory_resource*>(&other) != nullptr;
#else
    return this == &other;
#endif
  }
};

// One of them that is never destroyed, so that objects with static lifetime may use it.
inline std::pmr::memory_resource* shared_memory() {
  static auto* resource = new memory_resource;
  return resource;
}
#endif

}  // namespace plait

#endif
