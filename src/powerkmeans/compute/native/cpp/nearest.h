// The landmarks nearest to rows, and how a row divides itself among them (features/graph/neighbours.py, the reference).
// Distances to all landmarks are taken by expanded squares, a tile at a time, and only bounded away from the smallest
// ones: whatever may be among these is measured again by differences in double precision. So what comes out is exact,
// and `Real` is only the precision in which others are ruled out.
#pragma once

#include "arguments.h"
#include "tiles.h"

namespace {

struct Candidate {
  double distance;
  int64_t index;
  bool operator<(const Candidate& other) const {
    return distance < other.distance || (distance == other.distance && index < other.index);
  }
};

// A landmark or a group of them, and a bit for each row of a tile that it may be near to.
struct Hit {
  int64_t index;
  uint64_t rows;
};

template <class Real>
class Searcher {
  using V = Vec<Real>;
  static constexpr int n = lanes<Real>, PAIR = 2 * n, ROWS = 4 * n;
  // joined groups for each landmark that is searched: the more, the fewer others are measured
  static constexpr int64_t SPARE = 5;
  // candidates that are put in order by comparing all pairs
  static constexpr int64_t FEW = 32;
  // columns up to which it is faster to take some distances twice than to write down all
  static constexpr int64_t NARROW = 24;
  static constexpr double unit = std::numeric_limits<Real>::epsilon() / 2;
  // squared lengths whose products neither overflow nor come near the smallest numbers
  static constexpr double shortest = sizeof(Real) == 4 ? 1e-25 : 0, longest = sizeof(Real) == 4 ? 1e30 : 1e300;

  // One view: its landmarks times -2, and their squared lengths.
  struct Part {
    int64_t first, width;
    Real scale, typical;
    Packed<Real> packed;
    Array<Real> lengths, columns, row_lengths;
    double most;  // squared length of a landmark
  };

  const Search& search;
  const int64_t m, L, D, count;
  const Groups groups;
  const int64_t joined, n_joined;         // groups that are compared as one, and how many these are
  const bool missing;
  const bool kept;                        // all distances: with few columns those that matter are sooner taken again
  Array<Part> parts;
  Array<Real> marks;                      // (L, m), which views landmarks have; and (L, ROWS), rows
  Array<Real> row_marks;
  Array<Real> distance;                   // (m, ROWS)
  Array<Real> minima, least;              // of groups, (groups, ROWS), and of joined ones
  Array<Real> list;                       // (count, ROWS), the smallest of these in order
  Real limit[ROWS];
  Array<int64_t> firsts;                  // landmarks at which groups begin
  Array<Hit> chosen, hits;                // groups that may hold one of the nearest, and landmarks
  Array<int64_t> candidates;              // (ROWS, m): the same by rows
  int64_t n_candidates[ROWS];
  Array<double> distances;                // of candidates
  Array<Candidate> found;

 public:
  explicit Searcher(const Search& search)
      : search(search), m(search.n_landmarks), L(search.n_views), D(search.n_columns), count(search.count),
        groups(m), joined(std::max<int64_t>(1, groups.count / (SPARE * count))),
        n_joined((groups.count + joined - 1) / joined), missing(lacks_views()),
        kept(L > 1 || search.offsets[1] > NARROW), distance(kept ? m * ROWS : 0), minima(groups.count * ROWS),
        least(n_joined * ROWS), list(count * ROWS), firsts(groups.count + 1), chosen(groups.count + 1), hits(m + 1),
        candidates(ROWS * m), distances(m + lanes<double>) {
    for (int64_t g = 0; g <= groups.count; ++g) firsts[g] = groups.first(g);
    for (int64_t l = 0; l < L; ++l) parts.push_back(part_of(l));
    if (!missing) return;
    marks.resize(L * m), row_marks.resize(L * ROWS);
    for (int64_t l = 0; l < L; ++l)
      for (int64_t i = 0; i < m; ++i) marks[l * m + i] = Real(search.landmarks[i * D + search.offsets[L] + l]);
  }

