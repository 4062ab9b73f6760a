/* The few declarations that the test programs need; no header of another project. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;
typedef int s32;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static __attribute__((always_inline)) inline
#define NOINLINE static __attribute__((noinline))
#define XDP(name) SEC("xdp/" #name) int name(struct xdp_md *ctx)

enum { ABORTED, DROP, PASS, TX, REDIRECT };

struct xdp_md { u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex; };

#define UINT(name, val) int (*name)[val]
#define TYPE(name, val) typeof(val) *name
#define MAP(name_, kind, key_, value_, entries) \
  struct { UINT(type, kind); TYPE(key, key_); TYPE(value, value_); UINT(max_entries, entries); } name_ SEC(".maps")

enum { HASH = 1, ARRAY = 2, PROG_ARRAY = 3, PERF_EVENTS = 4, PERCPU_HASH = 5, PERCPU_ARRAY = 6, LRU_HASH = 9, LRU_PERCPU_HASH = 10,
       LPM = 11, DEVMAP = 14, CPUMAP = 16, XSKMAP = 17, DEVMAP_HASH = 25, RINGBUF = 27 };

static void *(*lookup)(void *, const void *) = (void *)1;
static long (*update)(void *, const void *, const void *, u64) = (void *)2;
static long (*delete)(void *, const void *) = (void *)3;
static u64 (*ktime)(void) = (void *)5;
static u32 (*prandom)(void) = (void *)7;
static u32 (*cpu_id)(void) = (void *)8;
static long (*tail_call)(void *, void *, u32) = (void *)12;
static long (*redirect)(u32, u64) = (void *)23;
static long (*perf_output)(struct xdp_md *, void *, u64, void *, u64) = (void *)25;
static s64 (*csum_diff)(u32 *, u32, u32 *, u32, u32) = (void *)28;
static long (*adjust_head)(struct xdp_md *, int) = (void *)44;
static long (*redirect_map)(void *, u64, u64) = (void *)51;
static long (*adjust_meta)(struct xdp_md *, int) = (void *)54;
static long (*adjust_tail)(struct xdp_md *, int) = (void *)65;
static long (*fib_lookup)(struct xdp_md *, void *, int, u32) = (void *)69;
static long (*ring_output)(void *, void *, u64, u64) = (void *)130;
static void *(*ring_reserve)(void *, u64, u64) = (void *)131;
static void (*ring_submit)(void *, u64) = (void *)132;
static void (*ring_discard)(void *, u64) = (void *)133;
static u64 (*ring_query)(void *, u64) = (void *)134;
static u64 (*buffer_length)(struct xdp_md *) = (void *)188;
static long (*load_bytes)(struct xdp_md *, u32, void *, u32) = (void *)189;
static long (*store_bytes)(struct xdp_md *, u32, void *, u32) = (void *)190;

#define DATA(ctx) ((u8 *)(long)(ctx)->data)
#define DATA_END(ctx) ((u8 *)(long)(ctx)->data_end)
#define HAS(p, n) ((p) + (n) <= end)
#define OPAQUE(x) __asm__ volatile("" : "+r"(x)) /* the compiler forgets what it knows of x */
#define BE16(p) ((u16)((p)[0] << 8 | (p)[1]))
#define COPY(to, from, n) __builtin_memcpy(to, from, n)
