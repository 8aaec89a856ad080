/* plait: the allocator of shared memory, with malloc's face, and how much memory it keeps. Included by plait.h, which has
 * its conventions; include that one. For C++ (an allocator for containers, std::pmr) there is plait.hpp; for Python,
 * plait.memory; docs/memory.md tells how a framework's allocator sits on it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What plait_malloc gives is what plait_mem_alloc gives: memory of this process that all ranks of its host reach, up to 4
 * times faster than plain memory, in every call of plait. It is never plain memory instead: where no shared memory is to be
 * had the answer is NULL. Whoever wants plain memory then calls malloc, and frees it by free.
 *
 * One allocator: plait_free and plait_mem_free free what any function of this header and plait_mem_alloc gave. free(),
 * realloc() and operator delete know nothing of it, and plait_free nothing of what malloc gave.
 *
 * Contents
 *   - plait_mem_alloc and plait_calloc give zeroes. What else gives memory gives anything: what this process wrote there
 *     before, perhaps. Ranks of the host map all of this memory, what is freed too, until its pages are given back.
 *   - Memory that is freed is kept for the next of about its size, with its pages: plait_mem_keep says how much,
 *     plait_mem_trim gives it back. Pages count against the memory limit of whoever touches them first. Where a limit is
 *     reached when one is touched, the kernel ends the process, as it does with all memory that was not touched before.
 *
 * Threads, processes
 *   - All of these: any thread, at any time. None needs plait_init, and memory stays after plait_finalize, so objects with
 *     static lifetime may hold some. Not in a signal handler.
 *   - fork: both processes see the same bytes in what was allocated before; nothing is copied. A child allocates memory of
 *     its own, and plait_free does nothing with its parent's there, so that destructors may run.
 */
#ifndef PLAIT_MEMORY_H
#define PLAIT_MEMORY_H

#include <plait/plait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- malloc's face ------------------------------------------------------------------------------------------- */

/* Memory of at least `bytes` bytes, with anything in it. Aligned to 16 bytes, from 64 bytes on to 64, beyond 8 KiB to
 * 4096, from 2 MiB on to 2 MiB. It is the caller's, until plait_free. 0 bytes are a pointer of its own, too.
 * NULL with errno ENOMEM: there is no shared memory; plait_last_error(NULL) has a sentence. */
PLAIT_API void* plait_malloc(size_t bytes);

/* Zeroed memory of `count` elements of `bytes` bytes, else as plait_malloc. ENOMEM if the product overflows, too. */
PLAIT_API void* plait_calloc(size_t count, size_t bytes);

/* Memory of `bytes` bytes that begins with what `memory` has.
 *   memory  what this allocator gave: freed, unless it is what is returned, or NULL is; NULL: as plait_malloc
 *   bytes   0: frees `memory` and returns NULL
 * Aligned as plait_malloc's, whatever `memory` was. NULL with errno ENOMEM, or EINVAL: `memory` is not what this allocator
 * gave, was freed, or is of a process that this one was forked from. Then `memory` is as it was. */
PLAIT_API void* plait_realloc(void* memory, size_t bytes);

/* As plait_malloc, at a multiple of `alignment`, a power of two up to 2 MiB; `bytes` need be none of its multiples. NULL with errno
 * ENOMEM, or EINVAL: `alignment` is no such number. */
PLAIT_API void* plait_aligned_alloc(size_t alignment, size_t bytes);

/* Frees what this allocator gave. No operation may be using it, here or at a peer: an operation whose request is done does
 * not. NULL is fine. Keeps errno. A pointer that is not this allocator's, or was freed before, is left alone, and a line of
 * log (error) and plait_last_error(NULL) say so. */
PLAIT_API void plait_free(void* memory);

/* How many bytes at `memory` may be used: as many as were asked for, or somewhat more. 0 for NULL and for what this
 * allocator did not give. */
PLAIT_API size_t plait_usable_size(const void* memory);

/* 1: all of the `bytes` bytes at `memory` lie in the shared memory of this process, whether they are allocated or not; 0:
 * they do not. A compare of bounds. */
PLAIT_API int plait_mem_is_shared(const void* memory, size_t bytes);

/* ---- how much is kept ---------------------------------------------------------------------------------------- */

/* How many bytes of freed memory this process keeps for the next that is asked for, from now on: blocks beyond 8 KiB, by
 * their sizes; what has been kept longest is given back when there are more. Larger blocks than that are given back when
 * they are freed. Default: 256 MiB, or a 64th of the machine's memory where that is less; 0: none. A framework whose
 * buffers come and go in each step wants what it frees in one.
 * PLAIT_ERR_MEMORY, PLAIT_ERR_SYSTEM: no shared memory. */
PLAIT_API plait_status plait_mem_keep(size_t bytes);

/* Gives the pages of all free memory back to the system, here and where peers map them: between phases of a program, or
 * before it starts another. What is freed later is kept as before. Statuses as plait_mem_keep. */
PLAIT_API plait_status plait_mem_trim(void);

typedef struct plait_memory_usage {
  size_t struct_size;
  size_t used;      /* bytes of blocks that are allocated, plait's own too, rounded up to what they occupy */
  size_t kept;      /* bytes of freed blocks that are kept */
  size_t keep_most; /* as plait_mem_keep said */
  size_t resident;  /* bytes of pages that exist, of all the shared memory of this process */
  size_t capacity;  /* bytes of address space that there are for it */
} plait_memory_usage;

/* The state of this process's shared memory; makes it where there is none.
 *   usage  the caller sets struct_size, the rest is filled in
 * PLAIT_ERR_INVALID (usage, struct_size), PLAIT_ERR_MEMORY, PLAIT_ERR_SYSTEM. */
PLAIT_API plait_status plait_mem_usage(plait_memory_usage* usage);

#ifdef __cplusplus
}
#endif

#endif
