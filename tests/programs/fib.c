/* What the router's tables say: parameters of fib_lookup come in a frame, and go out with its result. */
#include "bpf.h"

struct fib { u8 bytes[64]; };

XDP(ask_tables) { /* 14 bytes of Ethernet, the result, flags, the size, struct bpf_fib_lookup */
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  struct fib fib;
  if (!HAS(p, 86)) return DROP;
  COPY(&fib, p + 22, 64);
  long result = p[19] ? fib_lookup(ctx, &fib, 63, p[18]) : fib_lookup(ctx, &fib, 64, p[18]);
  *(u32 *)(p + 14) = result;
  COPY(p + 22, &fib, 64);
  return PASS;
}
