// What Python passes, field by field as in compute/native/structures.py. Arrays are contiguous, of one real type throughout.
#pragma once

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

// A centred and scaled Fourier map (features/maps.py): phi = (D^{-1/2} [sin, cos](omega (x - origin)) - mean) scale.
struct Map {
  int64_t n_columns, n_frequencies;
  double scale;
  const void* origin;       // (n_columns,)
  const void* frequencies;  // (n_columns, n_frequencies)
  const void* mean;         // (2 n_frequencies,)
};

struct View {
  int64_t width;             // features, p_l
  double weight;             // alpha_l
  double reference;          // alpha_l eta_l
  const void* rows;          // (n, width) features, or raw rows if there is a map
  const void* norms;         // (n,) of the features, unless there is a map
  const Map* map;            // or null
  const void* projection;    // (width, k): -2 theta^T
  const void* center_norms;  // (k,)
  const uint8_t* present;    // (n,), or null if all are
};

struct Pass {
  int64_t n_rows, n_clusters, n_views, hard, possibilistic;
  double resolution;  // distances below this share of the squared norms are taken from differences
  double s, fuzziness;
  const View* views;
  const void* weight;  // (n,)
  void* moment;        // (k, sum of widths)
  double* mass;        // (k, L)
  double* scatter;     // (k, L)
  double* residual;    // (k, L)
  double* sizes;       // (k,)
  double* totals;      // loss, hard cost
  int64_t answer;      // what is told of each row instead of sums: an Answer
  void* answers;       // (n,) int32 labels, (n, k) or (n,) numbers, or null
  void* nearest;       // (n,): squared distances to the nearest centroid, beside labels, or null
};

// As ANSWERS in compute/native/arguments.py.
enum Answer : int64_t { SUMS, LABELS, DISTANCES, PROBABILITIES, TYPICALITY, OUTLIER_SCORES, NEAREST };

// Rows and the landmarks that the nearest are searched among (features/graph/distances.py); all in double precision.
struct Search {
  int64_t n_rows, n_landmarks, n_columns, n_views;
  int64_t n_neighbors;       // that a row is divided among
  int64_t count;             // that are found for it: one more where there is one more
  double rounding, tolerance;  // shares of a distance that are nothing, and that make two equally far
  const int64_t* offsets;    // (L + 1,): columns at which views begin and end; the L after them tell which are there
  const double* scale;       // (L,): alpha_l / spread_l
  const double* typical;     // (L,)
  const double* rows;        // (n, n_columns)
  const double* landmarks;   // (m, n_columns)
  int64_t* index;            // (n, n_neighbors)
  double* share;             // (n, n_neighbors)
  uint8_t* itself;           // (n,)
  double* reach;             // (n,)
  int64_t n_outputs;
  const double* loading;     // (m, n_outputs), or null
  double* features;          // (n, n_outputs), or null
};

// Rows and the landmarks of a Gaussian kernel (features/maps/nystroem.py): phi = K((x - origin) / bandwidth, landmarks)
// normalization - mean. Everything but rows and features is in double precision.
struct LandmarkMap {
  int64_t n_rows, n_columns, n_landmarks, n_outputs;
  int64_t single_rows, single_features;  // whether these are in single precision
  double bandwidth;
  const void* rows;             // (n, n_columns)
  const double* origin;         // (n_columns,)
  const double* landmarks;      // (m, n_columns), in units of the bandwidth
  const double* normalization;  // (m, n_outputs)
  const double* mean;           // (n_outputs,)
  void* features;               // (n, n_outputs)
};
