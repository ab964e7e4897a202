// Features of rows by a Gaussian kernel's values at landmarks (features/maps/nystroem.py, the reference), in double
// precision. Both products and the exponentials between them are done a tile of rows and a slice of landmarks at a
// time: kernel values never leave the cache. Tiles and slices are padded, so that what a row gives does not depend on
// its neighbours.
#pragma once

#include "arguments.h"
#include "tiles.h"

namespace {

// A (depth, width) matrix in panels of 2 vectors of columns, each in slices of TILE rows; zero beyond its sizes.
struct Panels {
  static constexpr int WIDTH = 2 * lanes<double>;
  int64_t depth, count;        // rows, and panels
  Array<double> values;  // (slices, panels, rows of the slice, WIDTH)

  // element (v, i) of the matrix is at from[v * row_step + i * column_step]
  Panels(const double* from, int64_t depth, int64_t width, int64_t row_step, int64_t column_step)
      : depth(depth), count((width + WIDTH - 1) / WIDTH), values(depth * count * WIDTH) {
    for (int64_t first = 0; first < depth; first += TILE)
      for (int64_t p = 0; p < count; ++p)
        for (int v = 0; v < rows_of(first); ++v)
          for (int64_t i = p * WIDTH; i < std::min(width, (p + 1) * WIDTH); ++i)
            panel(first, p)[v * WIDTH + i % WIDTH] = from[(first + v) * row_step + i * column_step];
  }

  int rows_of(int64_t first) const { return int(std::min<int64_t>(TILE, depth - first)); }
  double* panel(int64_t first, int64_t p) { return values.data() + (first * count + p * rows_of(first)) * WIDTH; }
  const double* panel(int64_t first, int64_t p) const { return const_cast<Panels*>(this)->panel(first, p); }
};

template <class Row, class Feature>
class LandmarkMapper {
  using V = Vec<double>;
  static constexpr int n = lanes<double>, WIDTH = Panels::WIDTH;
  // rows of a tile; its kernel values with TILE landmarks stay in the first cache
  static constexpr int ROWS = 8 * GROUP;
  // squared lengths in units of the bandwidth whose sums do not overflow
  static constexpr double longest = 1e300;

  const LandmarkMap& map;
  const int64_t d, m, q;
  const Panels landmarks, normalization;
  const int64_t width;             // of sums: outputs in whole panels
  Array<double> half;              // (m in whole panels,), half the squared lengths of landmarks
  Array<double> columns;           // (slices of columns, ROWS, TILE), rows of the tile in units of the bandwidth
  Array<double> row_half;          // (ROWS,)
  Array<double> kernel;            // (ROWS, TILE)
  Array<double> sums;              // (ROWS, width)

 public:
  explicit LandmarkMapper(const LandmarkMap& map)
      : map(map), d(map.n_columns), m(map.n_landmarks), q(map.n_outputs), landmarks(map.landmarks, d, m, 1, d),
        normalization(map.normalization, m, q, q, 1), width(normalization.count * WIDTH),
        half(landmarks.count * WIDTH), columns((d + TILE - 1) / TILE * TILE * ROWS), row_half(ROWS),
        kernel(ROWS * TILE), sums(ROWS * width) {
    for (int64_t i = 0; i < m; ++i) half[i] = half_length(map.landmarks + i * d);
  }

  // the first row that is out of range, or -1
  int64_t run() {
    for (int64_t i = 0; i < m; ++i)
      if (!(half[i] <= longest)) return 0;
    for (int64_t start = 0; start < map.n_rows; start += ROWS) {
      const int rows = int(std::min<int64_t>(ROWS, map.n_rows - start));
      const int padded = (rows + GROUP - 1) / GROUP * GROUP;
      const int unsafe = read(start, rows, padded);
      if (unsafe >= 0) return start + unsafe;
      std::fill(sums.begin(), sums.begin() + padded * width, 0.0);
      for (int64_t first = 0; first < m; first += TILE) {
        measure(first, padded);
        combine(first, padded);
      }
      for (int r = 0; r < rows; ++r) write(start + r, sums.data() + r * width);
    }
    return -1;
  }

 private:
  double half_length(const double* x) const {
    double total = 0;
    for (int64_t v = 0; v < d; ++v) total += x[v] * x[v];
    return total / 2;
  }

  // A tile of rows, from their origin, in units of the bandwidth; the first that is out of range, or -1.
  int read(int64_t start, int rows, int padded) {
    for (int r = 0; r < rows; ++r) {
      const Row* x = static_cast<const Row*>(map.rows) + (start + r) * d;
      double total = 0;
      for (int64_t v = 0; v < d; ++v) {
        const double value = (double(x[v]) - map.origin[v]) / map.bandwidth;
        columns[(v / TILE * ROWS + r) * TILE + v % TILE] = value, total += value * value;
      }
      if (!(total <= longest)) return r;
      row_half[r] = total / 2;
    }
    for (int r = rows; r < padded; ++r) {
      for (int64_t v = 0; v < d; ++v) columns[(v / TILE * ROWS + r) * TILE + v % TILE] = 0;
      row_half[r] = 0;
    }
    return -1;
  }

  // exp(x.y - |x|^2 / 2 - |y|^2 / 2) of all rows of the tile with one slice of landmarks
  void measure(int64_t first, int padded) {
    const int count = (normalization.rows_of(first) + WIDTH - 1) / WIDTH * WIDTH;
    for (int r = 0; r < padded; ++r) {
      const V own = all<double>(row_half[r]);
      for (int i = 0; i < count; i += n) store(kernel.data() + r * TILE + i, -own - load(half.data() + first + i));
    }
    for (int i = 0; i < count; i += WIDTH)
      for (int64_t v = 0; v < d; v += TILE) {
        const double* panel = landmarks.panel(v, (first + i) / WIDTH);
        add_products(columns.data() + v * ROWS, panel, landmarks.rows_of(v), padded, kernel.data() + i, TILE);
      }
    for (int r = 0; r < padded; ++r)
      for (int i = 0; i < count; i += n) {
        double* at = kernel.data() + r * TILE + i;
        store(at, exp2_of<double>(smaller(load(at), V{}) * 1.44269504088896340736));
      }
  }

  // their part of the features
  void combine(int64_t first, int padded) {
    for (int64_t p = 0; p < normalization.count; ++p)
      add_products(kernel.data(), normalization.panel(first, p), normalization.rows_of(first), padded,
                   sums.data() + p * WIDTH, width);
  }

  // to[r, i] += sum_v from[r, v] panel[v, i] for all rows of the tile, always in whole groups
  static void add_products(const double* from, const double* panel, int depth, int padded, double* to, int64_t step) {
    for (int r = 0; r < padded; r += GROUP)
      moment_group<double, GROUP, 2>(from + r * TILE, panel, WIDTH, depth, to + r * step, step);
  }

  void write(int64_t row, const double* from) const {
    Feature* to = static_cast<Feature*>(map.features) + row * q;
    for (int64_t i = 0; i < q; ++i) to[i] = Feature(from[i] - map.mean[i]);
  }
};

template <class Row>
int64_t map_rows_by_landmarks(const LandmarkMap& map) {
  return map.single_features ? LandmarkMapper<Row, float>(map).run() : LandmarkMapper<Row, double>(map).run();
}

// -1, or a row whose squared length leaves the range
inline int64_t map_by_landmarks(const LandmarkMap& map) {
  return map.single_rows ? map_rows_by_landmarks<float>(map) : map_rows_by_landmarks<double>(map);
}

}  // namespace
