"""Memory of plait as objects of Python's buffer protocol.

    import numpy, plait.memory
    gradient = numpy.frombuffer(plait.memory.alloc(4 * count), dtype=numpy.float32)
    weights = plait.memory.ndarray((1000, 1000), numpy.float32)      # the same, with a shape
    tensor = torch.frombuffer(plait.memory.alloc(4 * count), dtype=torch.float32)

Other ranks of the host read and reduce such memory where it lies, several times faster than memory of malloc. What is
allocated is freed when the last view of it is gone: memoryviews, arrays and tensors over it each count. Any thread.
No plait_init is needed. After a fork both processes see the same bytes; a child's own allocations are its own.

Needs nothing but the standard library and libplait.so. Read docs/memory.md for more.
"""

import ctypes
import os
import weakref

__all__ = ["alloc", "ndarray", "tensor", "is_shared", "keep", "trim", "usage", "library", "load", "Error"]

_SONAME = "libplait.so.0"
_loaded = None


class Error(RuntimeError):
    """What a call of plait came to: `status` is the number of a plait_status, the text plait's own sentence."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class _Usage(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t)
                for name in ("struct_size", "used", "kept", "keep_most", "resident", "capacity")]


def _candidates():
    """The library that was installed with this file, if it was, then what the system's loader finds."""
    folder = os.path.dirname(os.path.abspath(__file__))
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        path = os.path.join(folder, _SONAME)
        if os.path.exists(path):
            yield path
    yield _SONAME


def load(path=None):
    """Loads libplait, from `path` if given, and returns it as a ctypes.CDLL. Called by itself when it is first needed; a
    second call with another path is an error, since there is one arena a process."""
    global _loaded
    if _loaded is not None:
        if path is not None and path != _loaded._name:
            raise OSError(f"plait.memory: {_loaded._name} is loaded; {path} cannot be, too")
        return _loaded
    found = None
    failures = []
    for name in [path] if path is not None else _candidates():
        try:
            found = ctypes.CDLL(name)
            break
        except OSError as error:
            failures.append(str(error))
    if found is None:
        raise OSError("plait.memory: libplait is not to be found; install plait, add its folder to LD_LIBRARY_PATH, or "
                      "call plait.memory.load(PATH): " + "; ".join(failures))
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    for name, result, arguments in (("plait_calloc", pointer, [size, size]), ("plait_malloc", pointer, [size]),
                                    ("plait_free", None, [pointer]), ("plait_mem_is_shared", ctypes.c_int, [pointer, size]),
                                    ("plait_mem_keep", ctypes.c_int, [size]), ("plait_mem_trim", ctypes.c_int, []),
                                    ("plait_mem_usage", ctypes.c_int, [ctypes.POINTER(_Usage)]),
                                    ("plait_last_error", ctypes.c_char_p, [pointer])):
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    _loaded = found
    return found


def library():
    """The library as a ctypes.CDLL, for calls that are not here."""
    return load()


def _check(status):
    if status != 0:
        raise Error(status, load().plait_last_error(None).decode("utf-8", "replace"))


def alloc(nbytes, zeroed=True):
    """A writable memoryview of `nbytes` bytes (format 'B') over memory of plait.

    nbytes: 0 or more.
    zeroed: False leaves in it what it had before, which costs less.
    The memory is freed when the view, and all that was made from it, are gone. Raises MemoryError, with plait's sentence,
    where there is no shared memory: it is never plain memory instead.
    """
    if nbytes < 0:
        raise ValueError(f"plait.memory.alloc: {nbytes} bytes asked for")
    if nbytes == 0:
        return memoryview(bytearray())
    plait = load()
    address = plait.plait_calloc(1, nbytes) if zeroed else plait.plait_malloc(nbytes)
    if not address:
        raise MemoryError(plait.plait_last_error(None).decode("utf-8", "replace"))
    owner = (ctypes.c_ubyte * nbytes).from_address(address)
    # A view holds the object that it was made from, so that this one goes with the last of them. Not at exit: views may
    # still be in use by other threads then, and the memory goes with the process.
    weakref.finalize(owner, plait.plait_free, address).atexit = False
    return memoryview(owner).cast("B")


def ndarray(shape, dtype=float, zeroed=True):
    """A numpy array of that shape and dtype over memory of plait. Needs numpy. Raises MemoryError."""
    import numpy

    dtype = numpy.dtype(dtype)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    count = 1
    for size in sizes:
        count *= int(size)
    return numpy.frombuffer(alloc(count * dtype.itemsize, zeroed), dtype=dtype).reshape(sizes)


def tensor(shape, dtype=None, zeroed=True):
    """A torch tensor of that shape and dtype (torch's default where None) over memory of plait. Needs torch. Raises
    MemoryError."""
    import torch

    dtype = dtype or torch.get_default_dtype()
    sizes = torch.Size([shape] if isinstance(shape, int) else shape)
    if sizes.numel() == 0:
        return torch.empty(sizes, dtype=dtype)
    nbytes = sizes.numel() * torch.empty((), dtype=dtype).element_size()
    return torch.frombuffer(alloc(nbytes, zeroed), dtype=dtype).reshape(sizes)


def is_shared(buffer):
    """Whether an object of the buffer protocol (contiguous, writable) lies in memory of plait."""
    view = memoryview(buffer).cast("B")
    if view.nbytes == 0:
        return False
    address = ctypes.addressof(ctypes.c_ubyte.from_buffer(view))
    return load().plait_mem_is_shared(address, view.nbytes) == 1


def keep(nbytes):
    """How many bytes of freed memory plait keeps for the next that is asked for. Raises Error."""
    _check(load().plait_mem_keep(nbytes))


def trim():
    """Gives all free memory back to the system. Raises Error."""
    _check(load().plait_mem_trim())


def usage():
    """What there is of shared memory, in bytes, as a dict: used, kept, keep_most, resident, capacity. Raises Error."""
    found = _Usage(struct_size=ctypes.sizeof(_Usage))
    _check(load().plait_mem_usage(ctypes.byref(found)))
    return {name: getattr(found, name) for name, _ in _Usage._fields_[1:]}
