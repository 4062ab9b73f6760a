/* Exact mean value analysis as bare C: test_bench_queueing.py's load-independent case, LANES points side by side.
   Usage: mva POINTS < demands (double, POINTS x 5); prints the sum of throughputs and processor seconds, least of 5. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STATIONS = 5, POPULATION = 16, LANES = 16 };

static double solve(long points, const double *demands, double *throughput, double *queue) {
    double sum = 0;
    for (long first = 0; first < points; first += LANES) {
        double D[STATIONS][LANES], R[STATIONS][LANES] = {{0}}, x[LANES] = {0}, total[LANES];
        for (int v = 0; v < LANES; v++)
            for (int k = 0; k < STATIONS; k++)
                D[k][v] = demands[(first + v < points ? first + v : points - 1) * STATIONS + k];
        for (int n = 1; n <= POPULATION; n++) {
            for (int v = 0; v < LANES; v++) total[v] = 0;
            for (int k = 0; k < STATIONS; k++)
                for (int v = 0; v < LANES; v++)
                    R[k][v] = D[k][v] + D[k][v] * (x[v] * R[k][v]), total[v] += R[k][v];
            for (int v = 0; v < LANES; v++) x[v] = n / total[v];
        }
        for (int v = 0; v < LANES && first + v < points; v++) {
            sum += throughput[first + v] = x[v];
            for (int k = 0; k < STATIONS; k++) queue[(first + v) * STATIONS + k] = x[v] * R[k][v];
        }
    }
    return sum;
}

int main(int count, char **words) {
    long points = count > 1 ? atol(words[1]) : 0;
    double *demands = malloc(sizeof(double) * points * STATIONS), *queue = malloc(sizeof(double) * points * STATIONS);
    double *throughput = malloc(sizeof(double) * points), sum = 0, least = 1e9;
    if (fread(demands, sizeof(double), points * STATIONS, stdin) != (size_t)(points * STATIONS)) return 1;
    for (int k = 0; k < 5; k++) {
        clock_t began = clock();
        sum = solve(points, demands, throughput, queue);
        double took = (double)(clock() - began) / CLOCKS_PER_SEC;
        if (took < least) least = took;
    }
    printf("%.17g %.6f\n", sum, least);
    return 0;
}
