// Matrix products on tiles of rows that stay in cache.
#pragma once

#include <algorithm>
#include <type_traits>

#include "array.h"
#include "simd.h"

namespace {

// rows of a tile, and columns that are worked on between visits to its sums
constexpr int TILE = 64, DEPTH = 128;
// centroids whose sums are held in registers, 2 vectors each
constexpr int GROUP = 6;

// How n things are worked on in groups of at most GROUP, as even as can be.
struct Groups {
  int64_t n, count;
  int64_t each, larger;  // things in a group, and groups with one more: divided once, for a division takes long
  explicit Groups(int64_t n)
      : n(n), count((n + GROUP - 1) / GROUP), each(count ? n / count : 0), larger(count ? n % count : 0) {}
  int64_t first(int64_t group) const { return group * each + std::min(group, larger); }
  int size(int64_t group) const { return int(each + (group < larger)); }
};

// Call f with the compile-time constant `size`, 1 to GROUP.
template <int Size = GROUP, class F>
INLINE void with_size(int size, F&& f) {
  if constexpr (Size > 0) {
    if (size == Size)
      f(std::integral_constant<int, Size>{});
    else
      with_size<Size - 1>(size, f);
  }
}

// A (m, p) matrix with each group of rows interleaved, (groups, p, group size): read in order by `products`.
template <class Real>
struct Packed {
  Groups groups;
  int64_t width;
  Array<Real> values;
  // element (i, v) of the matrix is at from[i * row_step + v * column_step]
  Packed(const Real* from, int64_t m, int64_t p, int64_t row_step, int64_t column_step)
      : groups(m), width(p), values(m * p + lanes<Real>) {  // so that vectors may be read beyond the last one
    for (int64_t g = 0; g < groups.count; ++g) {
      Real* to = values.data() + groups.first(g) * p;
      for (int64_t v = 0; v < p; ++v)
        for (int i = 0; i < groups.size(g); ++i)
          *to++ = from[(groups.first(g) + i) * row_step + v * column_step];
    }
  }
};

// sums[i, r] += sum_v matrix[i, v] columns[v, r] over 2 vectors of r, for one group of i
template <class Real, int Size>
INLINE void product_group(const Real* packed, const Real* columns, int64_t step, int depth, Real* sums) {
  constexpr int n = lanes<Real>;
  Vec<Real> a[Size], b[Size];
#pragma GCC unroll 16
  for (int i = 0; i < Size; ++i) a[i] = load(sums + i * TILE), b[i] = load(sums + i * TILE + n);
  for (int v = 0; v < depth; ++v) {
    Vec<Real> x = load(columns), y = load(columns + n);
#pragma GCC unroll 16
    for (int i = 0; i < Size; ++i) a[i] += x * packed[i], b[i] += y * packed[i];
    columns += step, packed += Size;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Size; ++i) store(sums + i * TILE, a[i]), store(sums + i * TILE + n, b[i]);
}

// sums[i, r] += sum_v matrix[i, v] columns[v, r] for r in 2 vectors and v in [from, from + depth)
template <class Real>
INLINE void products(const Packed<Real>& matrix, int64_t from, int depth, const Real* columns, int64_t step,
                     Real* sums) {
  const Groups& groups = matrix.groups;
  for (int64_t g = 0; g < groups.count; ++g) {
    int64_t first = groups.first(g);
    with_size(groups.size(g), [&](auto size) {
      const Real* packed = matrix.values.data() + first * matrix.width + from * size;
      product_group<Real, size>(packed, columns, step, depth, sums + first * TILE);
    });
  }
}

// to[v, r] = from[r, v] for `rows` rows and `width` columns, zero for rows up to `padded`
template <class Real>
INLINE void transposed(const Real* from, int64_t from_step, int rows, int padded, int width, Real* to,
                       int64_t to_step) {
  constexpr int n = lanes<Real>;
  for (int r = 0; r < padded; r += n) {
    int v = 0;
    if (r + n <= rows) {
      for (; v + n <= width; v += n) transpose(from + r * from_step + v, from_step, to + v * to_step + r, to_step);
      if (v + 1 < width) {  // what fills no vector, padded
        Real part[n * n], turned[n * n];
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j) part[i * n + j] = v + j < width ? from[(r + i) * from_step + v + j] : Real(0);
        transpose(part, n, turned, n);
        for (int j = 0; v < width; ++v, ++j) store(to + v * to_step + r, load(turned + j * n));
      }
    }
    for (; v < width; ++v)
      for (int i = r; i < std::min(r + n, padded); ++i) to[v * to_step + i] = i < rows ? from[i * from_step + v] : Real(0);
  }
}

