// Arrays that grow. Memory comes from new and delete directly: the standard allocator of newer compilers calls a
// function that the C++ library of older systems lacks, and a wheel has to open there, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace {

template <class T>
struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <class Other>
  Allocator(const Allocator<Other>&) {}
  T* allocate(size_t n) {
    if (n > PTRDIFF_MAX / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* values, size_t) { ::operator delete(values); }
  template <class Other>
  bool operator==(const Allocator<Other>&) const { return true; }
  template <class Other>
  bool operator!=(const Allocator<Other>&) const { return false; }
};

template <class T>
using Array = std::vector<T, Allocator<T>>;

}  // namespace
