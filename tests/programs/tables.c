/* Programs with maps of every kind. */
#include "bpf.h"

struct flow { u32 src, dst; u16 sport, dport; u32 proto; };
struct stats { u64 packets, bytes; };
struct prefix { u32 bits; u8 address[4]; };
struct prefix6 { u32 bits; u8 address[16]; };

MAP(counts, ARRAY, u32, struct stats, 8);
MAP(cpu_counts, PERCPU_ARRAY, u32, struct stats, 8);
MAP(flows, HASH, struct flow, struct stats, 64);
MAP(cpu_flows, PERCPU_HASH, struct flow, u64, 256);
MAP(recent, LRU_HASH, u32, u64, 4096);
MAP(cpu_recent, LRU_PERCPU_HASH, u32, u64, 4096);
MAP(small, HASH, u8[7], u8[5], 16);
MAP(devices, DEVMAP, u32, u32, 8);
MAP(named_devices, DEVMAP_HASH, u32, u32, 8);
MAP(steps, PROG_ARRAY, u32, u32, 4);
struct { UINT(type, LPM); TYPE(key, struct prefix); TYPE(value, u32); UINT(max_entries, 64); UINT(map_flags, 1); } routes SEC(".maps");
struct { UINT(type, LPM); TYPE(key, struct prefix6); TYPE(value, u64); UINT(max_entries, 64); UINT(map_flags, 1); } routes6 SEC(".maps");

INLINE int is_ipv4(u8 *p, u8 *end) { return HAS(p, 34) && BE16(p + 12) == 0x0800; }

XDP(count_classes) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  u32 place = HAS(p, 14) ? p[12] & 15 : 9;
  struct stats *s = lookup(&counts, &place);
  if (!s) return DROP;
  s->packets++;
  s->bytes += end - p;
  return PASS;
}

XDP(count_per_cpu) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  u32 place = (end - p) & 7;
  struct stats *s = lookup(&cpu_counts, &place);
  if (s) s->packets += 3, s->bytes ^= end - p;
  return s ? PASS : ABORTED;
}

XDP(count_atomically) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  u32 place = (end - p) & 7;
  struct stats *s = lookup(&counts, &place);
  if (!s) return DROP;
  __sync_fetch_and_add(&s->packets, 1);
  u64 old = __sync_fetch_and_or(&s->bytes, end - p);
  __sync_fetch_and_xor(&s->bytes, 0x100000001ull);
  return (old ^ __sync_val_compare_and_swap(&s->packets, 5, 1000)) & 3;
}

INLINE int read_flow(struct flow *f, u8 *p, u8 *end) {
  if (!is_ipv4(p, end) || !HAS(p, 38)) return 0;
  COPY(&f->src, p + 26, 4);
  COPY(&f->dst, p + 30, 4);
  COPY(&f->sport, p + 34, 2);
  COPY(&f->dport, p + 36, 2);
  f->proto = p[23];
  return 1;
}

XDP(flow_table) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  struct flow f;
  if (!read_flow(&f, p, end)) return PASS;
  struct stats *s = lookup(&flows, &f);
  if (s) {
    s->packets++;
    s->bytes += end - p;
    if (s->packets > 3) delete (&flows, &f);
    return TX;
  }
  struct stats fresh = {1, end - p};
  return update(&flows, &f, &fresh, 1) ? DROP : PASS;
}

XDP(flow_per_cpu) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  struct flow f;
  if (!read_flow(&f, p, end)) return PASS;
  u64 *s = lookup(&cpu_flows, &f), one = 1;
  if (s) return (*s += 2), TX;
  return update(&cpu_flows, &f, &one, 0) ? DROP : PASS;
}

XDP(recent_sources) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!is_ipv4(p, end)) return PASS;
  u32 key;
  COPY(&key, p + 26, 4);
  key &= 0xff03;
  u64 *s = lookup(&recent, &key), one = 1;
  if (s) return __sync_fetch_and_add(s, 1), TX;
  update(&recent, &key, &one, 0);
  return PASS;
}

