"""The numbers of the eBPF interpreter: regions of memory, operations, columns of its arrays, faults, errors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# memory: places of regions
CONTEXT, SCRATCH, STACK, PACKET, MAPS = 4096, 4352, 8192, 16384, 98304
FRAME, FRAME_BYTES, FRAMES = 1024, 512, 8  # frames of the stack lie FRAME apart, so that a step beyond one is seen
HEADROOM, FRAME_END, XDP_FRAME, ETHERNET = 256, 3776, 40, 14  # of a page of 4096, as in the kernel's test run
MAX_PACKET = 65535
HANDLE = np.int64(1) << np.int64(48)
WORD = np.int64(0xFFFFFFFF)
# columns of `code`
OP, DST, SRC, TARGET, IMM, SIZE, WIDE = range(7)
IMMEDIATE = 11  # as a source register: the constant
# operations; TARGET of a move is the bits that are extended, of a jump the slot that it goes to
(ADD, SUB, MUL, DIV, OR, AND, LSH, RSH, NEG, MOD, XOR, MOV, ARSH, SDIV, SMOD, MOVSX, LE, SWAP,
 JEQ, JGT, JGE, JSET, JNE, JSGT, JSGE, JLT, JLE, JSLT, JSLE,
 LOAD, LOADSX, STORE, ATOMIC, LDDW, JA, CALL_LOCAL, CALL, CALLX, EXIT) = range(39)  # fmt: skip
LAST_ALU, LAST_JUMP, LAST_MEMORY = SWAP, JSLE, ATOMIC
# columns of `maps`
(KIND, START, STOP, STRIDE, VALUE_AT, VALUE_BYTES, KEY_BYTES, ENTRIES, READ_ONLY, HEADS, BUCKETS, NEXT, NEWER, OLDER,
 COUNT, FREE, NEWEST, OLDEST, LENGTHS, FULL_ERROR, TARGETS, DEVICES, MAP_COLUMNS) = range(23)  # fmt: skip
ARRAY, HASH, LRU, LPM, PROGRAMS, EVENTS, RING = range(7)  # of a ring: COUNT bytes of packet OLDEST, NEWEST in all
# state
(DATA, END, META, DEPTH, FAULT, FAULT_ADDRESS, TIME, RANDOM, CPU, REDIRECT, TAIL_CALLS, HELPER_MAP, PACKET_NUMBER,
 PACKET_LINES, MAP_LINES, HARD_END, PORTS, RECORDS, RECORD_BYTES, DISCARDED, STATE_SIZE) = range(21)  # fmt: skip
# faults
NO_FAULT, BAD_ACCESS, TOO_LONG, TOO_DEEP, BAD_HELPER, BAD_MAP, OUT_OF_CODE, BAD_RECORD, BAD_FLAGS = range(9)
# regions, and columns of a packet's row
IN_PACKET, IN_STACK, IN_CONTEXT, IN_MAP = range(4)
(VERDICT, PATH, INSTRUCTIONS, TAKEN, HELPERS, LOADS, STORES, LINES_OF_PACKET, LINES_OF_MAPS, LENGTH, METADATA, SENT_TO,
 ROW_FAULT, FAULT_SLOT, ROW_FAULT_ADDRESS, OUT_AT, R0, SPLIT_LOADS, ROW_RECORDS, ROW_RECORD_BYTES, ROW_DISCARDED,
 ROW_COLUMNS) = (0, 1, 2, 3, 4, 5, 9, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27)  # fmt: skip
EPERM, ENOENT, E2BIG, EAGAIN, EACCES, EFAULT, EEXIST, ENODEV, EINVAL, ENOSPC, EOPNOTSUPP, EAFNOSUPPORT = (
    1, 2, 7, 11, 13, 14, 17, 19, 22, 28, 95, 97)  # fmt: skip
# ring buffers: bytes in front of a record, its largest size, and the bit of one that is not submitted yet
RECORD_HEAD, MAX_RECORD, BUSY = 8, 0x3FFFFFFF, np.int64(1) << np.int64(31)
# tables of `fib_lookup`, behind the program's maps: routes and neighbours of IPv4, of IPv6
FIB_TABLES, KEY_SCRATCH = 4, 6144
# a route's value: result, interface, MTU, metric, whether it pushes labels; MAC addresses of the next hop (if
# ROUTE_LINK) and of the interface; its next hop's address (if ROUTE_GATEWAY)
ROUTE_OUT, ROUTE_MTU, ROUTE_METRIC, ROUTE_LABELS, ROUTE_LINK, ROUTE_GATEWAY, ROUTE_MACS, ROUTE_VIA, ROUTE_BYTES = (
    4, 8, 12, 16, 20, 24, 28, 40, 56)  # fmt: skip
# results of fib_lookup (enum of include/uapi/linux/bpf.h), and its flag
NOT_FORWARDED, UNSUPPORTED_LABELS, NO_NEIGHBOUR, FRAGMENT_NEEDED, SKIP_NEIGHBOUR, FIB_BYTES = 4, 6, 7, 8, 4, 64
NO_EXIST, EXIST = 1, 2
ABORTED, REDIRECTED = 0, 4
MAX_TAIL_CALLS = 33
