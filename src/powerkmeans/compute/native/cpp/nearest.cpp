// Nearest landmarks of a block of rows.

#include "guard.h"
#include "nearest.h"

EXPORT int64_t nearest(const Search* search) {
  return guarded([&] { return find_nearest(*search); });
}
