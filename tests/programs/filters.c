/* Programs that read the packet and decide; no maps but sections of data. */
#include "bpf.h"

static volatile const u32 threshold = 100;
static volatile u32 seen;
static volatile u64 bytes_seen = 7;
static const u8 weights[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

XDP(drop_all) { return DROP; }

XDP(by_length) { return DATA_END(ctx) - DATA(ctx) > threshold ? PASS : DROP; }

XDP(by_type) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return ABORTED;
  switch (BE16(p + 12)) {
    case 0x0800: return PASS;
    case 0x86dd: return TX;
    case 0x0806: return DROP;
    case 0x8100: return HAS(p, 18) && BE16(p + 16) == 0x0800 ? PASS : ABORTED;
  }
  return DROP;
}

XDP(checksum_right) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 34) || BE16(p + 12) != 0x0800) return DROP;
  u32 words = p[14] & 15, sum = 0;
  if (words < 5) return DROP;
  u8 *q = p + 14;
  for (u32 k = 0; k < 15; k++) {
    if (k == words) break;
    OPAQUE(q);
    if (!HAS(q, 4)) return ABORTED;
    sum += *(u16 *)q + *(u16 *)(q + 2);
    q += 4;
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff ? PASS : DROP;
}

XDP(weigh) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  u64 h = 0xcbf29ce484222325ull;
  for (int k = 0; k < 48; k++) {
    if (!HAS(p, 1)) break;
    h = (h ^ (*p * weights[*p & 15])) * 0x100000001b3ull;
    p++;
  }
  return h % 5;
}

XDP(count_seen) {
  seen += 1;
  bytes_seen += DATA_END(ctx) - DATA(ctx);
  return seen & 1 ? PASS : DROP;
}

NOINLINE int port_of(u8 *p, u8 *end) {
  if (!HAS(p, 38) || BE16(p + 12) != 0x0800) return -1;
  if (p[23] != 6 && p[23] != 17) return -2;
  if ((p[14] & 15) != 5) return -3;
  return BE16(p + 36);
}

XDP(by_port) {
  int port = port_of(DATA(ctx), DATA_END(ctx));
  if (port < 0) return port == -1 ? PASS : DROP;
  return port < 1024 ? PASS : port > 40000 ? TX : DROP;
}

XDP(signed_math) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 24)) return DROP;
  s32 a = *(s32 *)p, b = *(s32 *)(p + 4);
  s64 c = *(s64 *)(p + 8), d = *(s64 *)(p + 16);
  s64 x = (a >> 3) + (c >> 7) - (s64)b * d;
  if (a < b) x ^= d;
  if (c < d) x += a;
  if ((u32)a >= (u32)b) x -= 5;
  return (u64)x % 3 + 1;
}

XDP(unsigned_math) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 24)) return DROP;
  u32 a = *(u32 *)p, b = *(u32 *)(p + 4);
  u64 c = *(u64 *)(p + 8), d = *(u64 *)(p + 16);
  u64 x = a / (b | 1) + c % (d | 1) + (c << (a & 63)) + (d >> (b & 63)) + (a << (b & 31));
  x = __builtin_bswap64(x) ^ __builtin_bswap32(a) ^ __builtin_bswap16(b);
  return x % 4;
}

XDP(interface_and_queue) { return ctx->ingress_ifindex == 1 && ctx->rx_queue_index == 0 ? TX : DROP; }

XDP(bad_verdict) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  return HAS(p, 1) ? *p : 77;
}

XDP(six_extension) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 54) || BE16(p + 12) != 0x86dd) return PASS;
  u8 next = p[20];
  u8 *q = p + 54;
  for (int k = 0; k < 6; k++) {
    if (next == 6 || next == 17 || next == 58) return TX;
    if (next != 0 && next != 43 && next != 60) return DROP;
    if (!HAS(q, 8)) return ABORTED;
    next = q[0];
    q += 8 + ((u32)q[1] << 3);
  }
  return DROP;
}