XDP(recent_per_cpu) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  u32 key = p[0] << 4 | (p[1] & 15);
  u64 *s = lookup(&cpu_recent, &key), one = 5;
  if (s) return (*s *= 3), TX;
  return update(&cpu_recent, &key, &one, 1) ? DROP : PASS;
}

XDP(update_flags) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  u8 key[7] = {p[0] & 7, 1, 2, 3, 4, 5, p[1] & 3}, value[5] = {p[2], p[3], 1, 2, 3};
  if (p[4] & 64) return delete (&small, key) ? DROP : PASS;
  long got = update(&small, key, value, p[4] & 3);
  return got == 0 ? PASS : got == -17 ? DROP : got == -2 ? TX : got == -22 ? REDIRECT : ABORTED;
}

XDP(array_updates) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  u32 place = p[0] & 15;
  struct stats value = {p[1], p[2]};
  long got = p[3] & 8 ? delete (&counts, &place) : update(&counts, &place, &value, p[3] & 3);
  return got == 0 ? PASS : got == -17 ? DROP : got == -7 ? TX : got == -22 ? REDIRECT : ABORTED;
}

XDP(route) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!is_ipv4(p, end)) return PASS;
  struct prefix key = {32};
  COPY(key.address, p + 30, 4);
  u32 *hop = lookup(&routes, &key);
  if (!hop) return DROP;
  p[5] = *hop;
  return TX;
}

XDP(learn_routes) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 34)) return PASS;
  struct prefix key = {p[0] % 35};
  u32 value = p[1];
  COPY(key.address, p + 30, 4);
  if (p[2] & 1) {
    u32 *hop = lookup(&routes, &key);
    return hop ? *hop & 3 : DROP;
  }
  long got = p[2] & 6 ? update(&routes, &key, &value, (p[2] >> 3) & 3) : delete (&routes, &key);
  return got == 0 ? PASS : got == -17 ? DROP : got == -2 ? TX : got == -22 ? REDIRECT : ABORTED;
}

XDP(route6) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 54)) return PASS;
  struct prefix6 key = {p[1] & 127};
  COPY(key.address, p + 38, 16);
  u64 value = p[0], *hop = lookup(&routes6, &key);
  if (hop) return *hop & 3;
  return update(&routes6, &key, &value, 0) ? DROP : TX;
}

XDP(to_device) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  return redirect_map(&devices, p[0] & 15, p[1] & 7);
}

XDP(to_named_device) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  return redirect_map(&named_devices, p[0], p[1] & 3);
}

XDP(to_interface) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  return redirect(p[0], p[1] & 1);
}

XDP(step_a) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  p[0]++;
  tail_call(ctx, &steps, p[1] & 7);
  return DROP;
}

XDP(step_b) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return PASS;
  p[2]++;
  tail_call(ctx, &steps, p[2] & 1);
  return TX;
}

NOINLINE u64 mix(u64 a, u64 b, u64 c) { return (a ^ (b << 13)) * (c | 1) + (a >> 7); }
NOINLINE u64 mix2(u64 a, u64 b) {
  u64 t[8];
  for (int k = 0; k < 8; k++) t[k] = mix(a + k, b, k);
  return t[a & 7] ^ t[b & 7];
}

XDP(subprograms) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 20)) return PASS;
  u64 x = mix2(*(u64 *)p, *(u64 *)(p + 8));
  *(u64 *)(p + 8) = x;
  return x % 4;
}

XDP(checksum_key) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 34)) return PASS;
  u32 words[4];
  COPY(words, p + 14, 16);
  u32 key = csum_diff(0, 0, words, 16, 0) & 0x3f;
  u64 *s = lookup(&recent, &key), one = 9;
  if (!s) return update(&recent, &key, &one, 2) == -2 ? (update(&recent, &key, &one, 0), TX) : DROP;
  return *s += key, PASS;
}

XDP(two_tables) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!is_ipv4(p, end)) return PASS;
  struct prefix key = {24};
  COPY(key.address, p + 30, 4);
  u32 *hop = lookup(&routes, &key);
  u32 place = hop ? *hop & 7 : 0;
  struct stats *s = lookup(&counts, &place);
  if (!s) return ABORTED;
  s->packets++;
  return hop ? redirect_map(&devices, place, 2) : DROP;
}
