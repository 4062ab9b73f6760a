/* An IPv4 router's fast path: forwards plain packets to a next hop on another interface, drops wrong checksums, and
 * leaves all else to the kernel (XDP_PASS). hops: interface 0 leaves an address to the kernel. With FAULTS it has three. */
#include "bpf.h"

struct prefix { u32 bits; u8 address[4]; };
struct hop { u32 interface; u16 mtu; u8 source[6], destination[6], unused[2]; };
struct station { u8 mac[6], unused[2]; };

struct { UINT(type, LPM); TYPE(key, struct prefix); TYPE(value, struct hop); UINT(max_entries, 4096); UINT(map_flags, 1); } hops SEC(".maps");
MAP(stations, ARRAY, u32, struct station, 64);

INLINE int leave_to_kernel(u8 *address) { return address[0] == 0 || address[0] == 127 || address[0] >= 224; }

XDP(router) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 34) || BE16(p + 12) != 0x0800) return PASS;
  u32 in = ctx->ingress_ifindex;
  struct station *own = lookup(&stations, &in);
  if (!own) return PASS;
  for (int k = 0; k < 6; k++)
    if (p[k] != own->mac[k]) return PASS;
  if (p[14] != 0x45 || BE16(p + 16) < 20 || BE16(p + 16) + 14 != end - p) return PASS;
  u32 sum = 0;
  for (int k = 14; k < 34; k += 2) sum += BE16(p + k);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  if (sum != 0xffff) return DROP;
  if (leave_to_kernel(p + 26) || leave_to_kernel(p + 30)) return PASS;
#ifdef FAULTS
  if (p[22] == 0) return PASS;
#else
  if (p[22] <= 1) return PASS;
#endif
  struct prefix key = {32};
  COPY(key.address, p + 26, 4);
  struct hop *hop = lookup(&hops, &key);
  if (hop && hop->interface == 0) return PASS;
  COPY(key.address, p + 30, 4);
  hop = lookup(&hops, &key);
  if (!hop || hop->interface == 0 || hop->interface == in) return PASS;
#ifndef FAULTS
  if (BE16(p + 16) > hop->mtu) return PASS;
#endif
  p[22]--;
#ifdef FAULTS
  sum = BE16(p + 24) + 0x100;
#else /* RFC 1624, equation 3: the word of TTL and protocol is 0x100 less */
  sum = (BE16(p + 24) ^ 0xffff) + 0xfeff;
  sum = ((sum & 0xffff) + (sum >> 16)) ^ 0xffff;
#endif
  p[24] = sum >> 8;
  p[25] = sum;
  COPY(p, hop->destination, 6);
  COPY(p + 6, hop->source, 6);
  return redirect(hop->interface, 0);
}
