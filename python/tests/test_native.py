"""What ctypes is told of the C interface is what the header says."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from crosswise import _native

HEADER = Path(__file__).parents[2] / "include" / "crosswise" / "crosswise.h"
KINDS = {
    "bool": ctypes.c_bool,
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
}


def fields_of(name: str) -> list[tuple[str, object]]:
    """Names and types of the fields of a struct; a type that has no size here is a number."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", text, re.S)
    assert body, name
    found: list[tuple[str, object]] = []
    for line in filter(None, (part.strip() for part in body[1].split(";"))):
        kind, names = line.replace("const ", "").split(None, 1)
        for field in names.split(","):
            is_pointer = "*" in field
            found.append((field.strip(" *"), None if is_pointer else KINDS.get(kind, ctypes.c_int)))
    return found


STRUCTS = [
    value
    for value in vars(_native).values()
    if isinstance(value, type) and issubclass(value, ctypes.Structure)
]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda s: s.__name__)
def test_structs_are_those_of_the_header(struct):
    wanted = fields_of(struct.__doc__)
    assert [field[0] for field in struct._fields_] == [name for name, _ in wanted]
    for (name, kind), (_, declared) in zip(wanted, struct._fields_, strict=True):
        if kind is None:
            assert ctypes.sizeof(declared) == ctypes.sizeof(ctypes.c_void_p), name
        else:
            assert declared is kind, name


def test_functions_are_those_of_the_header():
    text = HEADER.read_text()
    for name in [*_native._PLAIN, *_native._STATUS]:
        assert re.search(rf"\b{name}\(", text), name
