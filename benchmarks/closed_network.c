/* The closed network of test_bench_engine.py as bare C: a binary heap of events, lines as rings, no statistics.
   Usage: closed_network PACKETS SEED; prints packets, simulated ns, and processor seconds. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 16, STATIONS = 7, RING = 16 }; /* engines, hash, four banks, bus */

static const int64_t PS[STATIONS] = {40000, 8000, 30000, 30000, 30000, 30000, 4000};
static int spare[STATIONS] = {4, 1, 1, 1, 1, 1, 1};
static int line[STATIONS][RING], head[STATIONS], waiting[STATIONS];
static int64_t when[THREADS + 1], now, sequence, order[THREADS + 1];
static int who[THREADS + 1], at[THREADS], events;
static uint64_t state;

static uint64_t draw(void) { /* xorshift64* (Vigna 2016) */
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return state * 2685821657736338717ULL;
}

static int before(int a, int b) { return when[a] < when[b] || (when[a] == when[b] && order[a] < order[b]); }

static void swap(int a, int b) {
    int64_t t = when[a], o = order[a];
    int w = who[a];
    when[a] = when[b], order[a] = order[b], who[a] = who[b];
    when[b] = t, order[b] = o, who[b] = w;
}

static void begin(int thread) {
    int64_t ps = PS[at[thread]];
    if (at[thread] == 0) ps = (int64_t)(-log((double)((draw() >> 11) + 1) * 0x1p-53) * (double)ps + 0.5);
    int k = events++;
    when[k] = now + ps, order[k] = sequence++, who[k] = thread;
    for (; k && before(k, (k - 1) / 2); k = (k - 1) / 2) swap(k, (k - 1) / 2);
}

static void arrive(int thread, int station) {
    at[thread] = station;
    if (spare[station]) spare[station]--, begin(thread);
    else line[station][(head[station] + waiting[station]++) % RING] = thread;
}

static int next(void) {
    int thread = who[0];
    now = when[0];
    swap(0, --events);
    for (int k = 0, least; (least = 2 * k + 1) < events; k = least) {
        if (least + 1 < events && before(least + 1, least)) least++;
        if (!before(least, k)) break;
        swap(least, k);
    }
    return thread;
}

int main(int count, char **words) {
    long packets = count > 1 ? atol(words[1]) : 1000000, done = 0;
    state = count > 2 ? strtoull(words[2], 0, 10) : 1;
    clock_t began = clock();
    for (int thread = 0; thread < THREADS; thread++) arrive(thread, 0);
    while (done < packets) {
        int thread = next(), from = at[thread];
        if (waiting[from]) {
            int first = line[from][head[from]];
            head[from] = (head[from] + 1) % RING, waiting[from]--;
            begin(first);
        } else spare[from]++;
        if (from == 0) arrive(thread, 1);
        else if (from == 1) arrive(thread, 2 + (int)(draw() >> 62));
        else if (from < 6) arrive(thread, 6);
        else done++, arrive(thread, 0);
    }
    printf("%ld %.3f %.6f\n", done, (double)now / 1000, (double)(clock() - began) / CLOCKS_PER_SEC);
    return 0;
}
