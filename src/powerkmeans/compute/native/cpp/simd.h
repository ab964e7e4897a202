// Vectors of the width that the target has, and the functions of them that a pass needs. Written with the vector
// extensions that GCC and Clang share; the accuracies are those of tests/compute/test_kernels.py.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__AVX512DQ__)
#include <immintrin.h>
#define POWERKMEANS_VECTOR_BYTES 64
#elif defined(__AVX2__)
#include <immintrin.h>
#define POWERKMEANS_VECTOR_BYTES 32
#else
#if defined(__x86_64__)
#include <emmintrin.h>
#endif
#define POWERKMEANS_VECTOR_BYTES 16
#endif

#define INLINE inline __attribute__((always_inline))

// A vector that is used more than once: without this compilers read it from memory again for every use.
#if POWERKMEANS_VECTOR_BYTES == 64
#define IN_REGISTER(v) asm("" : "+v"(v))
#elif defined(__x86_64__)
#define IN_REGISTER(v) asm("" : "+x"(v))
#elif defined(__aarch64__)
#define IN_REGISTER(v) asm("" : "+w"(v))
#else
#define IN_REGISTER(v)
#endif

namespace {

template <class Real>
struct Simd;

template <>
struct Simd<float> {
  using Int = int32_t;
  typedef float V __attribute__((vector_size(POWERKMEANS_VECTOR_BYTES)));
  typedef int32_t I __attribute__((vector_size(POWERKMEANS_VECTOR_BYTES)));
  static constexpr int mantissa = 23, bias = 127;
  static constexpr int log_terms = 5, exp_terms = 7;
  // pi/2 in parts whose products with small integers are exact
  static constexpr float half_pi[3] = {1.5703125f, 4.837512969970703125e-4f, 7.54978995489188216e-8f};
  static constexpr float largest_phase = 8192.0f;
  static constexpr int sine_terms = 5;
};

template <>
struct Simd<double> {
  using Int = int64_t;
  typedef double V __attribute__((vector_size(POWERKMEANS_VECTOR_BYTES)));
  typedef int64_t I __attribute__((vector_size(POWERKMEANS_VECTOR_BYTES)));
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr int log_terms = 11, exp_terms = 13;
  static constexpr double half_pi[3] = {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                                        2.02226624879595063154e-21};
  static constexpr double largest_phase = 1e5;
  static constexpr int sine_terms = 9;
};

template <class Real>
using Vec = typename Simd<Real>::V;
template <class Real>
using Mask = typename Simd<Real>::I;
template <class Real>
constexpr int lanes = POWERKMEANS_VECTOR_BYTES / sizeof(Real);

template <class Real>
INLINE Vec<Real> load(const Real* from) {
  Vec<Real> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class Real>
INLINE void store(Real* to, Vec<Real> v) {
  std::memcpy(to, &v, sizeof v);
}

template <class Real>
INLINE Vec<Real> all(Real value) {
  return Vec<Real>{} + value;
}

template <class Real>
INLINE Mask<Real> bits(Vec<Real> v) {
  return (Mask<Real>)v;
}

// a < b ? a : b, and a > b ? a : b, each in one instruction: compilers make two of the plain form.
#if POWERKMEANS_VECTOR_BYTES == 64
INLINE __m512 smaller(__m512 a, __m512 b) { return _mm512_min_ps(a, b); }
INLINE __m512d smaller(__m512d a, __m512d b) { return _mm512_min_pd(a, b); }
INLINE __m512 larger(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
INLINE __m512d larger(__m512d a, __m512d b) { return _mm512_max_pd(a, b); }
#elif POWERKMEANS_VECTOR_BYTES == 32
INLINE __m256 smaller(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
INLINE __m256d smaller(__m256d a, __m256d b) { return _mm256_min_pd(a, b); }
INLINE __m256 larger(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
INLINE __m256d larger(__m256d a, __m256d b) { return _mm256_max_pd(a, b); }
#else
template <class V>
INLINE V smaller(V a, V b) {
  return a < b ? a : b;
}

template <class V>
INLINE V larger(V a, V b) {
  return a > b ? a : b;
}
#endif

template <class Real>
INLINE double sum(Vec<Real> v) {
  double total = 0;
  for (int i = 0; i < lanes<Real>; ++i) total += v[i];
  return total;
}

template <class Real>
INLINE bool any(Mask<Real> mask) {
#if POWERKMEANS_VECTOR_BYTES == 64
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#else
  typename Simd<Real>::Int found = 0;
  for (int i = 0; i < lanes<Real>; ++i) found |= mask[i];
  return found != 0;
#endif
}

// A bit for each lane, the first one the lowest.
template <class Real>
INLINE uint64_t flags(Mask<Real> mask) {
#if POWERKMEANS_VECTOR_BYTES == 64
  return sizeof(Real) == 4 ? uint64_t(_mm512_movepi32_mask((__m512i)mask)) : _mm512_movepi64_mask((__m512i)mask);
#elif POWERKMEANS_VECTOR_BYTES == 32
  return uint64_t(sizeof(Real) == 4 ? _mm256_movemask_ps((__m256)mask) : _mm256_movemask_pd((__m256d)mask));
#elif defined(__x86_64__)
  return uint64_t(sizeof(Real) == 4 ? _mm_movemask_ps((__m128)mask) : _mm_movemask_pd((__m128d)mask));
#else
  uint64_t found = 0;
  for (int i = 0; i < lanes<Real>; ++i) found |= uint64_t(mask[i] != 0) << i;
  return found;
#endif
}

// 2 atanh(f) / ln 2, which is log2((1 + f) / (1 - f)), for |f| up to 0.2
template <class Real>
INLINE Vec<Real> log2_series(Vec<Real> f) {
  using S = Simd<Real>;
  Vec<Real> square = f * f, series = all<Real>(Real(1) / (2 * S::log_terms + 1));
#pragma GCC unroll 16
  for (int i = S::log_terms - 1; i > 0; --i) series = series * square + Real(1) / (2 * i + 1);
  return (f + f * square * series) * Real(2.885390081777926814720);
}

// log2 of positive normal numbers, by their mantissas' (m - 1) / (m + 1): exact where m is 1.
template <class Real>
INLINE Vec<Real> log2_of(Vec<Real> x) {
  using S = Simd<Real>;
  using Int = typename S::Int;
  constexpr Int one_bits = Int(S::bias) << S::mantissa;
  // shift so that mantissas lie between sqrt(1/2) and sqrt(2)
  constexpr Int root_half = Int(sizeof(Real) == 4 ? 0x3f3504f3LL : 0x3fe6a09e667f3bcdLL);
  Mask<Real> raw = bits<Real>(x) + (one_bits - root_half);
  Mask<Real> exponent = (raw >> S::mantissa) - Int(S::bias);
  Mask<Real> reduced = (raw & ((Int(1) << S::mantissa) - 1)) + root_half;
  Vec<Real> m = (Vec<Real>)reduced;
  return log2_series<Real>((m - Real(1)) / (m + Real(1))) + __builtin_convertvector(exponent, Vec<Real>);
}

// 1 / i!, and the same with the signs of the series of sin and cos
template <class Real>
struct Series {
  Real exponential[24], circular[24];
  constexpr Series() : exponential(), circular() {
    double value = 1;
    for (int i = 0; i < 24; ++i) {
      exponential[i] = Real(value);
      circular[i] = Real(i / 2 % 2 ? -value : value);
      value /= i + 1;
    }
  }
};
template <class Real>
constexpr Series<Real> series_of{};

// 2^x for |x| up to 1/2: the Taylor series, with the polynomial of lower degree that comes closest to its last term in place
// of that term. It is what Chebyshev's polynomial T has below its own last term, at t = 2 x.
template <class Real>
struct Powers {
  static constexpr int degree = Simd<Real>::exp_terms - 1;
  Real coefficient[degree + 1];
  constexpr Powers() : coefficient() {
    double term[degree + 2] = {}, before[degree + 2] = {}, chebyshev[degree + 2] = {}, power = 1, scale = 1;
    for (int i = 0; i <= degree + 1; ++i, power *= 0.693147180559945309417 / i) term[i] = power;
    before[0] = chebyshev[1] = 1;
    for (int i = 2; i <= degree + 1; ++i) {
      double next[degree + 2] = {};
      for (int j = 0; j <= i; ++j) next[j] = (j ? 2 * chebyshev[j - 1] : 0) - before[j];
      for (int j = 0; j <= i; ++j) before[j] = chebyshev[j], chebyshev[j] = next[j];
    }
    for (int i = degree; i >= 0; --i) {
      scale /= 2;
      coefficient[i] = Real(term[i] - term[degree + 1] * scale * chebyshev[i] / chebyshev[degree + 1]);
    }
  }
};
template <class Real>
constexpr Powers<Real> powers_of{};

// 2^x; 0 below the normal numbers. For x at most 0 up to rounding.
template <class Real>
INLINE Vec<Real> exp2_of(Vec<Real> x) {
  using S = Simd<Real>;
  using Int = typename S::Int;
  constexpr Real magic = Real(sizeof(Real) == 4 ? 12582912.0 : 6755399441055744.0);
  Vec<Real> lowest = all<Real>(Real(1 - S::bias)), highest = all<Real>(Real(S::bias));
  Mask<Real> under = x < lowest;
  x = smaller(larger(x, lowest), highest);
  Vec<Real> shifted = x + magic;
  Vec<Real> f = x - (shifted - magic);
  Mask<Real> power = bits<Real>(shifted) - bits<Real>(all<Real>(magic));
  Vec<Real> series = all<Real>(powers_of<Real>.coefficient[S::exp_terms - 1]);
#pragma GCC unroll 16
  for (int i = S::exp_terms - 2; i >= 0; --i) series = series * f + powers_of<Real>.coefficient[i];
  Vec<Real> scale = (Vec<Real>)((power + Int(S::bias)) << S::mantissa);
  return under ? Vec<Real>{} : series * scale;
}

// 2^x - 1 for x at most 0, with all its digits where x is small.
template <class Real>
INLINE Vec<Real> exp2_minus_1_of(Vec<Real> x) {
  using S = Simd<Real>;
  Vec<Real> f = x * Real(0.693147180559945309417), series = all<Real>(series_of<Real>.exponential[S::exp_terms]);
#pragma GCC unroll 16
  for (int i = S::exp_terms - 1; i >= 1; --i) series = series * f + series_of<Real>.exponential[i];
  return x > Real(-0.5) ? series * f : exp2_of<Real>(x) - Real(1);
}

// log2(1 + x) for x between -0.3 and 0, with all its digits where x is small.
template <class Real>
INLINE Vec<Real> log2_of_1_plus(Vec<Real> x) {
  return log2_series<Real>(x / (x + Real(2)));
}

// log2 of x^y of x in [0, 1] for y > 0; where x is subnormal, one at which powers are 0
template <class Real>
INLINE Vec<Real> power_exponent(Vec<Real> x, Real y) {
  Vec<Real> tiny = all<Real>(std::numeric_limits<Real>::min());
  return x < tiny ? all<Real>(-2 * Real(Simd<Real>::bias)) : log2_of<Real>(larger(x, tiny)) * y;
}

// x^y of x >= 0 for y > 0, and 0 for subnormal x
template <class Real>
INLINE Vec<Real> power_of(Vec<Real> x, Real y) {
  Vec<Real> tiny = all<Real>(std::numeric_limits<Real>::min());
  Mask<Real> none = x < tiny;
  return none ? Vec<Real>{} : exp2_of<Real>(log2_of<Real>(larger(x, tiny)) * y);
}

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Mask<Real>{__VA_ARGS__})
#endif

// Within each 16 bytes of two vectors: their first halves interleaved, and their second.
template <class Real>
INLINE void zip(Vec<Real> a, Vec<Real> b, Vec<Real>& low, Vec<Real>& high) {
  if constexpr (lanes<Real> == 16) {
    low = SHUFFLE(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    high = SHUFFLE(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  } else if constexpr (lanes<Real> == 8 && sizeof(Real) == 8) {
    low = SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
    high = SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  } else if constexpr (lanes<Real> == 8) {
    low = SHUFFLE(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
    high = SHUFFLE(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  } else if constexpr (lanes<Real> == 4 && sizeof(Real) == 4) {
    low = SHUFFLE(a, b, 0, 4, 1, 5);
    high = SHUFFLE(a, b, 2, 6, 3, 7);
  } else if constexpr (lanes<Real> == 4) {
    low = SHUFFLE(a, b, 0, 4, 2, 6);
    high = SHUFFLE(a, b, 1, 5, 3, 7);
  } else {
    low = SHUFFLE(a, b, 0, 2);
    high = SHUFFLE(a, b, 1, 3);
  }
}

// 16 bytes from each of the rows `step` apart, side by side
template <class Real>
INLINE Vec<Real> load_pieces(const Real* from, int64_t step) {
#if POWERKMEANS_VECTOR_BYTES == 16
  (void)step;
  return load(from);
#elif POWERKMEANS_VECTOR_BYTES == 64
  const auto piece = [&](int i) { return _mm_loadu_ps(reinterpret_cast<const float*>(from + i * step)); };
  const __m512 two = _mm512_insertf32x4(_mm512_castps128_ps512(piece(0)), piece(1), 1);
  return (Vec<Real>)_mm512_insertf32x4(_mm512_insertf32x4(two, piece(2), 2), piece(3), 3);
#elif defined(__clang__) || __GNUC__ >= 12
  typedef Real Piece __attribute__((vector_size(16)));
  Piece a, b;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + step, sizeof b);
  if constexpr (sizeof(Real) == 4)
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
  else
    return __builtin_shufflevector(a, b, 0, 1, 2, 3);
#else
  constexpr int half = lanes<Real> / 2;
  Vec<Real> v;
  for (int i = 0; i < half; ++i) v[i] = from[i], v[half + i] = from[step + i];
  return v;
#endif
}

// The sums of the lanes of n vectors that lie one after the other, side by side; each in the same order. Of vectors of up to
// 32 bytes.
template <class Real>
INLINE Vec<Real> lane_sums(const Real* from) {
  constexpr int n = lanes<Real>, q = 16 / sizeof(Real);
  static_assert(n <= 2 * q);
  Vec<Real> whole[n / q], low, high;
#pragma GCC unroll 4
  for (int piece = 0; piece < n / q; ++piece) {
    const Real* at = from + piece * q * n;
    if constexpr (q == 4) {
      zip<Real>(load(at), load(at + 2 * n), low, high);
      const Vec<Real> even = low + high;
      zip<Real>(load(at + n), load(at + 3 * n), low, high);
      zip<Real>(even, low + high, low, high);
    } else {
      zip<Real>(load(at), load(at + n), low, high);
    }
    whole[piece] = low + high;
  }
  if constexpr (n == q) {
    return whole[0];
  } else if constexpr (n == 8) {
    const Vec<Real>&a = whole[0], &b = whole[1];
    return SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11) + SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  } else {
    return SHUFFLE(whole[0], whole[1], 0, 1, 4, 5) + SHUFFLE(whole[0], whole[1], 2, 3, 6, 7);
  }
}

// sin and cos of phases up to largest_phase in size: reduced by multiples of pi/2, then Taylor.
template <class Real>
INLINE void sine_cosine(Vec<Real> x, Vec<Real>& sine, Vec<Real>& cosine) {
  using S = Simd<Real>;
  using Int = typename S::Int;
  constexpr Real magic = Real(sizeof(Real) == 4 ? 12582912.0 : 6755399441055744.0);
  Vec<Real> shifted = x * Real(0.636619772367581343076) + magic;
  Mask<Real> quadrant = bits<Real>(shifted);
  Vec<Real> turns = shifted - magic;
  x = ((x - turns * S::half_pi[0]) - turns * S::half_pi[1]) - turns * S::half_pi[2];
  Vec<Real> square = x * x;
  Vec<Real> odd = all<Real>(series_of<Real>.circular[2 * S::sine_terms + 1]);
  Vec<Real> even = all<Real>(series_of<Real>.circular[2 * S::sine_terms]);
#pragma GCC unroll 16
  for (int i = S::sine_terms - 1; i >= 0; --i) {
    if (i > 0) odd = odd * square + series_of<Real>.circular[2 * i + 1];
    even = even * square + series_of<Real>.circular[2 * i];
  }
  odd = x + x * square * odd;
  Mask<Real> swapped = (quadrant & Int(1)) != 0;
  constexpr int sign = 8 * sizeof(Real) - 2;
  Vec<Real> s = swapped ? even : odd, c = swapped ? odd : even;
  sine = (Vec<Real>)((Mask<Real>)s ^ ((quadrant & Int(2)) << sign));
  cosine = (Vec<Real>)((Mask<Real>)c ^ (((quadrant + Int(1)) & Int(2)) << sign));
}

// ... of phases of any size
template <class Real>
INLINE void sine_cosine_of_any(Vec<Real> x, Vec<Real>& sine, Vec<Real>& cosine) {
  sine_cosine<Real>(x, sine, cosine);
  Mask<Real> near = (x <= Simd<Real>::largest_phase) & (x >= -Simd<Real>::largest_phase);
  if (!any<Real>(~near)) return;
  for (int i = 0; i < lanes<Real>; ++i) sine[i] = std::sin(x[i]), cosine[i] = std::cos(x[i]);
}

// an array of lanes x lanes numbers with rows `from_step` apart, transposed
template <class Real>
INLINE void transpose(const Real* from, int64_t from_step, Real* to, int64_t to_step) {
  constexpr int n = lanes<Real>, q = 16 / sizeof(Real);
#pragma GCC unroll 8
  for (int column = 0; column < n; column += q) {
    Vec<Real> a[q], b[q];
#pragma GCC unroll 4
    for (int i = 0; i < q; ++i) a[i] = load_pieces(from + i * from_step + column, q * from_step);
    if constexpr (q == 4) {
      zip<Real>(a[0], a[2], b[0], b[1]);
      zip<Real>(a[1], a[3], b[2], b[3]);
      zip<Real>(b[0], b[2], a[0], a[1]);
      zip<Real>(b[1], b[3], a[2], a[3]);
    } else {
      zip<Real>(a[0], a[1], b[0], b[1]);
      a[0] = b[0], a[1] = b[1];
    }
#pragma GCC unroll 4
    for (int i = 0; i < q; ++i) store(to + (column + i) * to_step, a[i]);
  }
}

}  // namespace
