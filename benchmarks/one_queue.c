/* The queue of test_bench_engine.py as bare C: Poisson arrivals, exponential service, the sum of latencies alone.
   Usage: one_queue PACKETS SEED; prints packets, mean latency in ns, and processor seconds. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RING = 1 << 16 };

static int64_t arrived[RING];
static uint64_t state;

static int64_t exponential(double mean_ps) { /* xorshift64* (Vigna 2016) */
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    uint64_t draw = state * 2685821657736338717ULL;
    return (int64_t)(-log((double)((draw >> 11) + 1) * 0x1p-53) * mean_ps + 0.5);
}

int main(int count, char **words) {
    long packets = count > 1 ? atol(words[1]) : 1000000, done = 0;
    state = count > 2 ? strtoull(words[2], 0, 10) : 1;
    clock_t began = clock();
    int64_t arrival = exponential(125000), departure = INT64_MAX, latencies = 0;
    unsigned first = 0, inside = 0;
    while (done < packets) {
        if (arrival < departure) {
            if (inside == RING) return 1;
            arrived[(first + inside) % RING] = arrival;
            if (!inside++) departure = arrival + exponential(100000);
            arrival += exponential(125000);
        } else {
            latencies += departure - arrived[first++ % RING], done++;
            departure = --inside ? departure + exponential(100000) : INT64_MAX;
        }
    }
    printf("%ld %.3f %.6f\n", done, 1e-3 * (double)latencies / (double)done,
           (double)(clock() - began) / CLOCKS_PER_SEC);
    return 0;
}
