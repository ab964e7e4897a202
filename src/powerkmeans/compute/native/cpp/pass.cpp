// The sums of one pass over a block of rows, a tile at a time, so that each number is read from memory once.
// The equations are those of objective/block.py, which is the reference; this is how to compute them quickly.

#include "dots.h"
#include "fourier.h"
#include "guard.h"
#include "means.h"

namespace {

// rows are multiplied as they lie in memory from so many columns a cluster on, for so few clusters; never by the longest
// vectors, whose lanes take longer to add up than rows to transpose (measured)
constexpr int64_t LONG = 12, FEW_CLUSTERS = 2 * GROUP;
constexpr bool AS_THEY_LIE = POWERKMEANS_VECTOR_BYTES < 64;

// Features of one view and tile: rows for the moments, columns for the products if they had to be made.
template <class Real>
struct Features {
  const Real* rows;
  const Real* columns;
};

template <class Real>
class Worker {
  using V = Vec<Real>;
  static constexpr int n = lanes<Real>;
  const Pass& pass;
  const int64_t k, L;
  const bool missing;
  Array<Packed<Real>> projections;          // of each view, empty where `dots` has it
  Array<Dots<Real>> dots;                   // of each view, empty where `projections` has it
  Array<Mapper<Real>> mappers;              // none, or one per view
  Array<Real> part;                         // of a tile, transposed
  Array<Array<Real>> centers;               // of each view, (k, width), once they are needed
  Array<Real> distance;                     // (L, k, TILE)
  Array<Real> combined, pull;               // (k, TILE)
  Mean<Real> mean;
  Array<Real> spare;
  Array<Real> norms, cover;                 // (L, TILE)
  Array<Real> mass, scatter, residual, sizes;  // a vector for each sum
  Real weight[TILE], reference[TILE], share[TILE], nearest[TILE], coefficient[TILE];
  double loss = 0, hard_cost = 0;
  int64_t total_width = 0;

  template <class T>
  static const Real* reals(T* pointer) {
    return static_cast<const Real*>(pointer);
  }

 public:
  explicit Worker(const Pass& pass)
      : pass(pass), k(pass.n_clusters), L(pass.n_views), missing(pass.views[0].present != nullptr),
        part(DEPTH * 2 * n), centers(L), distance(L * k * TILE), combined(L > 1 ? k * TILE : 0), pull(k * TILE),
        mean(k, pass.s, pass.hard), spare(spare_for<Real>(k)), norms(L * TILE), cover(L * TILE, Real(1)), mass(k * L * n), scatter(k * L * n), residual(k * L * n), sizes(k * n) {
    for (const View* view = pass.views; view < pass.views + L; ++view) {
      const bool along = along_rows(*view);
      projections.emplace_back(reals(view->projection), k, along ? 0 : view->width, 1, k);
      dots.emplace_back(reals(view->projection), k, along ? view->width : 0);
      if (view->map) mappers.emplace_back(*view->map);
      total_width += view->width;
    }
    std::fill(share, share + TILE, Real(1));
  }

  // the first row whose features are not finite, or -1
  int64_t run() {
    Array<Features<Real>> tile(L);
    for (int64_t start = 0; start < pass.n_rows; start += TILE) {
      int rows = int(std::min<int64_t>(TILE, pass.n_rows - start));
      read_weights(start, rows);
      for (int64_t l = 0; l < L; ++l) {
        tile[l] = features(l, start, rows);
        const int wrong = not_finite(norms.data() + l * TILE);
        if (wrong < TILE) return start + wrong;
        distances(l, tile[l], rows);
      }
      if (L > 1 || missing) combine();
      const Real* dbar = L > 1 ? combined.data() : distance.data();
      if (pass.answer != SUMS) {
        tell(start, rows, dbar);
        continue;
      }
      if (pass.possibilistic)
        weigh<true>(dbar), gather<true>(dbar);
      else
        weigh<false>(dbar), gather<false>(dbar);
      Real* sums = static_cast<Real*>(pass.moment);
      for (int64_t l = 0; l < L; ++l) {
        int64_t width = pass.views[l].width, ahead = mappers.empty() && start + 2 * TILE <= pass.n_rows;
        if (pass.hard)
          sparse_moments(pull.data(), k, tile[l].rows, width, rows, sums, total_width, ahead * TILE * width);
        else
          moments(pull.data(), k, tile[l].rows, width, rows, sums, total_width, ahead * TILE * width, spare.data());
        sums += width;
      }
    }
    if (pass.answer == SUMS) write_sums();
    return -1;
  }

