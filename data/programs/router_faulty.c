/* The router with three faults: one hop left is forwarded, a carry is lost, no packet is too large. */
#define FAULTS
#include "router.c"
