// Compiled for any processor of the family, unlike pass.cpp, which is compiled once a target.

#include "arguments.h"

// Whether this processor can run the target that this library was built for.
EXPORT int64_t supported() {
#ifdef NEEDS_AVX2
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return 1;
#endif
}

// What these sources hash to: a library that was built from others is not called.
EXPORT int64_t sources() { return SOURCES; }