  // the first row that is out of range, or -1
  int64_t run() {
    for (const Part& part : parts)
      if (!in_range(part.most) || (L > 1 && !in_range(part.typical))) return 0;
    for (int64_t start = 0; start < search.n_rows; start += ROWS) {
      const int rows = int(std::min<int64_t>(ROWS, search.n_rows - start));
      const int unsafe = read(start, rows);
      if (unsafe >= 0) return start + unsafe;
      for (int64_t g = 0; g < groups.count; ++g)
        with_size(int(firsts[g + 1] - firsts[g]), [&](auto size) {
          if (L > 1)
            measure_group<size, false, true>(g);
          else if (kept)
            measure_group<size, true, true>(g);
          else
            measure_group<size, true, false>(g);
        });
      bound_smallest();
      collect(rows);
      for (int r = 0; r < rows; ++r) {
        gather(start + r, r);
        if (int64_t(found.size()) < count) return start + r;  // of something that is no number
        divide(start + r);
        if (search.features) embed(start + r);
      }
    }
    return -1;
  }

 private:
  static bool in_range(double squared) { return squared >= shortest && squared <= longest; }

  bool lacks_views() const {
    if (L == 1) return false;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < L; ++l)
        if (search.landmarks[i * D + search.offsets[L] + l] == 0) return true;
    for (int64_t r = 0; r < search.n_rows; ++r)
      for (int64_t l = 0; l < L; ++l)
        if (search.rows[r * D + search.offsets[L] + l] == 0) return true;
    return false;
  }

  Part part_of(int64_t l) const {
    const int64_t first = search.offsets[l], width = search.offsets[l + 1] - first;
    Array<Real> values(m * width), lengths(m + n);  // vectors are read beyond the last one
    double most = 0;
    for (int64_t i = 0; i < m; ++i) {
      double length = 0;
      for (int64_t v = 0; v < width; ++v) {
        const double value = search.landmarks[i * D + first + v];
        values[i * width + v] = Real(-2 * value), length += value * value;
      }
      lengths[i] = Real(length);
      most = std::max(most, length <= longest ? length : std::numeric_limits<double>::infinity());
    }
    return {first, width, Real(search.scale[l]), Real(search.typical[l]), Packed<Real>(values.data(), m, width, width, 1),
            lengths, Array<Real>(width * ROWS), Array<Real>(ROWS), most};
  }

  // Columns of a tile, and by how much distances may be wrong; the first row that is out of range, or -1.
  int read(int64_t start, int rows) {
    std::fill(limit, limit + ROWS, Real(0));
    double slack[ROWS] = {};
    for (Part& part : parts) {
      std::fill(part.columns.begin(), part.columns.end(), Real(0));
      std::fill(part.row_lengths.begin(), part.row_lengths.end(), Real(0));
      for (int r = 0; r < rows; ++r) {
        const double* x = search.rows + (start + r) * D + part.first;
        double length = 0;
        for (int64_t v = 0; v < part.width; ++v) length += x[v] * x[v], part.columns[v * ROWS + r] = Real(x[v]);
        if (!(length <= longest)) return r;
        part.row_lengths[r] = Real(length);
        // d + 4 roundings of terms that together are no more than twice both squared lengths, as distances are; and
        // what counts as equally far
        const double wrong = (4 * (part.width + 4) * unit + 2 * search.tolerance) * (length + part.most);
        slack[r] += L == 1 ? wrong : double(part.scale) * (wrong / double(part.typical) + 16 * unit + search.tolerance);
      }
    }
    for (int r = 0; r < rows; ++r) limit[r] = Real(2 * slack[r]);
    for (int64_t l = 0; missing && l < L; ++l)
      for (int r = 0; r < ROWS; ++r)
        row_marks[l * ROWS + r] = r < rows ? Real(search.rows[(start + r) * D + search.offsets[L] + l]) : Real(1);
    return -1;
  }

  // Distances of all rows of the tile to one group of landmarks, less the rows' lengths if there is one view.
  // Told at compile time whether there is one, and what is kept: else what is in registers meets through memory.
  template <int Size, bool One, bool Keep>
  INLINE void measure_group(int64_t g) {
    const int64_t first = firsts[g];
    for (int p = 0; p < ROWS; p += PAIR) {
      V a[Size], b[Size];
      if constexpr (One) {
        expand<Size>(parts[0], first, p, a, b);
      } else {
        fuse<Size>(first, p, a, b);
      }
      V least_a = a[0], least_b = b[0];
#pragma GCC unroll 16
      for (int i = 0; i < Size; ++i) {
        if constexpr (Keep) {
          Real* to = distance.data() + (first + i) * ROWS + p;
          store(to, a[i]), store(to + n, b[i]);
        }
        least_a = smaller(least_a, a[i]), least_b = smaller(least_b, b[i]);
      }
      Real* to = minima.data() + g * ROWS + p;
      store(to, least_a), store(to + n, least_b);
    }
  }

