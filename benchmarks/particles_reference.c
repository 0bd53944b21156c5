/* Steps of particles in C, as fast as a compiler makes them: what the particle solvers are measured against.

   scatter_steps:    three-element edges one after the other, a particle's position, velocity and force aligned vectors of four.
   neo_hooke_steps:  tetrahedra one after the other, likewise.
   run_steps:        three-element edges of boxes whose edges are runs of consecutive particles, in whole vectors.
   Compiled once with REAL=double, ROOT=sqrt, CUBE_ROOT=cbrt and once with REAL=float, ROOT=sqrtf, CUBE_ROOT=cbrtf. */
#include <math.h>
#include <stdint.h>

typedef REAL real;

typedef real four __attribute__((vector_size(4 * sizeof(real))));

static inline real dot(four a, four b) {
  const four p = a * b;
  return p[0] + p[1] + p[2];
}

void scatter_steps(long steps, double size, long edges, const int32_t *restrict pairs, four *restrict x,
                   four *restrict v, four *restrict f, const real *restrict constants, real *restrict z,
                   const real *restrict inverse_mass, long particles) {
  const real h = (real)size;
  const real *eta = constants, *kappa = eta + edges, *decay = kappa + edges, *gain = decay + edges;
  for (long step = 0; step < steps; step++) {
    for (long n = 0; n < particles; n++) f[n] = (four){0, 0, 0, 0};
    for (long e = 0; e < edges; e++) {
      const long i = pairs[2 * e], j = pairs[2 * e + 1];
      const four d = x[j] - x[i];
      const real inverse = 1 / ROOT(dot(d, d)), rate = dot(v[j] - v[i], d) * inverse;
      z[e] = decay[e] * z[e] + gain[e] * rate;
      const four pull = (kappa[e] * z[e] + eta[e] * rate) * inverse * d;
      f[i] += pull;
      f[j] -= pull;
    }
    for (long n = 0; n < particles; n++) {
      v[n] += h * inverse_mass[n] * f[n];
      x[n] += h * v[n];
    }
  }
}

/* Tetrahedra with W = V [mu/2 (J^(-2/3) tr C - 3) + kappa/2 (J - 1)^2]: gradients are 3 rows of four a corner 1 to 3,
   `weight` is the dead force on every particle, particles of no inverse mass stay. */
void neo_hooke_steps(long steps, double size, long tets, const int32_t *restrict corners, const four *restrict gradients,
                     const real *restrict volume, four *restrict x, four *restrict v, four *restrict f,
                     const four *restrict weight, const real *restrict inverse_mass, long particles, double shear,
                     double bulk) {
  const real h = (real)size, mu = (real)shear, kappa = (real)bulk;
  for (long step = 0; step < steps; step++) {
    for (long n = 0; n < particles; n++) f[n] = weight[n];
    for (long e = 0; e < tets; e++) {
      const int32_t *c = corners + 4 * e;
      const four *g = gradients + 3 * e, o = x[c[0]];
      const four a = x[c[1]] - o, b = x[c[2]] - o, d = x[c[3]] - o;
      four F[3]; /* columns of the deformation gradient */
      for (int k = 0; k < 3; k++) F[k] = a * g[0][k] + b * g[1][k] + d * g[2][k];
      four K[3]; /* columns of its cofactor */
      for (int k = 0; k < 3; k++) {
        const four p = F[(k + 1) % 3], q = F[(k + 2) % 3];
        K[k] = (four){p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0], 0};
      }
      const real J = dot(F[0], K[0]), root = CUBE_ROOT(J), s = mu / (root * root);
      const real trace = dot(F[0], F[0]) + dot(F[1], F[1]) + dot(F[2], F[2]);
      const real p = kappa * (J - 1) - s * trace / (3 * J);
      four P[3], total = {0, 0, 0, 0};
      for (int k = 0; k < 3; k++) P[k] = -volume[e] * (s * F[k] + p * K[k]);
      for (int n = 0; n < 3; n++) {
        const four force = P[0] * g[n][0] + P[1] * g[n][1] + P[2] * g[n][2];
        f[c[n + 1]] += force;
        total += force;
      }
      f[c[0]] -= total;
    }
    for (long n = 0; n < particles; n++) {
      v[n] += h * inverse_mass[n] * f[n];
      x[n] += h * v[n];
    }
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
