"""Helpers of the kernel that programs may call, by their number in include/uapi/linux/bpf.h."""

from typing import NamedTuple


class Helper(NamedTuple):
    """A helper that the interpreter runs: its name without `bpf_`, how many arguments it reads."""

    name: str
    arguments: int


TAIL_CALL = 12
HELPERS = {
    1: Helper("map_lookup_elem", 2), 2: Helper("map_update_elem", 4), 3: Helper("map_delete_elem", 2),
    5: Helper("ktime_get_ns", 0), 6: Helper("trace_printk", 5), 7: Helper("get_prandom_u32", 0),
    8: Helper("get_smp_processor_id", 0), 12: Helper("tail_call", 3), 23: Helper("redirect", 2),
    25: Helper("perf_event_output", 5), 28: Helper("csum_diff", 5), 42: Helper("get_numa_node_id", 0),
    44: Helper("xdp_adjust_head", 2), 51: Helper("redirect_map", 3), 54: Helper("xdp_adjust_meta", 2),
    65: Helper("xdp_adjust_tail", 2), 125: Helper("ktime_get_boot_ns", 0), 130: Helper("ringbuf_output", 4),
    188: Helper("xdp_get_buff_len", 1),
}  # fmt: skip
# helpers that XDP programs may call in the kernel, but not here: for messages
_OTHERS = {
    69: "fib_lookup", 84: "sk_lookup_tcp", 85: "sk_lookup_udp", 86: "sk_release", 87: "map_push_elem",
    88: "map_pop_elem", 89: "map_peek_elem", 93: "spin_lock", 94: "spin_unlock", 99: "skc_lookup_tcp",
    100: "tcp_check_syncookie", 110: "tcp_gen_syncookie", 113: "probe_read_kernel", 118: "jiffies64",
    131: "ringbuf_reserve", 132: "ringbuf_submit", 133: "ringbuf_discard", 134: "ringbuf_query",
    160: "ktime_get_coarse_ns", 163: "check_mtu", 164: "for_each_map_elem", 165: "snprintf", 169: "timer_init",
    181: "loop", 182: "strncmp", 189: "xdp_load_bytes", 190: "xdp_store_bytes", 194: "kptr_xchg",
    195: "map_lookup_percpu_elem",
}  # fmt: skip


def helper_name(number: int) -> str:
    """Return a helper's name, or its number where it has none here."""
    return HELPERS[number].name if number in HELPERS else f"{_OTHERS.get(number, 'number')} ({number})"
