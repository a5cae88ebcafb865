"""Makes the NumPy and Parquet files beside it: `python make.py` (NumPy 2, PyArrow 26; the same bytes on each run)."""

import datetime
import decimal
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

os.chdir(os.path.dirname(os.path.abspath(__file__)))

matrix = np.array([[1.5, -2.0], [3.25, 4.0], [1e-300, 6.0]])
np.save("matrix_c.npy", matrix)
np.save("matrix_fortran.npy", np.asfortranarray(matrix))
np.save("matrix_big_endian.npy", matrix.astype(">f8"))
np.save("column.npy", np.array([0.1, 0.2, 0.3]))

integers = [0, 1, 100]
for code in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i2", ">i4", ">u8", ">f4", "?"]:
    name = code.replace(">", "big_").replace("?", "bool")
    np.save(f"type_{name}.npy", np.array(integers).astype(code))

np.save("negative_i8.npy", np.array([-1, -(2**53), 2**53]))
np.save("too_large_i8.npy", np.array([1, 2, 2**53 + 1]))
np.save("complex.npy", np.array([1 + 2j]))
np.save("text.npy", np.array(["a", "bc"]))
np.save("objects.npy", np.array([1, "a"], dtype=object), allow_pickle=True)
np.save("records.npy", np.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")]))
np.save("dates.npy", np.array(["2020-01-01"], dtype="M8[D]"))
np.save("cube.npy", np.zeros((2, 2, 2)))
np.save("scalar.npy", np.array(1.0))
np.save("empty.npy", np.zeros((0, 3)))
np.save("holes.npy", np.array([[1.0, 2.0], [np.nan, 4.0], [5.0, np.inf], [7.0, 8.0]]))

with open("version_2.npy", "wb") as file:
    np.lib.format.write_array(file, matrix, version=(2, 0))

np.savez("columns.npz", x=np.array([1.0, 2.0]), y=np.array([3, 4]), label=np.array(["a", "b"]))
np.savez_compressed("compressed.npz", x=np.arange(1000.0), y=np.arange(1000) ** 2)
np.savez("positional.npz", np.array([1.0, 2.0]), np.array([3.0, 4.0]))
np.savez("one_matrix.npz", draws=matrix)
np.savez("two_matrices.npz", a=matrix, b=matrix)
np.savez("unequal.npz", a=np.zeros(2), b=np.zeros(3))

integers = [0, 1, 100]
types = {"bool": pa.bool_(), "half": pa.float16(), "float": pa.float32(), "double": pa.float64()}
types |= {f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ["", "u"] for bits in [8, 16, 32, 64]}
columns = {name: pa.array(np.array(integers), type=pa.int64()).cast(kind) for name, kind in types.items() if name != "half"}
columns["half"] = pa.array(np.array(integers, dtype=np.float16))
for name, kind in [("decimal32", (9, 2)), ("decimal64", (18, 2)), ("decimal128", (38, 20))]:
    columns[name] = pa.array([decimal.Decimal(text) for text in ["0", "1", "100"]], type=pa.decimal128(*kind))
pq.write_table(pa.table(columns), "types.parquet", store_decimal_as_integer=True)
pq.write_table(pa.table(columns), "types_old.parquet", version="1.0")

edges = {
    "uint32": pa.array([2**32 - 1, 2**31], pa.uint32()),
    "int64": pa.array([-(2**53), 2**53], pa.int64()),
    "uint64": pa.array([2**53, 0], pa.uint64()),
    "int8": pa.array([-128, 127], pa.int8()),
    "decimal": pa.array([decimal.Decimal("-0.1"), decimal.Decimal("123456789012345678.9")], pa.decimal128(19, 1)),
    "float": pa.array([0.1, -0.0], pa.float32()),
}
pq.write_table(pa.table(edges), "edges.parquet")
pq.write_table(pa.table({"x": pa.array([1, 2**53 + 1]), "y": pa.array([0, 2**64 - 1], pa.uint64())}), "too_large.parquet")

rows = {"x": np.arange(200) / 8, "k": np.arange(200) % 7, "label": [f"row {i}" for i in range(200)]}
for codec in ["none", "snappy", "gzip", "zstd", "brotli", "lz4"]:
    pq.write_table(pa.table(rows), f"{codec}.parquet", compression=codec, row_group_size=60)
pq.write_table(
    pa.table({"x": rows["x"], "k": rows["k"]}),
    "encodings.parquet",
    use_dictionary=False,
    column_encoding={"x": "BYTE_STREAM_SPLIT", "k": "DELTA_BINARY_PACKED"},
    data_page_version="2.0",
    data_page_size=500,
)

holes = {
    "whole": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "x": pa.array([1.0, 2.0, 3.0, None, 5.0, float("nan")]),
    "k": pa.array([1, 2, 3, 4, None, 6]),
    "nan": [1.0, 2.0, float("nan"), 4.0, 5.0, 6.0],
    "inf": [1.0, 2.0, 3.0, 4.0, 5.0, float("-inf")],
    "nothing": pa.nulls(6),
}
pq.write_table(pa.table(holes), "holes.parquet", row_group_size=2)

words = {
    "x": [1.0, 2.0],
    "name": ["a", "b"],
    "day": [datetime.date(2020, 1, 1)] * 2,
    "when": [datetime.datetime(2020, 1, 1)] * 2,
    "raw": [b"a", b"b"],
    "list": [[1.0], [2.0, 3.0]],
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    "category": pa.array(["u", "v"]).dictionary_encode(),
    "huge": pa.array([decimal.Decimal(1)] * 2, pa.decimal256(60, 3)),
    "point": pa.array([{"x": 3.0, "y": 4}, None], pa.struct([("x", pa.float64()), ("y", pa.int32())])),
}
pq.write_table(pa.table(words), "words.parquet")
pq.write_table(pa.table({"x": pa.array([], pa.float64())}), "no_rows.parquet")
