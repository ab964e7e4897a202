// Random Fourier features of a tile of raw rows.
#pragma once

#include "arguments.h"
#include "tiles.h"

namespace {

template <class Real>
class Mapper {
  using V = Vec<Real>;
  static constexpr int n = lanes<Real>;
  const int64_t d, D;
  const Real *origin, *mean, amplitude, scale;
  Packed<Real> frequencies;
  Array<Real> part;  // of the rows, transposed

 public:
  Array<Real> columns;  // (2D, TILE), the features of the last tile, transposed
  Array<Real> rows;     // (TILE, 2D)

  explicit Mapper(const Map& map)
      : d(map.n_columns), D(map.n_frequencies), origin(static_cast<const Real*>(map.origin)),
        mean(static_cast<const Real*>(map.mean)), amplitude(Real(1 / std::sqrt(double(D)))),
        scale(Real(map.scale)), frequencies(static_cast<const Real*>(map.frequencies), D, d, 1, D),
        part(DEPTH * 2 * n), columns(2 * D * TILE), rows(2 * D * TILE) {}

  // Features of up to TILE rows of x and their squared norms, (TILE,); zero where `there` is.
  void operator()(const Real* x, int n_rows, const Real* there, Real* norms) {
    phases(x, n_rows);
    for (int r = 0; r < TILE; r += n) {
      const Mask<Real> kept = load(there + r) > V{};
      V total = {};
      for (int64_t c = 0; c < D; ++c) {
        Real *at = columns.data() + c * TILE + r, *beside = at + D * TILE;
        V sine, cosine;
        sine_cosine_of_any<Real>(load(at), sine, cosine);
        sine = kept ? (sine * amplitude - mean[c]) * scale : V{};
        cosine = kept ? (cosine * amplitude - mean[D + c]) * scale : V{};
        total += sine * sine + cosine * cosine;
        store(at, sine);
        store(beside, cosine);
      }
      store(norms + r, total);
    }
    transposed(columns.data(), TILE, int(2 * D), int(2 * D), TILE, rows.data(), 2 * D);
  }

 private:
  // omega (x - origin), in the first half of the columns
  void phases(const Real* x, int n_rows) {
    std::fill(columns.begin(), columns.begin() + D * TILE, Real(0));
    for (int r = 0; r < n_rows; r += 2 * n)
      for (int64_t v = 0; v < d; v += DEPTH) {
        int depth = int(std::min<int64_t>(DEPTH, d - v));
        transposed(x + r * d + v, d, n_rows - r, 2 * n, depth, part.data(), 2 * n);
        for (int i = 0; i < depth; ++i)
          for (Real* at = part.data() + i * 2 * n; at < part.data() + (i + 1) * 2 * n; at += n)
            store(at, load(at) - origin[v + i]);
        products(frequencies, v, depth, part.data(), 2 * n, columns.data() + r);
      }
  }
};

// Features of n rows, (n, 2D).
template <class Real>
int64_t map_all(const Map& map, int64_t n_rows, const Real* x, Real* out) {
  Mapper<Real> mapper(map);
  const int64_t width = 2 * map.n_frequencies;
  Real there[TILE], norms[TILE];
  std::fill(there, there + TILE, Real(1));
  for (int64_t start = 0; start < n_rows; start += TILE) {
    int rows = int(std::min<int64_t>(TILE, n_rows - start));
    mapper(x + start * map.n_columns, rows, there, norms);
    std::copy(mapper.rows.data(), mapper.rows.data() + rows * width, out + start * width);
  }
  return -1;
}

}  // namespace