// sums[j, v] += sum_r pull[j, r] rows[r, v] over `Vectors` vectors of v, for one group of j. Memory `ahead` of the rows is
// asked for meanwhile: of those with an even number, an odd one, or all, where `every` is 1, 0, or 2.
template <class Real, int Size, int Vectors>
INLINE void moment_group(const Real* pull, const Real* rows, int64_t step, int n_rows, Real* sums, int64_t ld,
                         int64_t ahead = 0, int every = 2) {
  constexpr int n = lanes<Real>;
  Vec<Real> a[Size][Vectors];
#pragma GCC unroll 16
  for (int j = 0; j < Size; ++j)
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) a[j][i] = load(sums + j * ld + i * n);
  for (int r = 0; r < n_rows; ++r) {
    Vec<Real> x[Vectors];
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) x[i] = load(rows + i * n);
    if (ahead && (r & 1) != every) __builtin_prefetch(rows + ahead, 0, 2);
#pragma GCC unroll 16
    for (int j = 0; j < Size; ++j)
#pragma GCC unroll 4
      for (int i = 0; i < Vectors; ++i) a[j][i] += x[i] * pull[j * TILE + r];
    rows += step;
  }
#pragma GCC unroll 16
  for (int j = 0; j < Size; ++j)
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) store(sums + j * ld + i * n, a[j][i]);
}

// numbers that `moments` works with besides: columns that fill no vector, padded, and their sums
template <class Real>
constexpr int64_t spare_for(int64_t k) {
  return (TILE + k) * lanes<Real>;
}

// sums[j, v] += sum_r pull[j, r] rows[r, v]; memory `ahead` of the rows is asked for meanwhile, by two groups where there
// are two: as evenly as can be, for whoever asks for too much at once waits
template <class Real>
INLINE void moments(const Real* pull, int64_t k, const Real* rows, int64_t width, int n_rows, Real* sums,
                    int64_t ld, int64_t ahead, Real* spare) {
  constexpr int n = lanes<Real>;
  Groups groups(k);
  int64_t v = 0;
  for (; v + n <= width; v += v + 2 * n <= width ? 2 * n : n) {
    bool two = v + 2 * n <= width;
    for (int64_t g = 0; g < groups.count; ++g) {
      const int64_t first = groups.first(g), next = g < 2 ? ahead : 0;
      const int every = groups.count == 1 ? 2 : int(g);
      with_size(groups.size(g), [&](auto size) {
        const Real* p = pull + first * TILE;
        Real* s = sums + first * ld + v;
        if (two)
          moment_group<Real, size, 2>(p, rows + v, width, n_rows, s, ld, next, every);
        else
          moment_group<Real, size, 1>(p, rows + v, width, n_rows, s, ld, next, every);
      });
    }
  }
  if (v == width) return;
  Real *padded = spare, *totals = spare + TILE * n;
  for (int r = 0; r < n_rows; ++r)
    for (int i = 0; i < n; ++i) padded[r * n + i] = v + i < width ? rows[r * width + v + i] : Real(0);
  std::fill(totals, totals + k * n, Real(0));
  for (int64_t g = 0; g < groups.count; ++g) {
    const int64_t first = groups.first(g);
    with_size(groups.size(g), [&](auto size) {
      moment_group<Real, size, 1>(pull + first * TILE, padded, n, n_rows, totals + first * n, n);
    });
  }
  for (int64_t j = 0; j < k; ++j)
    for (int i = 0; v + i < width; ++i) sums[j * ld + v + i] += totals[j * n + i];
}

// the same where almost every pull is zero
template <class Real>
INLINE void sparse_moments(const Real* pull, int64_t k, const Real* rows, int64_t width, int n_rows, Real* sums,
                           int64_t ld, int64_t ahead) {
  constexpr int n = lanes<Real>;
  for (int64_t j = 0; j < k; ++j)
    for (int r = 0; r < n_rows; ++r) {
      const Real factor = pull[j * TILE + r], *row = rows + r * width;
      if (factor == 0) continue;
      Real* to = sums + j * ld;
      int64_t v = 0;
      for (; v + n <= width; v += n) {
        if (ahead) __builtin_prefetch(row + v + ahead, 0, 2);
        store(to + v, load(to + v) + load(row + v) * factor);
      }
      for (; v < width; ++v) to[v] += factor * row[v];
    }
}

// sum_v (a_v - b_v)^2
template <class Real>
INLINE Real squared_distance(const Real* a, const Real* b, int64_t width) {
  constexpr int n = lanes<Real>;
  Vec<Real> total = {};
  int64_t v = 0;
  for (; v + n <= width; v += n) {
    Vec<Real> difference = load(a + v) - load(b + v);
    total += difference * difference;
  }
  Real result = 0;
  for (; v < width; ++v) result += (a[v] - b[v]) * (a[v] - b[v]);
  for (int i = 0; i < n; ++i) result += total[i];
  return result;
}

}  // namespace
