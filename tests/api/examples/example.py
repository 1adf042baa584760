# SPDX-License-Identifier: Apache-2.0
"""heaptap from Python, by ctypes: the table is looked up by its symbol."""

import contextlib
import ctypes
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p


class Measured(ctypes.Structure):
    _fields_ = [(n, c_uint64) for n in ("allocations", "deallocations", "requested", "allocated", "deallocated")]
    _fields_ += [(n, c_int64) for n in ("added", "highest", "lowest")] + [("largest", c_uint64)]


class Api(ctypes.Structure):
    """As struct heaptap_api in heaptap.h, as far as it is needed here."""

    _fields_ = [
        ("size", c_uint32),
        ("version", c_uint32),
        ("active", CFUNCTYPE(c_int)),
        ("start", CFUNCTYPE(c_int)),
        ("stop", CFUNCTYPE(c_int)),
        ("pause", CFUNCTYPE(None)),
        ("resume", CFUNCTYPE(None)),
        ("mark", CFUNCTYPE(None, c_char_p)),
        ("region_begin", CFUNCTYPE(None, c_char_p, POINTER(c_int64), c_size_t)),
        ("region_end", CFUNCTYPE(None, c_char_p)),
        ("thread_name", CFUNCTYPE(None, c_char_p)),
        ("range_name", CFUNCTYPE(None, c_void_p, c_size_t, c_char_p)),
        ("measure_begin", CFUNCTYPE(c_int64, c_uint)),
        ("measure_read", CFUNCTYPE(c_int, c_int64, POINTER(Measured), c_size_t)),
        ("measure_end", CFUNCTYPE(c_int, c_int64, POINTER(Measured), c_size_t)),
    ]


def heaptap():
    """The agent's functions, or None if the program does not run under heaptap."""
    try:
        look = ctypes.CDLL(None).heaptap_api
    except AttributeError:
        return None
    look.restype, look.argtypes = POINTER(Api), [c_size_t]
    table = look(ctypes.sizeof(Api))
    return table.contents if table else None


@contextlib.contextmanager
def region(name, *ids):
    api = heaptap()
    if api:
        api.region_begin(name.encode(), (c_int64 * len(ids))(*ids), len(ids))
    try:
        yield
    finally:
        if api:
            api.region_end(name.encode())


api = heaptap()
if not api:
    print("loaded 0")
else:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = c_void_p, [c_size_t]
    libc.free.argtypes = [c_void_p]
    with region("from Python", 1, 2):
        measure = api.measure_begin(0)
        libc.free(libc.malloc(1 << 20))
        m = Measured()
        api.measure_end(measure, byref(m), ctypes.sizeof(m))
    # Python allocates now and then by itself.
    print("loaded 1 largest", m.largest >= 1 << 20)
