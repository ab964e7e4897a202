// The power mean of a tile's rows over clusters, and its derivatives.
#pragma once

#include "tiles.h"

namespace {

template <class Real>
class Mean {
  using V = Vec<Real>;
  static constexpr int n = lanes<Real>;
  const int64_t k;
  const Real steepness, root;
  const bool hard, gentle;  // gentle: the root multiplies rounding, and sums of r^{-s} - 1 keep the digits
  Array<Real> exponents;    // (k, TILE)

 public:
  Mean(int64_t k, double s, bool hard)
      : k(k), steepness(Real(-s)), root(Real(1 / s)), hard(hard), gentle(s > -1), exponents(hard ? 0 : k * TILE) {}

  // r_j^{1-s} in place of y_j, (k, TILE), with r_j = min y / y_j; what turns those into w_j in `coefficient`; and the loss.
  // Logarithms and powers are loops of their own: together they need more constants than there are registers.
  double operator()(Real* y, const Real* smallest, const Real* weight, Real* coefficient) {
    Real total[TILE] = {}, excess[TILE] = {};
    if (hard) {
      count_nearest(y, smallest, total);
    } else {
      divide(y, smallest);
      raise(y, total, excess);
    }
    V loss = {};
    for (int r = 0; r < TILE; r += n) {
      const V whole = load(total + r);
      const V factor = hard ? all<Real>(Real(1)) : factor_of(whole / Real(k), load(excess + r) / Real(k));
      store(coefficient + r, factor / whole);
      loss += load(smallest + r) * factor * load(weight + r);
    }
    return sum<Real>(loss);
  }

 private:
  // 1 in place of the smallest y_j and 0 in that of others, and how many are smallest
  void count_nearest(Real* y, const Real* smallest, Real* total) const {
    for (int64_t j = 0; j < k; ++j)
      for (int r = 0; r < TILE; r += n) {
        Real* at = y + j * TILE + r;
        const V share = load(at) == load(smallest + r) ? all<Real>(Real(1)) : V{};
        store(total + r, load(total + r) + share);
        store(at, share);
      }
  }

  // r_j in place of y_j, 1 where both are zero; and log2 r_j^{-s}
  void divide(Real* y, const Real* smallest) {
    for (int64_t j = 0; j < k; ++j)
      for (int r = 0; r < TILE; r += n) {
        Real* at = y + j * TILE + r;
        const V value = load(at), least = load(smallest + r);
        const V ratio = value == least ? all<Real>(Real(1)) : least / value;
        store(at, ratio);
        store(exponents.data() + j * TILE + r, power_exponent<Real>(ratio, steepness));
      }
  }

  // r_j^{1-s} in place of r_j; the sums of r_j^{-s} and, where that is gentle, of r_j^{-s} - 1
  void raise(Real* ratio, Real* total, Real* excess) const {
    for (int64_t j = 0; j < k; ++j) {
      const Real* exponent = exponents.data() + j * TILE;
      for (int r = 0; r < TILE; r += n) {
        Real* at = ratio + j * TILE + r;
        const V power = exp2_of<Real>(load(exponent + r));
        store(total + r, load(total + r) + power);
        store(at, load(at) * power);
      }
      for (int r = 0; gentle && r < TILE; r += n)
        store(excess + r, load(excess + r) + exp2_minus_1_of<Real>(load(exponent + r)));
    }
  }

  // (mean of r_j^{-s})^{1/s}
  INLINE V factor_of(V mean, V excess) const {
    const V most = all<Real>(Real(Simd<Real>::bias / 2 + 0.5));
    V logarithm = log2_of<Real>(mean);
    if (gentle) logarithm = mean > Real(0.7) ? log2_of_1_plus<Real>(excess) : logarithm;
    return exp2_of<Real>(smaller(logarithm * root, most));
  }
};

}  // namespace
