"""What the package believes of the library is what its header says."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from crosswise import _native as native

HEADER = Path(__file__).parent.parent.parent / "include" / "crosswise" / "crosswise.h"
STRUCTS = {
    "cw_option_info": native.OptionInfo,
    "cw_arrays": native.Arrays,
    "cw_matrix": native.Matrix,
    "cw_rules": native.Rules,
    "cw_lists": native.Lists,
    "cw_tensor": native.Tensor,
}
KINDS = {
    "int": (ctypes.c_int,),
    "int32_t": (ctypes.c_int32,),
    "int64_t": (ctypes.c_int64,),
    "size_t": (ctypes.c_size_t,),
    "double": (ctypes.c_double,),
    "float": (ctypes.c_float,),
    "bool": (ctypes.c_bool,),
    "cw_option_kind": (ctypes.c_int,),
    "cw_part": (ctypes.c_int,),
    "cw_list_way": (ctypes.c_int,),
    "cw_status": (ctypes.c_int,),
}


def header():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE))


def declared(name):
    """Names and types of the fields of a structure; "*" for any pointer."""
    body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", header())[1]
    for line in filter(None, (part.strip() for part in body.split(";"))):
        kind = line.removeprefix("const ").split()[0]
        for field in line.split(","):
            yield (
                field.split("*")[-1].split()[-1].removeprefix("const "),
                ("*" if "*" in field else kind),
            )


@pytest.mark.parametrize("name", STRUCTS)
def test_structures_are_those_of_the_header(name):
    fields = [(field, kind) for field, kind in declared(name)]
    mine = STRUCTS[name]._fields_
    assert [field for field, _ in fields] == [field for field, _ in mine]
    for (field, kind), (_, own) in zip(fields, mine, strict=True):
        if kind == "*":
            assert own in (ctypes.c_void_p, ctypes.c_char_p), field
        else:
            assert own in KINDS[kind], field


def is_pointer(kind):
    if kind in (ctypes.c_void_p, ctypes.c_char_p):
        return True
    return hasattr(kind, "_type_") and not isinstance(kind._type_, str)


@pytest.mark.parametrize("name", [*native._PLAIN, *native._STATUS])
def test_calls_are_those_of_the_header(name):
    found = re.search(rf"CW_API (?:CW_MUST_CHECK )?([\w ]+?[ *]+){name}\(([^)]*)\);", header())
    assert found, f"{name} is not in the header"
    arguments = [] if found[2].strip() == "void" else found[2].split(",")
    own = getattr(native.lib, name).argtypes
    assert len(arguments) == len(own)
    for argument, kind in zip(arguments, own, strict=True):
        words = argument.removeprefix("const ").split()
        if "*" in argument or words[0].endswith("_fn"):
            assert is_pointer(kind) or hasattr(kind, "_restype_"), argument
        else:
            assert kind in KINDS[words[0]], argument
    result = getattr(native.lib, name).restype
    if "*" in found[1]:
        assert is_pointer(result)
    elif found[1].strip() == "void":
        assert result is None
    else:
        assert result in KINDS[found[1].strip()]
