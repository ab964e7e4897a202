// Products of rows as they lie in memory with the rows of a matrix, lane by lane: nothing is transposed but sums.
#pragma once

#include "tiles.h"

namespace {

template <class Real>
class Dots {
  using V = Vec<Real>;
  static constexpr int n = lanes<Real>, LINE = 64 / sizeof(Real);
  // columns that are worked on between visits to the sums
  static constexpr int CHUNK = 1024 / sizeof(Real);
  Groups groups;
  int64_t width, step;
  Array<Real> memory;  // the matrix, its rows filled up with zeros to whole vectors, somewhere in it at a cache line
  Array<Real> sums;    // (k, n, n): rows, lanes
  Real nothing[CHUNK] = {}, last[n * n] = {};

 public:
  // element (i, v) of the matrix is at from[v * k + i]
  Dots(const Real* from, int64_t k, int64_t width)
      : groups(k), width(width), step((width + n - 1) / n * n), memory(k * step + LINE), sums(k * n * n) {
    Real* to = const_cast<Real*>(values());
    for (int64_t i = 0; i < k; ++i)
      for (int64_t v = 0; v < width; ++v) to[i * step + v] = from[v * k + i];
  }

  // to[i, r] = sum_v matrix[i, v] rows[r, v] for n rows; zero for those that are not there
  void operator()(const Real* rows, int n_rows, Real* to) {
    const int64_t whole = width / n * n;
    const Real* at[n];
    for (int64_t v = 0; v < whole; v += CHUNK) {
      for (int r = 0; r < n; ++r) at[r] = r < n_rows ? rows + r * width + v : nothing;
      add(at, v, int(std::min<int64_t>(CHUNK, whole - v)));
    }
    if (whole < width) {
      for (int r = 0; r < n; ++r) {
        at[r] = last + r * n;
        for (int64_t v = whole; v < width; ++v) last[r * n + v - whole] = r < n_rows ? rows[r * width + v] : Real(0);
      }
      add(at, whole, n);
    }
    for (int64_t i = 0; i < groups.n; ++i) store(to + i * TILE, lane_sums(sums.data() + i * n * n));
  }

 private:
  const Real* values() const {
    const uintptr_t line = LINE * sizeof(Real), address = reinterpret_cast<uintptr_t>(memory.data());
    return reinterpret_cast<const Real*>((address + line - 1) / line * line);
  }

  // `depth` columns of the matrix from `first` on with as many numbers of each row
  void add(const Real* const* rows, int64_t first, int depth) {
    for (int64_t g = 0; g < groups.count; ++g) {
      const int64_t group = groups.first(g);
      const Real* matrix = values() + group * step + first;
      Real* to = sums.data() + group * n * n;
      with_size(groups.size(g), [&](auto size) {
        for (int r = 0; r < n; r += 2)
          add_pair<size>(matrix, step, rows[r], rows[r + 1], depth, to + r * n, first == 0);
      });
    }
  }

  // the same for one group and two rows
  template <int Size>
  static INLINE void add_pair(const Real* matrix, int64_t step, const Real* x, const Real* y, int depth, Real* to,
                              bool fresh) {
    V a[Size], b[Size];
#pragma GCC unroll 16
    for (int i = 0; i < Size; ++i) {
      a[i] = fresh ? V{} : load(to + i * n * n);
      b[i] = fresh ? V{} : load(to + i * n * n + n);
    }
    int v = 0;
    do {
      const V one = load(x + v), other = load(y + v);
#pragma GCC unroll 16
      for (int i = 0; i < Size; ++i) {
        V c = load(matrix + i * step + v);
        IN_REGISTER(c);
        a[i] += one * c, b[i] += other * c;
      }
      v += n;
    } while (v < depth);
#pragma GCC unroll 16
    for (int i = 0; i < Size; ++i) store(to + i * n * n, a[i]), store(to + i * n * n + n, b[i]);
  }
};

}  // namespace
