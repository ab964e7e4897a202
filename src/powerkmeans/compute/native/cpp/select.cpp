// Part of the baseline library alone, which any processor of the family can open: it tells what else can be opened.

#include "arguments.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

EXPORT int64_t runs_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return 0;
#endif
}

EXPORT int64_t runs_avx512() {
#if defined(__x86_64__)
  return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
  return 0;
#endif
}

// Whether its units are as wide as the vectors: AMD's fourth generation does them in halves, which gains nothing and loses where
// numbers change places (measured); family 26 is the one after it.
EXPORT int64_t gains_by_avx512() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (!runs_avx512() || !__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const unsigned family = ((a >> 8) & 15) == 15 ? 15 + ((a >> 20) & 255) : (a >> 8) & 15;
  return __builtin_cpu_is("intel") || (__builtin_cpu_is("amd") && family >= 26);
#else
  return 0;
#endif
}
