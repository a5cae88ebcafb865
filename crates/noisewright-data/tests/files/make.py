"""Makes the NumPy files beside it: `python make.py` (NumPy 2; output is the same to the byte on each run)."""

import os

import numpy as np

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