 private:
  // What is asked of each row, from its distances.
  void tell(int64_t start, int rows, const Real* dbar) {
    Real* to = static_cast<Real*>(pass.answers) + start * (pass.answer < TYPICALITY ? k : 1);
    if (pass.answer == LABELS) {
      label<false>(rows, dbar, static_cast<int32_t*>(pass.answers) + start, nullptr);
    } else if (pass.answer == NEAREST) {
      label<true>(rows, dbar, static_cast<int32_t*>(pass.answers) + start, static_cast<Real*>(pass.nearest) + start);
    } else if (pass.answer == DISTANCES) {
      for (int r = 0; r < rows; ++r)
        for (int64_t j = 0; j < k; ++j) to[r * k + j] = std::sqrt(dbar[j * TILE + r]);
    } else if (pass.answer == PROBABILITIES) {
      pass.possibilistic ? weigh<true>(dbar) : weigh<false>(dbar);
      normalise(dbar);
      for (int r = 0; r < rows; ++r)
        for (int64_t j = 0; j < k; ++j) to[r * k + j] = pull[j * TILE + r];
    } else {
      score(rows, dbar, to);
    }
  }

  // The nearest cluster, the first of equals, and how far it is if that is asked.
  template <bool FAR>
  void label(int rows, const Real* dbar, int32_t* to, Real* far) const {
    for (int r = 0; r < rows; r += n) {
      V nearest = load(dbar + r);
      Mask<Real> which = {};
      for (int64_t j = 1; j < k; ++j) {
        const V d = load(dbar + j * TILE + r);
        which = d < nearest ? Mask<Real>{} + typename Simd<Real>::Int(j) : which;
        nearest = smaller(nearest, d);
      }
      for (int i = 0; i < std::min(n, rows - r); ++i) {
        to[r + i] = int32_t(which[i]);
        if (FAR) far[r + i] = nearest[i];
      }
    }
  }

  // g_j / sum_j g_j in place of r_j^{1-s} in `pull`. Far from everything degrees are smaller than any number, and all
  // y_j are equal: only what they are relative to those of the nearest tells clusters apart.
  void normalise(const Real* dbar) {
    for (int r = 0; r < TILE; r += n) {
      const V eta = load(reference + r), least = load(nearest + r);
      const V first = pass.possibilistic ? rarity(least, eta) : V{};
      V total = {};
      for (int64_t j = 0; j < k; ++j) {
        Real* at = pull.data() + j * TILE + r;
        const V d = load(dbar + j * TILE + r);
        V g = load(at);
        if (pass.hard) {
          g = d == least ? all<Real>(Real(1)) : V{};
        } else if (pass.possibilistic) {
          g *= exp2_of<Real>((first - rarity(d, eta)) * Real(pass.fuzziness));
        }
        store(at, g);
        total += g;
      }
      for (int64_t j = 0; j < k; ++j) store(pull.data() + j * TILE + r, load(pull.data() + j * TILE + r) / total);
    }
  }

  // -log2 u = log2(1 + (d / eta)^{1 / (m - 1)}), also where the power overflows
  INLINE V rarity(V d, V eta) const {
    const V tiny = all<Real>(std::numeric_limits<Real>::min());
    const V x = (log2_of<Real>(larger(d, tiny)) - log2_of<Real>(larger(eta, tiny))) * Real(1 / (pass.fuzziness - 1));
    const V most = all<Real>(Real(Simd<Real>::bias - 1)), size = smaller(x < V{} ? -x : x, most);
    return larger(x, V{}) + log2_of<Real>(Real(1) + exp2_of<Real>(-size));
  }

  // u at the nearest cluster, or what it lacks of one
  void score(int rows, const Real* dbar, Real* to) const {
    for (int r = 0; r < rows; r += n) {
      V nearest = load(dbar + r);
      for (int64_t j = 1; j < k; ++j) nearest = smaller(nearest, load(dbar + j * TILE + r));
      const V ratio = nearest / load(reference + r);
      const V power = pass.fuzziness == 2 ? ratio : power_of<Real>(ratio, Real(1 / (pass.fuzziness - 1)));
      V u = pass.possibilistic ? Real(1) / (Real(1) + power) : all<Real>(Real(1));
      if (pass.answer == OUTLIER_SCORES) u = Real(1) - u;
      for (int i = 0; i < std::min(n, rows - r); ++i) to[r + i] = u[i];
    }
  }

  void read_weights(int64_t start, int rows) {
    const Real* given = reals(pass.weight) + start;
    std::copy(given, given + rows, weight);
    std::fill(weight + rows, weight + TILE, Real(0));
    std::fill(reference, reference + TILE, Real(0));
    for (int r = 0; missing && r < TILE; ++r) {
      int have = 0;
      for (int64_t l = 0; l < L; ++l) have += r >= rows || pass.views[l].present[start + r];
      share[r] = Real(L) / Real(std::max(have, 1));
      for (int64_t l = 0; l < L; ++l)
        cover[l * TILE + r] = r >= rows || pass.views[l].present[start + r] ? share[r] : Real(0);
    }
    for (int64_t l = 0; l < L; ++l)
      for (int r = 0; r < TILE; ++r) reference[r] += Real(pass.views[l].reference) * cover[l * TILE + r];
  }

