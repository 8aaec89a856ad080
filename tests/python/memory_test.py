"""plait.memory: views over memory of plait, and when it is freed.

Usage: memory_test.py [LIBRARY [CLASS...]]
LIBRARY is the path of libplait.so; without it, it is looked for as users have it. Where numpy or torch is not there, what
needs it is skipped; when nothing else was asked for, the status is 77."""

import gc
import os
import sys
import threading
import unittest

import plait.memory as memory

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

MIB = 1 << 20


def used():
    gc.collect()
    return memory.usage()["used"]


class Alloc(unittest.TestCase):
    def test_is_a_writable_zeroed_view(self):
        for nbytes in (1, 100, 4096, 100_001, 3 * MIB):
            view = memory.alloc(nbytes)
            self.assertIsInstance(view, memoryview)
            self.assertEqual((view.nbytes, view.format, view.readonly), (nbytes, "B", False))
            self.assertFalse(any(view[:64]))
            self.assertEqual(bytes(view[-1:]), b"\0")
            self.assertTrue(memory.is_shared(view))
            view[0] = 255
            self.assertEqual(view[0], 255)
        self.assertFalse(memory.is_shared(bytearray(10)))

    def test_is_zeroed_though_it_was_used(self):
        view = memory.alloc(MIB)
        view[:] = b"\xff" * MIB
        del view
        self.assertFalse(any(memory.alloc(MIB)))

    def test_is_freed_with_the_last_view(self):
        before = used()
        view = memory.alloc(8 * MIB)
        self.assertGreaterEqual(used(), before + 8 * MIB)
        floats = view.cast("f")
        part = floats[1000:2000]
        part[3] = 1.5
        del view, floats
        self.assertGreaterEqual(used(), before + 8 * MIB)
        self.assertEqual(part[3], 1.5)
        del part
        self.assertLess(used(), before + 8 * MIB)

    def test_edges(self):
        self.assertEqual(memory.alloc(0).nbytes, 0)
        self.assertFalse(memory.is_shared(memory.alloc(0)))
        with self.assertRaises(ValueError):
            memory.alloc(-1)
        with self.assertRaisesRegex(MemoryError, "shared memory"):
            memory.alloc(1 << 60)
        self.assertEqual(memory.alloc(10, zeroed=False).nbytes, 10)

    def test_any_thread(self):
        wrong = []

        def work(value):
            for i in range(200):
                view = memory.alloc(1 + i * 97 % 20_000)
                view[:] = bytes([value]) * view.nbytes
                if view[0] != value or view[-1] != value:
                    wrong.append(value)

        threads = [threading.Thread(target=work, args=(t,)) for t in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_forked_child_sees_the_same_and_frees_nothing(self):
        view = memory.alloc(MIB)
        child = os.fork()
        if child == 0:
            view[5] = 7
            own = memory.alloc(MIB)
            right = memory.is_shared(own) and not memory.is_shared(view)
            del view, own
            os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(view[5], 7)


class Kept(unittest.TestCase):
    def test_keep_trim_and_usage(self):
        memory.keep(16 * MIB)
        self.assertEqual(memory.usage()["keep_most"], 16 * MIB)
        memory.trim()
        self.assertEqual(memory.usage()["kept"], 0)
        view = memory.alloc(4 * MIB)
        del view
        self.assertEqual(memory.usage()["kept"], 4 * MIB)
        memory.trim()
        self.assertEqual(memory.usage()["kept"], 0)

    def test_only_one_library(self):
        with self.assertRaises(OSError):
            memory.load("/no/such/library")


@unittest.skipIf(numpy is None, "numpy is not installed")
class Numpy(unittest.TestCase):
    def test_frombuffer_keeps_the_memory(self):
        before = used()
        array = numpy.frombuffer(memory.alloc(4 * MIB), dtype=numpy.float32)
        array[:] = 2
        self.assertEqual(float(array.sum()), 2 * array.size)
        part = array.reshape(1024, -1)[3:5]
        del array
        self.assertGreaterEqual(used(), before + 4 * MIB)
        self.assertEqual(float(part[1, 1]), 2)
        del part
        self.assertLess(used(), before + 4 * MIB)

    def test_ndarray(self):
        array = memory.ndarray((30, 40), numpy.int16)
        self.assertEqual((array.shape, array.dtype, int(array.sum())), ((30, 40), numpy.int16, 0))
        self.assertTrue(memory.is_shared(array))
        self.assertEqual(memory.ndarray(5).dtype, numpy.float64)
        self.assertEqual(memory.ndarray((0, 3)).shape, (0, 3))


@unittest.skipIf(torch is None, "torch is not installed")
class Torch(unittest.TestCase):
    def test_tensor(self):
        tensor = memory.tensor((30, 40))
        self.assertEqual((tuple(tensor.shape), float(tensor.sum())), ((30, 40), 0.0))
        tensor += 1
        self.assertEqual(float(tensor.sum()), 1200.0)
        self.assertTrue(memory.is_shared(tensor.numpy()))


if __name__ == "__main__":
    memory.load(sys.argv[1] if len(sys.argv) > 1 else None)
    classes = sys.argv[2:]
    for name, module in (("Numpy", numpy), ("Torch", torch)):
        if classes == [name] and module is None:
            print(f"{name.lower()} is not installed for {sys.executable}")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0], *classes], verbosity=2)
