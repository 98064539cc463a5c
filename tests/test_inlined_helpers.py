"""Helpers with `inline_only`: kernels contain them, and no machine code is made of them or kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from covbandit.kernels.jit.compilation import compiled, kernel


@kernel(inline_only=True)
def _twice(x: float) -> float:
    return 2.0 * x


@kernel(inline_only=True)
def _more(x: float) -> float:
    return _twice(x) + 1.0  # a helper within a helper


@kernel()
def _ordinary(x: float) -> float:
    return _more(x) - 0.5


@kernel("float64(float64)")
def _whole(x: float) -> float:
    return _ordinary(_twice(x))


def test_kernels_contain_them_and_they_have_no_machine_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # with nothing in it: all of them are compiled
    assert compiled(_whole)(1.5) == 6.5

    def has_machine_code(helper: object) -> bool:
        (result,) = helper.overloads.values()  # type: ignore[attr-defined]
        return bool(result.library.get_pointer_to_function(result.fndesc.llvm_func_name) != 0)

    assert [has_machine_code(each) for each in (_whole, _ordinary, _more, _twice)] == [True, True, False, False]
    with pytest.raises(ValueError, match="inline_only is for helpers"):
        kernel("float64(float64)", inline_only=True)
    kept = {file.name.partition("-")[0].rpartition(".")[2] for file in tmp_path.rglob("*.nbi")}
    assert kept == {"_whole", "_ordinary"}
