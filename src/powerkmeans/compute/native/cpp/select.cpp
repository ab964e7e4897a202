// Part of the baseline library alone, which any processor of the family can open: it tells what else can be opened.

#include "arguments.h"

EXPORT int64_t runs_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return 0;
#endif
}