  // where the features of a tile are; their squared norms go to `norms`
  Features<Real> features(int64_t l, int64_t start, int rows) {
    const View& view = pass.views[l];
    Real* norm = norms.data() + l * TILE;
    if (view.map) {
      Mapper<Real>& mapper = mappers[l];
      mapper(reals(view.rows) + start * view.map->n_columns, rows, cover.data() + l * TILE, norm);
      return {mapper.rows.data(), mapper.columns.data()};
    }
    const Real* given = reals(view.norms) + start;
    std::copy(given, given + rows, norm);
    std::fill(norm + rows, norm + TILE, Real(0));
    return {reals(view.rows) + start * view.width, nullptr};
  }

  // Whether rows are multiplied as they lie in memory, or transposed first: to transpose costs by the number of columns, to
  // add up lanes by that of clusters, and many centroids do not stay in the first-level cache from one row to the next.
  bool along_rows(const View& view) const {
    return AS_THEY_LIE && !view.map && k <= FEW_CLUSTERS && view.width >= LONG * k;
  }

  // the first number that is not finite, or TILE
  static int not_finite(const Real* numbers) {
    const V most = all<Real>(std::numeric_limits<Real>::max());
    Mask<Real> wrong = {};
    for (int r = 0; r < TILE; r += n) wrong |= ~((load(numbers + r) <= most) & (load(numbers + r) >= -most));
    if (!any<Real>(wrong)) return TILE;
    return int(std::find_if_not(numbers, numbers + TILE, [](Real x) { return std::isfinite(x); }) - numbers);
  }

  // d_jl of the tile, never negative
  void distances(int64_t l, const Features<Real>& tile, int rows) {
    const View& view = pass.views[l];
    const int64_t width = view.width;
    Real* d = distance.data() + l * k * TILE;
    std::fill(d, d + k * TILE, Real(0));
    const bool along = along_rows(view);
    if constexpr (AS_THEY_LIE)
      for (int r = 0; r < rows && along; r += n) dots[l](tile.rows + r * width, rows - r, d + r);
    for (int r = 0; r < rows && !along; r += 2 * n)
      for (int64_t v = 0; v < width; v += DEPTH) {
        int depth = int(std::min<int64_t>(DEPTH, width - v));
        if (tile.columns) {
          products(projections[l], v, depth, tile.columns + v * TILE + r, TILE, d + r);
        } else {
          transposed(tile.rows + r * width + v, width, rows - r, 2 * n, depth, part.data(), 2 * n);
          products(projections[l], v, depth, part.data(), 2 * n, d + r);
        }
      }
    const Real* norm = norms.data() + l * TILE;
    const Real* center_norm = reals(view.center_norms);
    const Real resolution = Real(pass.resolution);
    for (int64_t j = 0; j < k; ++j) {
      Mask<Real> small = {};
      for (int r = 0; r < TILE; r += n) {
        Real* at = d + j * TILE + r;
        const V scale = load(norm + r) + center_norm[j], value = larger(load(at) + scale, V{});
        small |= value < scale * resolution;
        store(at, value);
      }
      if (!any<Real>(small)) continue;
      for (int r = 0; r < TILE; r += n) {
        Real* at = d + j * TILE + r;
        take_differences(load(at) < (load(norm + r) + center_norm[j]) * resolution, l, j, tile.rows + r * width, at);
      }
    }
  }

  // distances that are small beside the squared norms, anew: expanded squares have lost their digits
  void take_differences(Mask<Real> near, int64_t l, int64_t j, const Real* x, Real* d) {
    const int64_t width = pass.views[l].width;
    if (centers[l].empty()) {
      centers[l].resize(k * width);
      const Real* projection = reals(pass.views[l].projection);
      for (int64_t v = 0; v < width; ++v)
        for (int64_t i = 0; i < k; ++i) centers[l][i * width + v] = projection[v * k + i] / -2;
    }
    for (int i = 0; i < n; ++i)
      if (near[i]) d[i] = squared_distance(x + i * width, centers[l].data() + j * width, width);
  }

