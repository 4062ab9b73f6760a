/* Maps as objects of before 2018 declare them: a structure each in the section `maps`; the program in `prog`'s place. */
#include "bpf.h"

struct bpf_map_def { u32 type, key_size, value_size, max_entries, map_flags; };

struct bpf_map_def SEC("maps") seen_bytes = {ARRAY, 4, 8, 4, 0};
struct bpf_map_def SEC("maps") seen_types = {HASH, 2, 8, 64, 0};

XDP(legacy_maps) {
  u8 *p = DATA(ctx), *end = DATA_END(ctx);
  if (!HAS(p, 14)) return DROP;
  u32 place = p[0] & 3;
  u64 *bytes = lookup(&seen_bytes, &place), one = 1;
  if (bytes) *bytes += end - p;
  u64 *count = lookup(&seen_types, p + 12);
  if (count) return (*count += 1), PASS;
  return update(&seen_types, p + 12, &one, 0) ? DROP : TX;
}