  // |c|^2 - 2 x.c
  template <int Size>
  INLINE void expand(const Part& part, int64_t first, int p, V* a, V* b) const {
    const Real *packed = part.packed.values.data() + first * part.width, *columns = part.columns.data() + p;
#pragma GCC unroll 16
    for (int i = 0; i < Size; ++i) a[i] = b[i] = all<Real>(part.lengths[first + i]);
    for (int64_t v = 0; v < part.width; ++v) {
      const V x = load(columns), y = load(columns + n);
#pragma GCC unroll 16
      for (int i = 0; i < Size; ++i) a[i] += x * packed[i], b[i] += y * packed[i];
      columns += ROWS, packed += Size;
    }
  }

  // sum_l scale_l D_l / (D_l + typical_l); one half where a view is not shared, infinite where none is
  template <int Size>
  INLINE void fuse(int64_t first, int p, V* total_a, V* total_b) const {
    V shared_a[Size], shared_b[Size];
#pragma GCC unroll 16
    for (int i = 0; i < Size; ++i) total_a[i] = total_b[i] = shared_a[i] = shared_b[i] = V{};
    for (int64_t l = 0; l < L; ++l) {
      const Part& part = parts[l];
      V a[Size], b[Size];
      expand<Size>(part, first, p, a, b);
      const V length_a = load(part.row_lengths.data() + p), length_b = load(part.row_lengths.data() + p + n);
#pragma GCC unroll 16
      for (int i = 0; i < Size; ++i) {
        a[i] = bounded(a[i] + length_a, part.typical), b[i] = bounded(b[i] + length_b, part.typical);
        if (missing) {
          const Real there = marks[l * m + first + i];
          const V have_a = load(row_marks.data() + l * ROWS + p) * there;
          const V have_b = load(row_marks.data() + l * ROWS + p + n) * there;
          a[i] = have_a > V{} ? a[i] : all<Real>(Real(0.5)), b[i] = have_b > V{} ? b[i] : all<Real>(Real(0.5));
          shared_a[i] += have_a * part.scale, shared_b[i] += have_b * part.scale;
        }
        total_a[i] += a[i] * part.scale, total_b[i] += b[i] * part.scale;
      }
    }
    if (!missing) return;
    const V far = all<Real>(std::numeric_limits<Real>::infinity());
#pragma GCC unroll 16
    for (int i = 0; i < Size; ++i) {
      total_a[i] = shared_a[i] > V{} ? total_a[i] : far;
      total_b[i] = shared_b[i] > V{} ? total_b[i] : far;
    }
  }

  static INLINE V bounded(V squared, Real typical) {
    squared = larger(squared, V{});
    return squared / (squared + typical);
  }

  // What none of the `count` nearest landmarks is beyond: each minimum is the distance of another one.
  void bound_smallest() {
    join();
    std::fill(list.begin(), list.end(), std::numeric_limits<Real>::infinity());
    const Real* last = list.data() + (count - 1) * ROWS;
    for (int64_t g = 0; g < n_joined; ++g) {
      V value[ROWS / n];
      Mask<Real> smaller_than = {};
#pragma GCC unroll 4
      for (int i = 0; i < ROWS / n; ++i) {
        value[i] = load(least.data() + g * ROWS + i * n);
        smaller_than |= value[i] < load(last + i * n);
      }
      if (any<Real>(smaller_than)) insert(value);
    }
    for (int r = 0; r < ROWS; r += n) store(limit + r, load(limit + r) + load(last + r));
  }

  void join() {
    for (int64_t j = 0; j < n_joined; ++j) {
      const int64_t first = j * joined, end = std::min(first + joined, groups.count);
      for (int r = 0; r < ROWS; r += n) {
        V value = load(minima.data() + first * ROWS + r);
        for (int64_t g = first + 1; g < end; ++g) value = smaller(value, load(minima.data() + g * ROWS + r));
        store(least.data() + j * ROWS + r, value);
      }
    }
  }