  // q_l d_jl in place of d_jl, and dbar_j = sum_l alpha_l q_l d_jl
  void combine() {
    std::fill(combined.begin(), combined.end(), Real(0));
    for (int64_t l = 0; l < L; ++l) {
      const Real alpha = Real(pass.views[l].weight);
      for (int64_t j = 0; j < k; ++j)
        for (int r = 0; r < TILE; r += n) {
          Real* at = distance.data() + (l * k + j) * TILE + r;
          V d = load(at) * load(cover.data() + l * TILE + r);
          store(at, d);
          Real* to = combined.data() + j * TILE + r;
          if (L > 1) store(to, load(to) + d * alpha);
        }
    }
  }

  struct Degree {
    V attraction, residual;  // u^m, (1 - u)^m
  };

  INLINE Degree degree(V d, V eta) const {
    V ratio = d / eta;
    if (pass.fuzziness == 2) {
      V u = Real(1) / (Real(1) + ratio), rest = Real(1) - u;
      return {u * u, rest * rest};
    }
    const Real m = Real(pass.fuzziness);
    V u = Real(1) / (Real(1) + power_of<Real>(ratio, Real(1 / (pass.fuzziness - 1))));
    return {power_of<Real>(u, m), power_of<Real>(Real(1) - u, m)};
  }

  // y_j = h(dbar_j) in `pull`, then r_j^{1-s} with r_j = min y / y_j; and what turns those into w_j in `coefficient`
  template <bool Possibilistic>
  void weigh(const Real* dbar) {
    Real smallest[TILE];
    V tile_cost = {};
    for (int r = 0; r < TILE; r += n) {
      const V eta = load(reference + r);
      V near = load(dbar + r), least = all<Real>(std::numeric_limits<Real>::infinity());
      for (int64_t j = 0; j < k; ++j) {
        V d = load(dbar + j * TILE + r), y = d;
        if (Possibilistic) {
          Degree u = degree(d, eta);
          y = u.attraction * d + u.residual * eta;
        }
        store(pull.data() + j * TILE + r, y);
        near = smaller(near, d);
        least = smaller(least, y);
      }
      store(nearest + r, near);
      store(smallest + r, least);
      tile_cost += near * load(weight + r);
    }
    hard_cost += sum<Real>(tile_cost);
    loss += mean(pull.data(), smallest, weight, coefficient);
  }

  // g_j and the sums that do not need the features; `pull` ends as the factor of each row in the moments
  template <bool Possibilistic>
  void gather(const Real* dbar) {
    Real pulled[TILE], rest[TILE];
    for (int64_t j = 0; j < k; ++j) {
      V size = {};
      for (int r = 0; r < TILE; r += n) {
        Real* at = pull.data() + j * TILE + r;
        const V d = load(dbar + j * TILE + r), v = load(weight + r), w = load(at) * load(coefficient + r) * v;
        V g = w;
        if (Possibilistic) {
          Degree u = degree(d, load(reference + r));
          g = w * u.attraction;
          store(rest + r, w * u.residual);
        }
        size += d == load(nearest + r) ? v : V{};
        store(pulled + r, g);
        store(at, g * load(share + r));
      }
      add(sizes, j, size);
      for (int64_t l = 0; l < L; ++l) {
        add(mass, j * L + l, dot(pulled, cover.data() + l * TILE));
        add(scatter, j * L + l, dot(pulled, distance.data() + (l * k + j) * TILE));
        if (Possibilistic) add(residual, j * L + l, dot(rest, cover.data() + l * TILE));
      }
    }
  }

  static INLINE V dot(const Real* a, const Real* b) {
    V total = {};
    for (int r = 0; r < TILE; r += n) total += load(a + r) * load(b + r);
    return total;
  }

  static INLINE void add(Array<Real>& to, int64_t index, V value) {
    store(to.data() + index * n, load(to.data() + index * n) + value);
  }

  void write_sums() const {
    for (int64_t i = 0; i < k * L; ++i) {
      pass.mass[i] = sum<Real>(load(mass.data() + i * n));
      pass.scatter[i] = sum<Real>(load(scatter.data() + i * n));
      pass.residual[i] = sum<Real>(load(residual.data() + i * n));
    }
    for (int64_t j = 0; j < k; ++j) pass.sizes[j] = sum<Real>(load(sizes.data() + j * n));
    pass.totals[0] = loss;
    pass.totals[1] = hard_cost;
  }
};

}  // namespace

EXPORT int64_t pass_float32(const Pass* pass) {
  return guarded([&] { return Worker<float>(*pass).run(); });
}

EXPORT int64_t pass_float64(const Pass* pass) {
  return guarded([&] { return Worker<double>(*pass).run(); });
}

EXPORT int64_t map_float32(const Map* map, int64_t n_rows, const float* x, float* out) {
  return guarded([&] { return map_all<float>(*map, n_rows, x, out); });
}

EXPORT int64_t map_float64(const Map* map, int64_t n_rows, const double* x, double* out) {
  return guarded([&] { return map_all<double>(*map, n_rows, x, out); });
}
