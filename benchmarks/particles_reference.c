/* Steps of three-element edges in C, as fast as a compiler makes them: what the particle kernels are measured against.

   scatter_steps: rows of four numbers for position, velocity and force, edges one after the other.
   run_steps:     boxes whose edges are runs of consecutive particles, in whole vectors.
   Compiled once with REAL=double, ROOT=sqrt and once with REAL=float, ROOT=sqrtf. */
#include <math.h>
#include <stdint.h>

typedef REAL real;

void scatter_steps(long steps, double size, long edges, const int32_t *restrict pairs, real *restrict x,
                   real *restrict v, real *restrict f, const real *restrict constants, real *restrict z,
                   const real *restrict inverse_mass, long particles) {
  const real h = (real)size;
  const real *eta = constants, *kappa = eta + edges, *decay = kappa + edges, *gain = decay + edges;
  for (long step = 0; step < steps; step++) {
    for (long q = 0; q < 4 * particles; q++) f[q] = 0;
    for (long e = 0; e < edges; e++) {
      const long i = 4 * (long)pairs[2 * e], j = 4 * (long)pairs[2 * e + 1];
      real d[4], w[4];
      for (int c = 0; c < 4; c++) {
        d[c] = x[j + c] - x[i + c];
        w[c] = v[j + c] - v[i + c];
      }
      const real inverse = 1 / ROOT(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
      const real rate = (w[0] * d[0] + w[1] * d[1] + w[2] * d[2]) * inverse;
      z[e] = decay[e] * z[e] + gain[e] * rate;
      const real pull = (kappa[e] * z[e] + eta[e] * rate) * inverse;
      for (int c = 0; c < 4; c++) {
        f[i + c] += pull * d[c];
        f[j + c] -= pull * d[c];
      }
    }
    for (long n = 0; n < particles; n++)
      for (int c = 0; c < 4; c++) v[4 * n + c] += h * inverse_mass[n] * f[4 * n + c];
    for (long q = 0; q < 4 * particles; q++) x[q] += h * v[q];
  }
}

static void one_run(const real *restrict x, const real *restrict v, real *restrict here, real *restrict there,
                    const real *restrict weight, real *restrict z, const real *constants, long size, long target,
                    long count) {
  const real eta = constants[1], kappa = constants[2], decay = constants[3], gain = constants[4];
#pragma GCC ivdep
  for (long q = 0; q < count; q++) {
    const real dx = x[target + q] - x[q], dy = x[target + size + q] - x[size + q];
    const real dz = x[target + 2 * size + q] - x[2 * size + q];
    const real u = v[target + q] - v[q], w = v[target + size + q] - v[size + q];
    const real s = v[target + 2 * size + q] - v[2 * size + q];
    real square = dx * dx + dy * dy + dz * dz;
    square = square < (real)1e-30 ? (real)1e-30 : square;
    const real inverse = 1 / ROOT(square);
    const real rate = (u * dx + w * dy + s * dz) * inverse;
    const real state = decay * z[q] + gain * rate;
    const real pull = (kappa * state + eta * rate) * weight[q] * inverse;
    z[q] = state;
    here[q] += pull * dx;
    here[size + q] += pull * dy;
    here[2 * size + q] += pull * dz;
    there[q] -= pull * dx;
    there[size + q] -= pull * dy;
    there[2 * size + q] -= pull * dz;
  }
}

void run_steps(long steps, double length, long runs, const int64_t *table, real *motion, const real *weight, real *z,
               const real *constants, const real *rate, long size) {
  const real h = (real)length;
  real *x = motion, *v = motion + 3 * size, *f = motion + 6 * size;
  for (long step = 0; step < steps; step++) {
    for (long q = 0; q < 3 * size; q++) f[q] = 0;
    for (long r = 0; r < runs; r++) {
      const long base = table[4 * r], target = table[4 * r + 1], lane = table[4 * r + 2];
      one_run(x + base, v + base, f + base, f + target, weight + lane, z + lane, constants, size, target - base,
              table[4 * r + 3]);
    }
    for (int c = 0; c < 3; c++)
      for (long q = 0; q < size; q++) v[c * size + q] += rate[q] * f[c * size + q];
    for (long q = 0; q < 3 * size; q++) x[q] += h * v[q];
  }
}
