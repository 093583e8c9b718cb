"""Another trainer's driver: `module:function`, or `file.py:function` beside the manifest, that runs one job."""

from __future__ import annotations

import ast
import ctypes
import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from parity.record import Key, Leaf, flatten, tensor_leaf
from porttool.errors import ManifestError
from porttool.nearest import nearest

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_HINT = "write module:function, or file.py:function with a file beside the manifest"


def resolve(written: Any, folder: Path, at: str, where: str = "") -> str:
    """A driver as the manifest names it, its file made absolute. Raises ManifestError where there is none."""
    place, colon, function = str(written).rpartition(":")
    if not isinstance(written, str) or not colon or not function.isidentifier():
        raise ManifestError(f"{at}: {written!r} is no driver", where, _HINT)
    if not place.endswith(".py"):
        if _MODULE.fullmatch(place) is None:
            raise ManifestError(f"{at}: {place!r} is no module", where, _HINT)
        return written
    file = (folder / place).resolve()
    if not file.is_file():
        there = [found.name for found in file.parent.glob("*.py")] if file.parent.is_dir() else []
        hint = nearest(file.name, there) if there else f"the folder {file.parent} has no Python file"
        raise ManifestError(f"{at}: there is no file {place}", where, hint)
    _check(file, function, at, where)
    return f"{file}:{function}"


def _check(file: Path, function: str, at: str, where: str) -> None:
    """The file is read, not run: what it imports need not be installed here."""
    try:
        names = list(_names(ast.parse(file.read_bytes(), str(file))))
    except SyntaxError as error:
        raise ManifestError(f"{at}: {file.name} is no Python: {error.msg}", f"{file}:{error.lineno}") from error
    if function not in names and "*" not in names:
        hint = nearest(function, [name for name in names if not name.startswith("_")] or names)
        raise ManifestError(f"{at}: {file.name} has no function {function!r}", where, hint)


def _names(tree: ast.Module) -> Iterator[str]:
    """What a module's own statements bind; "*" where they import all of another one."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name for alias in aliases)


def digest(driver: str) -> str:
    """Of a resolved driver: its function and its file's content, so that a capture by another one is not looked up.

    A module that is not installed comes with the side's tree, which has a digest of its own.
    """
    place, _, function = driver.rpartition(":")
    file = Path(place) if place.endswith(".py") else _installed(place)
    content = file.read_bytes() if file is not None and file.is_file() else place.encode()
    return hashlib.sha256(function.encode() + b"\0" + content).hexdigest()


def _installed(module: str) -> Path | None:
    """The file of a module, found without importing the packages around it."""
    first, *rest = module.split(".")
    found = find_spec(first)
    if found is None or found.origin is None:
        return None
    file = Path(found.origin)
    if rest:
        inner = file.parent.joinpath(*rest)
        file = inner / "__init__.py" if inner.is_dir() else inner.with_suffix(".py")
    return file


def shown(driver: str) -> str:
    """A resolved driver as provenance names it: without the folders of this machine, with the head of its digest."""
    place, _, function = driver.rpartition(":")
    return f"{Path(place).name}:{function} {digest(driver)[:16]}"


def load(driver: str) -> Callable[..., Any]:
    """The function of a resolved driver. What it raises while it is imported is the caller's answer."""
    place, _, function = driver.rpartition(":")
    if not place.endswith(".py"):
        found: Callable[..., Any] = getattr(import_module(place), function)
        return found
    name = f"porttool_driver_{Path(place).stem}"
    spec = spec_from_file_location(name, place)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    # Before it runs: a dataclass looks its own module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    loaded: Callable[..., Any] = getattr(module, function)
    return loaded


def named(dotted: str) -> Any:
    """The object of a dotted name, such as one of a job's `subject`."""
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


def observed(told: Any) -> dict[str, dict[Key, Leaf]]:
    """What a driver returned as probes: `{probe: {key: value}}`, mappings and lists inside made keys.

    A value is plain (None, a bool, a number, text), a torch tensor, or a Leaf. Raises TypeError on anything else,
    ValueError on a probe that is called as one of the gate's own.
    """
    if not isinstance(told, Mapping) or not all(isinstance(keys, Mapping) for keys in told.values()):
        raise TypeError(f"the driver returned {type(told).__name__}; wanted is {{probe: {{key: value}}}}")
    odd = next((probe for probe in told if not isinstance(probe, str)), None)
    if odd is not None:
        raise TypeError(f"a probe is called {odd!r}, which is not a string")
    own = next((probe for probe in told if probe in _OWN), None)
    if own is not None:
        raise ValueError(f"a probe is called {own!r}, which is one of the gate's own: call it something else")
    return {probe: _keyed(keys, probe) if keys else {} for probe, keys in told.items()}


# In a report each probe is known by its name: two of one name would hide one another.
_OWN = ("guard", "proof", "stored", "knobs", "convergence")


def _keyed(keys: Any, probe: str) -> dict[Key, Leaf]:
    """Every leaf by its key. Raises ValueError where two have the same: one of them would not be compared."""
    found: dict[Key, Leaf] = {}
    for key, held in flatten(_recorded(keys, probe)):
        if key in found:
            raise ValueError(f"{probe} has the key {key!r} twice: as it is written, and by mappings or lists inside")
        found[key] = held
    return found


def _recorded(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _recorded(inner, f"{key}.{name}") for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        inner = [_recorded(one, f"{key}[{place}]") for place, one in enumerate(value)]
        return tuple(inner) if isinstance(value, tuple) else inner
    if hasattr(value, "data_ptr"):
        return of_tensor(value)
    if isinstance(value, Leaf) and not value.sound:
        raise TypeError(f"{key} is a Leaf of the type {value.type!r} whose value {value.value!r} has another form")
    if value is None or isinstance(value, (bool, int, float, str, Leaf)):
        return value
    raise TypeError(f"{key} is a {type(value).__name__}: a probe holds plain values, tensors and Leaf")


def of_tensor(tensor: Any) -> Leaf:
    """dtype, shape and digest of a dense torch tensor. Its memory is read as it is: numpy may be absent.

    Raises TypeError on a quantised one, whose memory is not its values.
    """
    if tensor.is_quantized:
        raise TypeError("a quantised tensor cannot be recorded: give its values (`dequantize`)")
    # A conjugate, or a negative, may be the same memory with a mark.
    dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    content = ctypes.string_at(dense.data_ptr(), dense.numel() * dense.element_size())
    return tensor_leaf(str(dense.dtype).removeprefix("torch."), tuple(dense.shape), content)
