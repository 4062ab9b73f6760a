/* Programs that hand something out: ring buffers, perf events, other processors and sockets, and copies of bytes. */
#include "bpf.h"

struct record { u32 length, kind; u8 head[16]; };

struct { UINT(type, RINGBUF); UINT(max_entries, 4096); } ring SEC(".maps");
struct { UINT(type, PERF_EVENTS); UINT(key_size, 4); UINT(value_size, 4); UINT(max_entries, 4); } events SEC(".maps");
MAP(processors, CPUMAP, u32, u32, 4);
MAP(sockets, XSKMAP, u32, u32, 8);

XDP(reserve_record) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 32)) return PASS;
  struct record *r = ring_reserve(&ring, sizeof(*r), p[0] == 7);
  if (!r) return DROP;
  r->length = end - p;
  r->kind = BE16(p + 12);
  COPY(r->head, p + 14, 16);
  p[2] = r->head[3] ^ r->length;
  p[3] = ring_query(&ring, 0);
  if (p[1] & 1) ring_discard(r, 0);
  else ring_submit(r, p[1] & 2);
  return TX;
}

XDP(fill_ring) { /* of 4,096 bytes, until a record has no room */
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 32)) return PASS;
  u32 taken = 0;
  for (int k = 0; k < 9; k++) {
    u8 *r = ring_reserve(&ring, 500, 0);
    if (!r) break;
    r[499] = p[k];
    taken += r[499];
    if (p[k] & 3) ring_submit(r, 0);
    else ring_discard(r, 0);
  }
  p[9] = taken;
  *(u32 *)(p + 20) = ring_query(&ring, 0);
  *(u32 *)(p + 24) = ring_query(&ring, 1);
  *(u32 *)(p + 28) = ring_query(&ring, 3) - ring_query(&ring, 2) + ring_query(&ring, 9);
  u64 last = taken;
  return ring_output(&ring, &last, 6, 0) ? DROP : TX;
}

XDP(output_record) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 32)) return PASS;
  u8 bytes[16];
  COPY(bytes, p, 16);
  long got = ring_output(&ring, bytes, (p[0] & 15) + 1, p[1] & 7);
  return got == 0 ? TX : got == -22 ? DROP : got == -11 ? ABORTED : PASS;
}

XDP(output_event) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 32)) return PASS;
  u64 cpu = p[0] & 1 ? 0xffffffffull : (p[0] & 2 ? 77 : 0xffffffffull), length = p[1];
  u64 flags = length << 32 | cpu | (p[2] == 3 ? 1ull << 60 : 0);
  u8 bytes[20];
  COPY(bytes, p, 20);
  long got = perf_output(ctx, &events, flags, bytes, 20);
  return got == 0 ? TX : got == -22 ? DROP : got == -14 ? ABORTED : got == -7 ? PASS : REDIRECT;
}

XDP(to_processor) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  return redirect_map(&processors, p[0] & 7, p[1] & 3);
}

XDP(to_socket) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  u32 queue = p[2] & 7;
  if (p[3] & 1 && lookup(&sockets, &queue)) return ABORTED;
  return redirect_map(&sockets, p[0] & 15, p[1] & 7);
}

XDP(copy_bytes) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx), bytes[12] = {};
  if (!HAS(p, 14)) return PASS;
  u32 from = BE16(p) & 0x1ff, to = BE16(p + 2) & 0x1ff;
  if (p[4] == 1) from |= 0x10000;
  long got = load_bytes(ctx, from, bytes, 12);
  if (got) return got == -22 ? DROP : got == -14 ? ABORTED : PASS;
  bytes[0] ^= buffer_length(ctx);
  return store_bytes(ctx, to, bytes, 12) == -22 ? PASS : TX;
}