  // A value for each row into its list.
  INLINE void insert(V* value) {
    for (Real* at = list.data(); at < list.data() + count * ROWS; at += ROWS) {
#pragma GCC unroll 4
      for (int i = 0; i < ROWS / n; ++i) {
        const V old = load(at + i * n);
        store(at + i * n, smaller(old, value[i]));
        value[i] = larger(old, value[i]);
      }
    }
  }

  // A bit for each row of the tile that these are within the limits of.
  INLINE uint64_t within(const Real* values) const {
    uint64_t rows = 0;
#pragma GCC unroll 4
    for (int i = 0; i < ROWS; i += n) rows |= flags<Real>(load(values + i) <= load(limit + i)) << i;
    return rows;
  }

  // All landmarks that may be among the nearest of each row. Which ones is as good as random, so lists are written
  // without branches: one more entry than counts.
  void collect(int rows) {
    const uint64_t real = ~uint64_t(0) >> (64 - rows);
    int64_t n_groups = 0;
    for (int64_t g = 0; g < groups.count; ++g) {
      chosen[n_groups] = {g, within(&minima[g * ROWS]) & real};
      n_groups += chosen[n_groups].rows != 0;
    }
    std::fill(n_candidates, n_candidates + ROWS, 0);
    if (kept)
      look_up(n_groups, real);
    else
      measure_again(n_groups);
  }

  void look_up(int64_t n_groups, uint64_t real) {
    int64_t n_hits = 0;
    for (int64_t o = 0; o < n_groups; ++o)
      for (int64_t i = firsts[chosen[o].index]; i < firsts[chosen[o].index + 1]; ++i) {
        hits[n_hits] = {i, within(&distance[i * ROWS]) & real};
        n_hits += hits[n_hits].rows != 0;
      }
    for (int64_t h = 0; h < n_hits; ++h)
      each_bit(hits[h].rows, [&](int r) { candidates[r * m + n_candidates[r]++] = hits[h].index; });
  }

  void measure_again(int64_t n_groups) {
    for (int64_t o = 0; o < n_groups; ++o) {
      const int64_t first = firsts[chosen[o].index];
      with_size(int(firsts[chosen[o].index + 1] - first), [&](auto size) {
        each_bit(chosen[o].rows, [&](int r) {
          each_bit(near<size>(first, r), [&](int i) { candidates[r * m + n_candidates[r]++] = first + i; });
        });
      });
    }
  }

  // A bit for each landmark of a group that may be one of the nearest of a row: `expand` again, for this row alone.
  template <int Size>
  INLINE uint64_t near(int64_t first, int r) const {
    constexpr int parts_of = (Size + n - 1) / n;
    const Part& part = parts[0];
    const Real *packed = part.packed.values.data() + first * part.width, *column = part.columns.data() + r;
    V total[parts_of];
#pragma GCC unroll 16
    for (int i = 0; i < parts_of; ++i) total[i] = load(&part.lengths[first + i * n]);
    for (int64_t v = 0; v < part.width; ++v, packed += Size, column += ROWS)
#pragma GCC unroll 16
      for (int i = 0; i < parts_of; ++i) total[i] += load(packed + i * n) * *column;
    uint64_t found = 0;
#pragma GCC unroll 16
    for (int i = 0; i < parts_of; ++i) found |= flags<Real>(total[i] <= all<Real>(limit[r])) << (i * n);
    return found & ((uint64_t(1) << Size) - 1);
  }

  template <class F>
  static INLINE void each_bit(uint64_t left, F&& f) {
    for (; left != 0; left &= left - 1) f(__builtin_ctzll(left));
  }

  // The candidates of a row, measured; the nearest first.
  void gather(int64_t row, int r) {
    const int64_t n_found = n_candidates[r], *candidate = &candidates[r * m];
    for (int64_t i = 0; i < n_found; ++i) distances[i] = measured(row, candidate[i]);
    found.resize(n_found);
    if (n_found <= FEW) return rank(candidate, n_found);
    for (int64_t i = 0; i < n_found; ++i) found[i] = {distances[i], candidate[i]};
    std::sort(found.begin(), found.end());
  }

