// Every compiled function on fixed numbers, whose results are printed: the same on any processor, up to rounding.
// The functions are compiled in, or those of a library with LIBRARY defined.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#ifdef LIBRARY
#include "arguments.h"
extern "C" int64_t pass_float32(const Pass*), pass_float64(const Pass*);
extern "C" int64_t nearest(const Search*), landmarks(const LandmarkMap*);
#else
#include "landmarks.cpp"
#include "nearest.cpp"
#include "pass.cpp"
#endif

namespace {

// numbers between -1 and 1 that no library has a say in
struct Numbers {
  uint64_t state;
  double next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return double(state >> 11) / double(1ULL << 52) - 1;
  }
  template <class Real>
  std::vector<Real> many(int64_t count) {
    std::vector<Real> values(count);
    for (Real& value : values) value = Real(next());
    return values;
  }
};

template <class T>
void print(const std::string& name, const std::vector<T>& values) {
  std::printf("%s:", name.c_str());
  for (const T value : values) std::printf(" %.17g", double(value));
  std::printf("\n");
}

const char* name_of(float) { return "float32"; }
const char* name_of(double) { return "float64"; }

int64_t run(const Pass& pass, float) { return pass_float32(&pass); }
int64_t run(const Pass& pass, double) { return pass_float64(&pass); }

// One view as a pass sees it, and all that it points to.
template <class Real>
struct GivenView {
  std::vector<Real> rows, norms, projection, center_norms, origin, frequencies, mean;
  std::vector<uint8_t> present;
  Map map;
  View view;

  GivenView(Numbers& numbers, int64_t n, int64_t width, int64_t k, bool raw, bool missing)
      : rows(numbers.many<Real>(n * (raw ? 3 : width))), norms(n), projection(numbers.many<Real>(width * k)),
        center_norms(k), origin(3), frequencies(numbers.many<Real>(3 * width / 2)), mean(width), present(n, 1) {
    for (int64_t r = 0; r < n && !raw; ++r)
      for (int64_t v = 0; v < width; ++v) norms[r] += rows[r * width + v] * rows[r * width + v];
    for (int64_t j = 0; j < k; ++j)
      for (int64_t v = 0; v < width; ++v) center_norms[j] += projection[v * k + j] * projection[v * k + j] / 4;
    for (int64_t r = 0; r < n && missing; r += 3) present[r] = 0;
    map = {3, width / 2, 1.5, origin.data(), frequencies.data(), mean.data()};
    view = {width, 0.4, 0.7, rows.data(), norms.data(), raw ? &map : nullptr, projection.data(),
            center_norms.data(), missing ? present.data() : nullptr};
  }
};

template <class Real>
void sums(const std::string& title, double s, bool possibilistic, bool raw, bool missing) {
  const int64_t n = 150, k = 7;
  Numbers numbers{1};
  GivenView<Real> one(numbers, n, 10, k, raw, false), other(numbers, n, 34, k, raw, missing);
  if (missing) one.view.present = one.present.data();
  const View views[] = {one.view, other.view};
  std::vector<Real> weight(n, 1), moment(k * 44);
  std::vector<double> mass(2 * k), scatter(2 * k), residual(2 * k), sizes(k), totals(2);
  const Pass pass{n, k, 2, s == 0, possibilistic, 1e-3, s == 0 ? -1 : s, 2, views, weight.data(), moment.data(),
                  mass.data(), scatter.data(), residual.data(), sizes.data(), totals.data()};
  if (run(pass, Real()) != -1) std::printf("out of range\n");
  const std::string start = std::string(name_of(Real())) + " " + title + " ";
  print(start + "moment", moment), print(start + "mass", mass), print(start + "scatter", scatter);
  if (possibilistic) print(start + "residual", residual);
  print(start + "sizes", sizes), print(start + "totals", totals);
  std::vector<int32_t> labels(n);
  std::vector<Real> distances(n * k), probabilities(n * k), scores(n), nearest(n);
  const std::pair<Answer, void*> asked[] = {{LABELS, labels.data()},
                                            {DISTANCES, distances.data()},
                                            {PROBABILITIES, probabilities.data()},
                                            {OUTLIER_SCORES, scores.data()},
                                            {NEAREST, labels.data()}};
  for (const auto& [answer, answers] : asked) {
    Pass question = pass;
    question.answer = answer, question.answers = answers, question.nearest = nearest.data();
    if (run(question, Real()) != -1) std::printf("out of range\n");
  }
  print(start + "labels", labels), print(start + "distances", distances);
  print(start + "probabilities", probabilities), print(start + "nearest", nearest);
  if (possibilistic) print(start + "scores", scores);
}

template <class Real>
void passes() {
  sums<Real>("soft", -2.5, false, false, false);
  sums<Real>("gentle", -0.3, false, false, true);
  sums<Real>("hard", 0, false, false, false);
  sums<Real>("possibilistic", -3, true, false, true);
  sums<Real>("from raw rows", -2.5, false, true, false);
}

void search(int64_t n_views, bool missing) {
  const int64_t n = 90, m = 130, widths[] = {5, 8}, r = 6;
  const int64_t width = n_views == 1 ? 5 : 13, D = n_views == 1 ? 5 : 15;
  Numbers numbers{2};
  std::vector<double> rows(n * D, 1), landmarks(m * D, 1), loading = numbers.many<double>(m * 3), features(n * 3);
  for (std::vector<double>* table : {&rows, &landmarks})
    for (size_t i = 0; i < table->size(); ++i)
      if (int64_t(i % D) < width) (*table)[i] = numbers.next();
  for (int64_t i = 0; i < n && missing; i += 4) rows[i * D + 14] = 0;
  const int64_t offsets[] = {0, widths[0], width};
  const double scale[] = {0.6, 1.3}, typical[] = {1.5, 4.0};
  std::vector<int64_t> index(n * r);
  std::vector<double> share(n * r), reach(n);
  std::vector<uint8_t> itself(n);
  const Search given{n, m, D, n_views, r, r + 1, 1e-15, 1e-8, offsets, scale, typical, rows.data(), landmarks.data(),
                     index.data(), share.data(), itself.data(), reach.data(), 3, loading.data(), features.data()};
  if (nearest(&given) != -1) std::printf("out of range\n");
  const std::string start = "float64 nearest of " + std::to_string(n_views) + (missing ? " missing " : " ");
  print(start + "index", index), print(start + "share", share), print(start + "reach", reach);
  print(start + "features", features);
}

void kernels(bool single) {
  const int64_t n = 70, d = 6, m = 40, p = 17;
  Numbers numbers{3};
  const std::vector<double> origin = numbers.many<double>(d), landmark = numbers.many<double>(m * d);
  const std::vector<double> normalization = numbers.many<double>(m * p), mean = numbers.many<double>(p);
  const std::vector<double> rows = numbers.many<double>(n * d);
  std::vector<double> features(n * p);
  std::vector<float> narrow(n * p);
  void* out = single ? static_cast<void*>(narrow.data()) : features.data();
  const LandmarkMap map{n, d, m, p, 0, single, 0.8, rows.data(), origin.data(), landmark.data(), normalization.data(),
                        mean.data(), out};
  if (landmarks(&map) != -1) std::printf("out of range\n");
  if (single)
    print("float32 kernels at landmarks", narrow);
  else
    print("float64 kernels at landmarks", features);
}

}  // namespace

int main() {
  passes<float>();
  passes<double>();
  search(1, false), search(2, false), search(2, true);
  kernels(false), kernels(true);
}
