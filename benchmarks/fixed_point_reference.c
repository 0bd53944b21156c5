/* The circuit in C on 16-bit memories, as fast as a compiler makes it: what the fast circuit is measured against.

   grid_steps:    boxes whose edges are runs of consecutive points, in whole vectors.
   scatter_steps: edges one after the other, rows of four words.
   Same words as the circuit with one law, floor roots and cut products; overflows wrap and are not counted. */
#include <math.h>
#include <stdint.h>

typedef int16_t word;
enum { BLOCK = 512 };

typedef struct {
  int32_t A, B, C2, H, Minv, w_A, w_B, w_C2, w_H, w_Minv;
} table;

static inline int32_t root(uint32_t square) {
  const int32_t above = (int32_t)sqrtf((float)square);
  return above - ((uint32_t)above * (uint32_t)above > square);
}

static inline int32_t inverse(int32_t length) {
  const float quotient = 65536.0f / (float)length;
  return (int32_t)(quotient < 32767.0f ? quotient : 32767.0f);
}

/* Circuits 3 to 9 of one edge from its differences; forces on the ends. */
static inline void edge(const table *c, const word *xr, const word *vr, word *lambda, word *force) {
  const uint32_t square = (uint32_t)(xr[0] * xr[0]) + (uint32_t)(xr[1] * xr[1]) + (uint32_t)(xr[2] * xr[2]);
  const int32_t inv = inverse(root(square));
  const word ex = (word)((inv * xr[0]) >> 8), ey = (word)((inv * xr[1]) >> 8), ez = (word)((inv * xr[2]) >> 8);
  const word rate = (word)((ex * vr[0] + ey * vr[1] + ez * vr[2]) >> 8);
  const word creep = (word)(((c->A * *lambda) >> c->w_A) + ((c->B * rate) >> c->w_B));
  const word f = (word)((c->C2 * (word)(creep - rate)) >> c->w_C2);
  *lambda = (word)(*lambda + ((c->H * creep + (1 << c->w_H >> 1)) >> c->w_H));
  force[0] = (word)((f * ex) >> 8);
  force[1] = (word)((f * ey) >> 8);
  force[2] = (word)((f * ez) >> 8);
}

static void move_points(const table *c, word *restrict x, word *restrict v, const word *restrict total, long words) {
  const int32_t half = 1 << c->w_H >> 1, half_mass = 1 << c->w_Minv >> 1;
  for (long q = 0; q < words; q++) {
    const word a = (word)((c->Minv * total[q] + half_mass) >> c->w_Minv);
    const word old = v[q];
    v[q] = (word)(old + ((c->H * a + half) >> c->w_H));
    x[q] = (word)(x[q] + ((c->H * old + half) >> c->w_H));
  }
}

static void one_run(const table *table_, const word *restrict x, const word *restrict v, word *f,
                    const word *restrict is_edge, word *restrict lambda, word (*restrict force)[BLOCK], long size,
                    long base, long target, long count) {
  const table c = *table_;
  const word *xi = x + base, *xj = x + target, *vi = v + base, *vj = v + target;
  for (long q = 0; q < count; q++) {
    const word xr[3] = {(word)((xj[q] - xi[q]) & is_edge[q]), (word)((xj[size + q] - xi[size + q]) & is_edge[q]),
                        (word)((xj[2 * size + q] - xi[2 * size + q]) & is_edge[q])};
    const word vr[3] = {(word)((vj[q] - vi[q]) & is_edge[q]), (word)((vj[size + q] - vi[size + q]) & is_edge[q]),
                        (word)((vj[2 * size + q] - vi[2 * size + q]) & is_edge[q])};
    word pull[3];
    edge(&c, xr, vr, lambda + q, pull);
    force[0][q] = pull[0];
    force[1][q] = pull[1];
    force[2][q] = pull[2];
  }
  for (int d = 0; d < 3; d++) {
    word *restrict here = f + d * size + base;
    for (long q = 0; q < count; q++) here[q] = (word)(here[q] - force[d][q]);
    word *restrict there = f + d * size + target;
    for (long q = 0; q < count; q++) there[q] = (word)(there[q] + force[d][q]);
  }
}

void grid_steps(long steps, long runs, const int64_t *restrict table_of_runs, const int32_t *scalars, word *restrict x,
                word *restrict v, word *restrict f, const word *restrict external, const word *restrict is_edge,
                word *restrict lambda, long size) {
  const table *c = (const table *)scalars;
  static word force[3][BLOCK];
  for (long step = 0; step < steps; step++) {
    for (long q = 0; q < 3 * size; q++) f[q] = external[q];
    for (long r = 0; r < runs; r++) {
      const int64_t *run = table_of_runs + 4 * r;
      for (long from = 0; from < run[3]; from += BLOCK) {
        const long count = run[3] - from < BLOCK ? run[3] - from : BLOCK, lane = run[2] + from;
        one_run(c, x, v, f, is_edge + lane, lambda + lane, force, size, run[0] + from, run[1] + from, count);
      }
    }
    move_points(c, x, v, f, 3 * size);
  }
}

void scatter_steps(long steps, long edges, const int32_t *restrict ends, const int32_t *scalars, word *restrict x,
                   word *restrict v, word *restrict f, const word *restrict external, word *restrict lambda,
                   long points) {
  const table c = *(const table *)scalars;
  for (long step = 0; step < steps; step++) {
    for (long q = 0; q < 4 * points; q++) f[q] = external[q];
    for (long e = 0; e < edges; e++) {
      const long i = 4 * (long)ends[2 * e], j = 4 * (long)ends[2 * e + 1];
      word xr[3], vr[3], force[3];
      for (int d = 0; d < 3; d++) {
        xr[d] = (word)(x[j + d] - x[i + d]);
        vr[d] = (word)(v[j + d] - v[i + d]);
      }
      edge(&c, xr, vr, lambda + e, force);
      for (int d = 0; d < 3; d++) {
        f[j + d] = (word)(f[j + d] + force[d]);
        f[i + d] = (word)(f[i + d] - force[d]);
      }
    }
    move_points(&c, x, v, f, 4 * points);
  }
}