  // Candidates in order, each by how many come before it: of equals the one that is before it already.
  void rank(const int64_t* candidate, int64_t n_found) {
    constexpr int wide = lanes<double>;
    for (int64_t i = 0; i < n_found; ++i) {
      const Vec<double> own = all<double>(distances[i]);
      uint64_t smaller = 0, equal = 0;
      for (int64_t j = 0; j < n_found; j += wide) {
        const Vec<double> others = load(&distances[j]);
        smaller |= flags<double>(others < own) << j, equal |= flags<double>(others == own) << j;
      }
      const uint64_t before = (uint64_t(1) << i) - 1, there = (uint64_t(1) << n_found) - 1;
      found[__builtin_popcountll((smaller | (equal & before)) & there)] = {distances[i], candidate[i]};
    }
  }

  // The distance between a row and a landmark by differences.
  double measured(int64_t row, int64_t landmark) const {
    const double *x = search.rows + row * D, *y = search.landmarks + landmark * D;
    if (L == 1) return squared_distance(x, y, D);
    double total = 0;
    bool shared = false;
    for (int64_t l = 0; l < L; ++l) {
      const int64_t first = search.offsets[l], mark = search.offsets[L] + l;
      double share = 0.5;
      if (x[mark] * y[mark] > 0) {
        const double squared = squared_distance(x + first, y + first, search.offsets[l + 1] - first);
        share = squared / (squared + search.typical[l]);
        shared = shared || search.scale[l] > 0;
      }
      total += search.scale[l] * share;
    }
    return shared ? total : std::numeric_limits<double>::infinity();
  }

  // Shares (d - D_i)_+ of the landmarks nearer than the last one, at d.
  void divide(int64_t row) {
    const int64_t kept = search.n_neighbors;
    const bool own = without_itself();
    const double last = found[count - 1].distance;
    if (std::isfinite(last) && last * (1 - search.rounding) <= found[0].distance) first_of_equals(last, own);
    double edge = 0, reach = 0, total = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (!std::isfinite(found[i].distance)) continue;
      edge = std::max(edge, found[i].distance);
      if (i < kept) reach = std::max(reach, found[i].distance);
    }
    double* share = search.share + row * kept;
    for (int64_t i = 0; i < kept; ++i) {
      share[i] = std::isfinite(found[i].distance) ? edge - found[i].distance : 0;
      total += share[i];
    }
    if (!(total > 0))
      for (int64_t i = 0; i < kept; ++i) total += share[i] = std::isfinite(found[i].distance);
    const double part = total > 0 ? 1 / total : std::numeric_limits<double>::quiet_NaN();
    for (int64_t i = 0; i < kept; ++i) {
      share[i] *= part;
      search.index[row * kept + i] = found[i].index;
    }
    search.itself[row] = own;
    search.reach[row] = reach;
  }

  // The loadings of neighbours by their shares, at unit length.
  void embed(int64_t row) const {
    constexpr int wide = lanes<double>;
    const int64_t q = search.n_outputs, kept = search.n_neighbors, *index = search.index + row * kept;
    const double* share = search.share + row * kept;
    double *to = search.features + row * q, length = 0;
    Vec<double> lengths = {};
    int64_t v = 0;
    for (; v + wide <= q; v += wide) {
      Vec<double> total = {};
      for (int64_t i = 0; i < kept; ++i) total += load(search.loading + index[i] * q + v) * share[i];
      store(to + v, total);
      lengths += total * total;
    }
    for (; v < q; ++v) {
      double total = 0;
      for (int64_t i = 0; i < kept; ++i) total += search.loading[index[i] * q + v] * share[i];
      to[v] = total;
      length += total * total;
    }
    length += sum<double>(lengths);
    const double scale = length == 0 ? 1 : 1 / std::sqrt(length);
    for (v = 0; v < q; ++v) to[v] *= scale;
  }

  // A landmark is no neighbour of itself: at distance zero it gets that of the next one.
  bool without_itself() {
    if (count == 1) return false;
    const double second = found[1].distance;
    if (!(found[0].distance <= search.rounding * second && std::isfinite(second))) return false;
    found[0].distance = second;
    return true;
  }

  // Where all are equally far, any other that is might have been chosen: the first ones are, after the row itself.
  void first_of_equals(double last, bool own) {
    const double level = last * (1 + search.tolerance);
    for (Candidate& one : found)
      if (one.distance <= level) one.distance = last;
    std::sort(found.begin() + own, found.end());
  }
};

// Others are ruled out in single precision where that has the range; -1, or a row that double precision has not either.
inline int64_t find_nearest(const Search& search) {
  return Searcher<float>(search).run() < 0 ? -1 : Searcher<double>(search).run();
}

}  // namespace
