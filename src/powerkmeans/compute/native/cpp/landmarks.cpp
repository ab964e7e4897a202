// Features of a block of rows by their Gaussian kernels with landmarks.

#include "guard.h"
#include "landmarks.h"

EXPORT int64_t landmarks(const LandmarkMap* map) {
  return guarded([&] { return map_by_landmarks(*map); });
}
