// What stands between C++ and its callers.
#pragma once

#include <cstdint>
#include <new>

namespace {

// Exceptions must not leave: -2 says that memory ran out.
template <class F>
int64_t guarded(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return -2;
  }
}

}  // namespace
