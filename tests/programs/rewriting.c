/* Programs that change the packet. */
#include "bpf.h"

MAP(notes, ARRAY, u32, u64, 4);

INLINE void note(u32 place, u64 value) {
  u64 *v = lookup(&notes, &place);
  if (v) *v = value;
}

XDP(swap_macs) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  u8 mac[6];
  if (!HAS(p, 14)) return DROP;
  COPY(mac, p, 6);
  COPY(p, p + 6, 6);
  COPY(p + 6, mac, 6);
  return TX;
}

XDP(lower_ttl) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 34) || BE16(p + 12) != 0x0800) return PASS;
  if (p[22] <= 1) return DROP;
  p[22]--;
  u32 sum = BE16(p + 24) + 0x100;
  sum = (sum & 0xffff) + (sum >> 16);
  p[24] = sum >> 8;
  p[25] = sum;
  return TX;
}

XDP(pop_vlan) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  u8 macs[12];
  if (!HAS(p, 18) || BE16(p + 12) != 0x8100) return PASS;
  COPY(macs, p, 12);
  if (adjust_head(ctx, 4)) return ABORTED;
  p = DATA(ctx), end = DATA_END(ctx);
  if (!HAS(p, 12)) return ABORTED;
  COPY(p, macs, 12);
  return TX;
}

XDP(push_header) {
  if (adjust_head(ctx, -20)) return ABORTED;
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 34)) return DROP;
  COPY(p, p + 20, 14);
  for (int k = 14; k < 34; k++) p[k] = k;
  return TX;
}

XDP(head_by_content) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 2)) return DROP;
  long got = adjust_head(ctx, (int)p[0] * 2 - 256 - (p[1] & 7));
  note(0, got);
  return got ? PASS : TX;
}

XDP(tail_by_content) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 2)) return DROP;
  long got = adjust_tail(ctx, (int)(p[0] * 16) - 1024 + p[1]);
  note(1, got);
  return got ? PASS : TX;
}

XDP(cut_tail) {
  long length = DATA_END(ctx) - DATA(ctx);
  if (length > 64 && adjust_tail(ctx, 64 - length)) return ABORTED;
  return PASS;
}

XDP(meta_by_content) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 2)) return DROP;
  long got = adjust_meta(ctx, -(int)p[0] + (p[1] & 1));
  note(2, got);
  u8 *m = (u8 *)(long)ctx->data_meta;
  p = DATA(ctx);
  if (m + 4 <= p) *(u32 *)m = 0xfeedbeef;
  return got ? PASS : TX;
}

XDP(meta_then_head) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 1)) return DROP;
  int away = (int)p[0] - 230;
  if (adjust_meta(ctx, -8)) return ABORTED;
  u8 *m = (u8 *)(long)ctx->data_meta;
  p = DATA(ctx);
  if (m + 8 > p) return ABORTED;
  *(u64 *)m = 0x1122334455667788ull;
  return adjust_head(ctx, away) ? PASS : TX;
}

XDP(sum_update) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 34)) return DROP;
  u32 old[5], fresh[5];
  COPY(old, p + 14, 20);
  COPY(fresh, p + 14, 20);
  fresh[2] ^= 0x1234;
  fresh[3] = fresh[4];
  note(0, csum_diff(old, 20, fresh, 20, 0xffff));
  note(1, csum_diff(0, 0, fresh, 20, p[1]));
  note(2, csum_diff(old, 20, 0, 0, p[2] << 8));
  note(3, csum_diff(old, 8, fresh, 16, ~0u));
  return PASS;
}

XDP(fill) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  for (int k = 0; k < 96; k++) {
    if (!HAS(p, 1)) break;
    *p = *p + k;
    p++;
  }
  return TX;
}

XDP(wide_stores) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 32)) return DROP;
  *(u64 *)p ^= *(u64 *)(p + 9);
  *(u32 *)(p + 11) += 0x89abcdef;
  *(u16 *)(p + 17) = 0xffff;
  *(u64 *)(p + 20) = 0xfffffffffffffff0ull;
  return PASS;
}
