"""What the compiled functions are passed, field by field as in cpp/arguments.h."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_double, c_int64, c_void_p


class MapStructure(Structure):
    """As ``Map``."""

    _fields_ = (
        ("n_columns", c_int64),
        ("n_frequencies", c_int64),
        ("scale", c_double),
        ("origin", c_void_p),
        ("frequencies", c_void_p),
        ("mean", c_void_p),
    )


class ViewStructure(Structure):
    """As ``View``."""

    _fields_ = (
        ("width", c_int64),
        ("weight", c_double),
        ("reference", c_double),
        ("rows", c_void_p),
        ("norms", c_void_p),
        ("map", POINTER(MapStructure)),
        ("projection", c_void_p),
        ("center_norms", c_void_p),
        ("present", c_void_p),
    )


class PassStructure(Structure):
    """As ``Pass``."""

    _fields_ = (
        ("n_rows", c_int64),
        ("n_clusters", c_int64),
        ("n_views", c_int64),
        ("hard", c_int64),
        ("possibilistic", c_int64),
        ("resolution", c_double),
        ("s", c_double),
        ("fuzziness", c_double),
        ("views", POINTER(ViewStructure)),
        ("weight", c_void_p),
        ("moment", c_void_p),
        ("mass", c_void_p),
        ("scatter", c_void_p),
        ("residual", c_void_p),
        ("sizes", c_void_p),
        ("totals", c_void_p),
        ("answer", c_int64),
        ("answers", c_void_p),
        ("nearest", c_void_p),
    )


class SearchStructure(Structure):
    """As ``Search``."""

    _fields_ = (
        ("n_rows", c_int64),
        ("n_landmarks", c_int64),
        ("n_columns", c_int64),
        ("n_views", c_int64),
        ("n_neighbors", c_int64),
        ("count", c_int64),
        ("rounding", c_double),
        ("tolerance", c_double),
        ("offsets", c_void_p),
        ("scale", c_void_p),
        ("typical", c_void_p),
        ("rows", c_void_p),
        ("landmarks", c_void_p),
        ("index", c_void_p),
        ("share", c_void_p),
        ("itself", c_void_p),
        ("reach", c_void_p),
        ("n_outputs", c_int64),
        ("loading", c_void_p),
        ("features", c_void_p),
    )


class LandmarkStructure(Structure):
    """As ``LandmarkMap``."""

    _fields_ = (
        ("n_rows", c_int64),
        ("n_columns", c_int64),
        ("n_landmarks", c_int64),
        ("n_outputs", c_int64),
        ("single_rows", c_int64),
        ("single_features", c_int64),
        ("bandwidth", c_double),
        ("rows", c_void_p),
        ("origin", c_void_p),
        ("landmarks", c_void_p),
        ("normalization", c_void_p),
        ("mean", c_void_p),
        ("features", c_void_p),
    )
