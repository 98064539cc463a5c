"""Code that was changed is noticed wherever it stands: compiled kernels and kept results follow it."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.core.fingerprints import foreign_source
from covbandit.errors import InvalidInput
from covbandit.simulation import plan as plan_module
from covbandit.simulation.campaign import Task, run_tasks

# Compiled kernels -----------------------------------------------------------------------------------------------------

LEARNER = """
import covbandit as cb
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import ABSORB, DECIDE
{imports}

@kernel(DECIDE)
def decide(s, t, w):
    total = 0.0
    for i in range(w.size):
        w[i] = {weight}
        total += w[i]
    for i in range(w.size):
        w[i] /= total


@kernel(ABSORB)
def absorb(s, w, y):
    pass


class Mine(cb.Learner):
    feedback = "all"
    _decide_kernel = decide
    _absorb_kernel = absorb
"""
HELPER = """
from covbandit.kernels.jit.compilation import kernel, out_of_line


@kernel()
def tilt(i):
    return 1.0 + RATE * i


@kernel("float64(int64)")
def tilt_apart(i):
    return 1.0 + RATE * i


call_tilt = out_of_line(tilt_apart)
""".replace("RATE", "{rate}")
FACTORY = """
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import DECIDE


def make_decide(tilt):
    @kernel(DECIDE)
    def decide(s, t, w):
        for i in range(w.size):
            w[i] = tilt(i) / (tilt(0) + tilt(1) + tilt(2))

    return decide
"""

# Where the slope of the weights is written, and how the learner comes by it: module, imports, expression of a weight.
WAYS = {
    "direct": ("direct_helper", "from direct_helper import tilt", "tilt(i)"),
    "by_module": ("module_helper", "import module_helper", "module_helper.tilt(i)"),
    "through_another": ("far_helper", "from near_helper import tilt", "tilt(i)"),
    "constant": ("settings_one", "from settings_one import RATE", "1.0 + RATE * i"),
    "constant_by_module": ("settings_two", "import settings_two", "1.0 + settings_two.RATE * i"),
    "constant_through_another": ("settings_far", "from settings_near import SLOPE", "1.0 + SLOPE * i"),
    "in_package.relative": ("in_package.helper", "from .helper import tilt", "tilt(i)"),
    "in_package.relative_module": ("in_package.other", "from . import other", "other.tilt(i)"),
    "by_symbol": ("symbol_helper", "from symbol_helper import call_tilt", "call_tilt(i)"),
}


def _write(folder: Path, rate: float) -> None:
    """Write learners that get their slope in every way, with the given slope; only files that hold it change."""
    for name, (module, imports, weight) in WAYS.items():
        own = folder / f"{name.replace('.', '/')}.py"
        own.parent.mkdir(exist_ok=True, parents=True)
        code = LEARNER.format(imports=imports, weight=weight)
        if not own.exists():
            own.write_text(code, encoding="utf-8")
        there = folder / f"{module.replace('.', '/')}.py"
        there.write_text(
            f"RATE = {rate}\n" if module.startswith("settings") else HELPER.format(rate=rate), encoding="utf-8"
        )
    (folder / "factory_helper.py").write_text(HELPER.format(rate=rate), encoding="utf-8")
    for name, code in {
        "in_package/__init__": "",
        "near_helper": "from far_helper import tilt as far\nfrom covbandit.kernels.jit.compilation import kernel\n\n\n"
        "@kernel()\ndef tilt(i):\n    return far(i)\n",
        "settings_near": "import settings_far\n\nSLOPE = settings_far.RATE\n",
        "factory": FACTORY,
        "made": LEARNER.format(
            imports="from factory import make_decide\nfrom factory_helper import tilt", weight="1.0"
        ).replace("_decide_kernel = decide", "_decide_kernel = make_decide(tilt)"),
        "from_outside": LEARNER.format(
            imports="import os\n\nRATE = float(os.environ['RATE'])", weight="1.0 + RATE * i"
        ),
    }.items():
        if not (folder / f"{name}.py").exists():
            (folder / f"{name}.py").write_text(code, encoding="utf-8")


ASK = """
import importlib, json, sys
found = {}
for name in sys.argv[1:]:
    learner = importlib.import_module(name).Mine(n_options=3)
    weights = learner.ask().tolist()
    learner.tell(weights, [0.0, 0.0, 0.0])
    kernels = (learner._decide_kernel, learner._absorb_kernel)
    found[name] = [[round(6 * w, 9) for w in weights], *(sum(k.stats.cache_misses.values()) for k in kernels)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Ask all learners in a process of its own, with the files as they are; return answers and standard error."""
    folder = tmp_path_factory.mktemp("own")

    def ask(rate: float, names: list[str], **environment: str) -> tuple[dict[str, Any], str]:
        _write(folder, rate)
        inherited = {key: value for key, value in os.environ.items() if key != "COVBANDIT_QUIET"}
        done = subprocess.run(
            [sys.executable, "-c", ASK, *names],
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=600,
            env={
                **inherited,
                "NUMBA_CACHE_DIR": str(folder / "cache"),
                "PYTHONDONTWRITEBYTECODE": "1",
                "RATE": str(rate),
                **environment,
            },
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    ask.folder = folder  # type: ignore[attr-defined]
    return ask


def test_kernels_follow_helpers_and_constants_in_other_files(asked: Callable[..., Any]) -> None:
    names = [*WAYS, "made", "from_outside"]
    before, said = asked(0.0, names)
    assert {name: before[name][0] for name in names} == {name: [2.0, 2.0, 2.0] for name in names}
    assert said.count("\n") == 1, said
    assert said.startswith("covbandit: compiling kernels, once per machine")

    # All are found in the cache, but for one that has another kernel in a closure: Numba never finds these again.
    found = [name for name in names if name != "made"]
    again, said = asked(0.0, found)
    assert {name: again[name][1:] for name in found} == {name: [0, 0] for name in found}
    assert said == ""

    _age(asked.folder / "cache", days=40)  # type: ignore[attr-defined]
    after, said = asked(1.0, names, COVBANDIT_QUIET="1")
    assert {name: after[name][0] for name in names} == {name: [1.0, 2.0, 3.0] for name in names}
    assert said == ""
    # What was compiled from earlier sources, long ago, is not kept for ever; what is still of use is.
    assert len(_kept(asked, "direct.decide")) == 1
    assert len(_kept(asked, "from_outside.decide")) == 1

    back, _ = asked(0.0, names)  # not so long ago
    assert {name: back[name][0] for name in names} == {name: [2.0, 2.0, 2.0] for name in names}
    assert len(_kept(asked, "direct.decide")) == 2


def _age(folder: Path, days: int) -> None:
    then = time.time() - days * 24 * 3600
    for file in folder.rglob("*.nb?"):
        os.utime(file, (then, then))


def _kept(asked: Any, name: str) -> list[Path]:
    return list((asked.folder / "cache").glob(f"covbandit-*/*/{name}-*.nbi"))


EDITED = """
import pathlib, sys
import edited
pathlib.Path("edited_helper.py").write_text(sys.argv[1])
print([round(6 * w, 9) for w in edited.Mine(n_options=3).ask().tolist()])
"""


def test_a_helper_that_is_edited_after_it_was_loaded_is_not_kept_as_the_new_one(tmp_path: Path) -> None:
    """What is compiled then is of the old file, and must not be found by a process that has loaded the new one."""
    (tmp_path / "edited.py").write_text(
        LEARNER.format(imports="from edited_helper import tilt", weight="tilt(i)"), encoding="utf-8"
    )
    old, new = HELPER.format(rate=0.0), HELPER.format(rate=1.0)
    (tmp_path / "edited_helper.py").write_text(old, encoding="utf-8")
    asked = []
    for _ in range(2):
        environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COVBANDIT_QUIET": "1",
        }
        command = [sys.executable, "-c", EDITED, new]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=600)
        assert done.returncode == 0, done.stderr
        asked.append(json.loads(done.stdout))
    assert asked == [[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]]


HASHES = """
import json
from covbandit.cli.workers import _import_rooms
from covbandit.kernels.jit import compilation
_import_rooms()
print(json.dumps({compilation._name(each): compilation._hash(each) for each in compilation._kernels}))
"""


EDIT_OWN = """
from covbandit.kernels.qp import simplex as simplex_qp
with open(simplex_qp.__file__, "a") as file:
    file.write("# edited\\n")
"""


def _output(script: str, path: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=300, check=True
    )
    return done.stdout


def test_one_changed_learner_leaves_the_kernels_of_others(tmp_path: Path) -> None:
    """A kernel is compiled again if, and only if, its own code or what it contains or calls has changed."""
    package = tmp_path / "covbandit"
    shutil.copytree(Path(cb.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def hashes() -> dict[str, str]:
        return dict(json.loads(_output(HASHES, tmp_path)))

    def changed(file: str) -> set[str]:
        path = package / file
        kept = path.read_text(encoding="utf-8")
        path.write_text(kept + "\n", encoding="utf-8")
        after = hashes()
        path.write_text(kept, encoding="utf-8")
        assert after.keys() == before.keys()
        return {name.removeprefix("covbandit.") for name in before if after[name] != before[name]}

    before = hashes()
    assert hashes() == before
    # Of a file that is edited after it was loaded, the code that was loaded is what is compiled.
    script = HASHES.replace("_import_rooms()\n", "_import_rooms()\n" + EDIT_OWN)
    assert json.loads(_output(script, tmp_path)) == before
    path = package / "kernels" / "qp" / "simplex.py"
    path.write_text(path.read_text(encoding="utf-8").removesuffix("# edited\n"), encoding="utf-8")
    assert "covbandit.simulation.driver.play" in before
    assert changed("learners/semi_bandit/pair_ucb.py") == {
        f"learners.semi_bandit.pair_ucb.{name}" for name in ("_decide", "_absorb", "_finish_start_up")
    }
    assert changed("learners/protocol/base.py") == set()
    assert changed("simulation/driver.py") == {"simulation.driver.play"}
    # By symbol and through helpers: whoever calls what has changed is compiled again, to call it by its new symbol.
    touched = changed("kernels/qp/simplex.py")
    assert {
        "kernels.qp.simplex.maximize_on_simplex",
        "learners.full_bandit.mc_ete._refresh",
        "learners.full_bandit.mc_ete._absorb",
    } <= touched
    assert "learners.full_information.linear_fi._decide" not in touched
    assert "simulation.driver.play" not in touched


# Kept results ---------------------------------------------------------------------------------------------------------

PLAIN = """
import covbandit as cb
{imports}

class Stubborn(cb.Learner):
    feedback = "all"

    def _decide(self, t):
        {inside}
        weights = [0.0] * self.n_options
        weights[{option}] = 1.0
        return weights

    def _absorb(self, weights, observation):
        pass
"""
HOLDS = "def option():\n    return {option}\n\n\nclass Base:\n    OPTION = {option}\n"

# How the learner comes by its option: the file that says it, the imports, what stands in the method, the expression.
IMPORTS = {
    "from": ("helper", "from helper import option", "pass", "option()"),
    "module": ("helper", "import helper", "pass", "helper.option()"),
    "renamed": ("helper", "import helper as h", "pass", "h.option()"),
    "star": ("helper", "from helper import *", "pass", "option()"),
    "third level": ("deep", "import middle", "pass", "middle.option()"),
    "within a function": ("helper", "", "import helper", "helper.option()"),
    "within a function, third level": ("deep", "", "import middle", "middle.option()"),
    "by relative name": (
        "parts.helper",
        "import importlib",
        "helper = importlib.import_module('.helper', 'parts')",
        "helper.option()",
    ),
    "by name": ("helper", "import importlib", "helper = importlib.import_module('helper')", "helper.option()"),
    "package": ("parts.helper", "import parts.helper", "pass", "parts.helper.option()"),
    "from a package": ("parts.helper", "from parts import helper", "pass", "helper.option()"),
    "a package's own file": ("parts.__init__", "from parts import option", "pass", "option()"),
    "constant": ("helper", "from helper import Base", "pass", "Base.OPTION"),
}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Write modules of one's own and import one of them anew."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    written: set[str] = set()

    def forget() -> None:
        for name in written:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()

    def load(wanted: str, **files: str) -> Any:
        for name, content in files.items():
            path = tmp_path / f"{name.replace('.', '/')}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(content), encoding="utf-8")
            written.update({name.removesuffix(".__init__"), name.partition(".")[0]})
        forget()
        return importlib.import_module(wanted)

    yield load
    forget()


def _plan(learner: cb.Learner) -> plan_module.Plan:
    return plan_module.as_plan(cb.problems.synthetic(), {"own": learner}, 50)


@pytest.mark.parametrize("way", IMPORTS)
def test_results_follow_modules_that_a_learner_imports(way: str, own: Callable[..., Any], tmp_path: Path) -> None:
    """The journal refuses to go on, and a folder of results computes anew."""
    file, imports, inside, option = IMPORTS[way]
    fixed = {
        "mine": PLAIN.format(imports=imports, inside=inside, option=option),
        "middle": "from deep import option\n",
        "parts.__init__": "",
    }
    regrets = []
    for number in (0, 1):
        module = own("mine", **{**fixed, file: HOLDS.format(option=number)})
        learner = module.Stubborn(n_options=5)
        if number == 0:
            cb.simulate(cb.problems.synthetic(), {"own": learner}, 50, 2, journal=tmp_path / "it.journal")
        else:
            with pytest.raises(InvalidInput, match=r"learners differs in own\.source: the class, or a module of yours"):
                cb.simulate(cb.problems.synthetic(), {"own": learner}, 50, 2, journal=tmp_path / "it.journal")
        found = run_tasks([Task("own", _plan(learner), 2)], tmp_path / "results")["own"]
        regrets.append(float(found.regret[0, 0, -1]))
    assert len(list((tmp_path / "results").glob("own.*.npz"))) == 2
    assert regrets[0] == pytest.approx(6.1524, abs=1e-3)
    assert regrets[1] != pytest.approx(regrets[0])


def test_results_stay_when_nothing_that_matters_changes(own: Callable[..., Any], tmp_path: Path) -> None:
    code = PLAIN.format(imports="import json\nfrom helper import option", inside="pass", option="option()")
    files = {"mine": code, "helper": HOLDS.format(option=1), "unrelated": "A = 1\n"}
    before = _plan(own("mine", **files).Stubborn(n_options=5)).fingerprint()
    after = _plan(own("mine", **{**files, "unrelated": "A = 2\n"}).Stubborn(n_options=5)).fingerprint()
    assert before == after
    # An edit that this process has not loaded says nothing about the code that runs in it.
    learner = own("mine", **files).Stubborn(n_options=5)
    assert _plan(learner).fingerprint() == before
    (tmp_path / "helper.py").write_text(HOLDS.format(option=2), encoding="utf-8")
    assert _plan(learner).fingerprint() == before


def test_an_edit_before_the_first_simulation_says_nothing_about_the_code_that_runs(
    own: Callable[..., Any], tmp_path: Path
) -> None:
    """A file is read when it is loaded: later it may say something else than the code that was loaded from it."""
    code = PLAIN.format(imports="import middle", inside="pass", option="middle.option()")
    others = OTHERS.format().replace("helper", "middle")
    files = {"mine": code, "others": others, "middle": "from deep import option\n", "deep": HOLDS.format(option=1)}
    seen = []
    for edited in (False, True):
        kinds = [own("mine", **files).Stubborn, own("others", **files).Steady, own("others", **files).Drawn]
        if edited:
            (tmp_path / "deep.py").write_text(HOLDS.format(option=2), encoding="utf-8")
        seen.append([foreign_source(kind)["source"] for kind in kinds])
    assert seen[0] == seen[1]


def test_installed_packages_are_left_out_unless_they_define_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "site-packages"
    (place / "installed_one").mkdir(parents=True)
    monkeypatch.syspath_prepend(place)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def sources(option: int) -> list[str]:
        (place / "installed_one" / "__init__.py").write_text("", encoding="utf-8")
        (place / "installed_one" / "helper.py").write_text(HOLDS.format(option=option), encoding="utf-8")
        learner = PLAIN.format(imports="from installed_one.helper import option", inside="pass", option="option()")
        (place / "installed_one" / "learner.py").write_text(learner, encoding="utf-8")
        (tmp_path / "user_of_installed.py").write_text(learner, encoding="utf-8")
        for name in ("installed_one", "installed_one.helper", "installed_one.learner", "user_of_installed"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        modules = [importlib.import_module(name) for name in ("user_of_installed", "installed_one.learner")]
        return [foreign_source(module.Stubborn)["source"] for module in modules]

    (user, package), (user_again, package_again) = sources(1), sources(2)
    assert user == user_again
    assert package != package_again


TYPED = """
import covbandit as cb

SCALE = {scale}


def option():
    return {option}


class Typed(cb.Learner):
    feedback = "all"

    def _decide(self, t):
        weights = [0.0] * self.n_options
        weights[option() * SCALE] = 1.0
        return weights

    def _absorb(self, weights, observation):
        pass
"""


def test_what_is_typed_in_at_a_prompt_is_told_apart_by_all_that_it_uses() -> None:
    def source(**how: int) -> str:
        names: dict[str, Any] = {"__name__": "__main__"}
        # As notebooks do: another name for the same text each time.
        exec(compile(TYPED.format(**how), f"<cell {len(seen)}>", "exec"), names)
        seen.append(foreign_source(names["Typed"])["source"])
        return seen[-1]

    seen: list[str] = []
    first = source(scale=1, option=1)
    assert source(scale=1, option=1) == first
    assert source(scale=1, option=2) != first
    assert source(scale=2, option=1) != first


BODY = """
import covbandit as cb
{before}

class Typed(cb.Learner):
    feedback = "all"
    {field}

    def _decide(self, t):
        return {use}

    def _absorb(self, weights, observation):
        pass
"""

# What is written above the class, in it, and in its method; VALUE is what is edited.
TYPED_IN = {
    "default": ("def f(x=VALUE):\n    return x", "", "f()"),
    "default by name": ("def f(*, x=VALUE):\n    return x", "", "f()"),
    "default of a method": ("", "def rate(self, x=VALUE):\n        return x", "self.rate()"),
    "attribute": ("", "RATE = VALUE", "self.RATE"),
    "functions in an attribute": ("", "RATES = {'a': lambda: VALUE}", "self.RATES['a']()"),
    "list of functions": ("def f():\n    return VALUE\n\nL = [f]", "", "L[0]()"),
    "dictionary of functions": ("def f():\n    return VALUE\n\nD = {'f': f}", "", "D['f']()"),
    "list beside other things": ("L = [VALUE, object]", "", "L[0]"),
    "partial arguments": ("from functools import partial\nf = partial(max, VALUE)", "", "f(0)"),
    "partial function": ("from functools import partial\n\ndef g():\n    return VALUE\n\nf = partial(g)", "", "f()"),
    "object": ("class S:\n    pass\n\ns = S()\ns.rate = VALUE", "", "s.rate"),
    "method of an object": (
        "class S:\n    def f(self):\n        return self.r\n\ns = S()\ns.r = VALUE\nf = s.f",
        "",
        "f()",
    ),
    "namespace": ("from types import SimpleNamespace\ns = SimpleNamespace(rate=VALUE)", "", "s.rate"),
    "enumeration": ("from enum import Enum\n\nclass S(Enum):\n    RATE = VALUE", "", "S.RATE.value"),
    "cached property": (
        "from functools import cached_property\n\nclass S:\n    @cached_property\n    def rate(self):\n"
        "        return VALUE\n\ns = S()",
        "",
        "s.rate",
    ),
}


@pytest.mark.parametrize("way", TYPED_IN)
def test_what_is_typed_in_at_a_prompt_is_told_apart_however_it_comes_by_a_value(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "a_notebook", types.ModuleType("a_notebook"))  # which has no file

    def source(value: int, cell: int) -> str:
        before, field, use = (each.replace("VALUE", str(value)) for each in TYPED_IN[way])
        names: dict[str, Any] = {"__name__": "a_notebook"}
        exec(
            compile(
                BODY.replace("{before}", before).replace("{field}", field).replace("{use}", use), f"<{cell}>", "exec"
            ),
            names,
        )
        return foreign_source(names["Typed"])["source"]

    assert source(1, 1) == source(1, 2)
    assert source(1, 3) != source(2, 4)


@pytest.mark.parametrize("way", ["import helper\n", "from helper import option\n", "from parts import helper\n"])
def test_what_is_typed_in_at_a_prompt_is_told_apart_by_modules_that_it_imports_as_it_runs(
    way: str, own: Callable[..., Any]
) -> None:
    body = BODY.replace("{before}", "").replace("{field}", "").replace("return {use}", way)
    file = "parts.helper" if "parts" in way else "helper"
    seen = []
    for number in (1, 2):
        own(file, **{"parts.__init__": "", file: HOLDS.format(option=number)})
        names: dict[str, Any] = {"__name__": "a_notebook"}
        exec(compile(body, "<cell>", "exec"), names)
        seen.append(foreign_source(names["Typed"])["source"])
    assert seen[0] != seen[1]


OTHERS = """
import covbandit as cb
from helper import option


class Steady(cb.environments.Gaussian):
    def check(self, problem):
        option()


class Drawn(cb.ProblemDistribution):
    n_options, risk_aversion, max_weight, min_weight = 5, 0.1, None, None

    def to_dict(self):
        return {{}}

    def draw(self, seed, index):
        return cb.problems.synthetic(risk_aversion=0.1 + option())
"""


def test_environments_and_distributions_are_told_apart_likewise(own: Callable[..., Any]) -> None:
    seen = []
    for number in (0, 1):
        module = own("others", others=OTHERS.format(), helper=HOLDS.format(option=number))
        seen.append([foreign_source(kind)["source"] for kind in (module.Steady, module.Drawn)])
    assert all(before != after for before, after in zip(*seen, strict=True))


def test_results_told_apart_by_an_earlier_rule_are_not_taken_for_current(
    own: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused with a reason or computed again; those of our own learners stay."""
    code = PLAIN.format(imports="", inside="pass", option=1)
    learners = {"own": own("mine", mine=code).Stubborn(n_options=5), "ours": cb.LinearFI(n_options=5)}
    problem = cb.problems.synthetic()
    journals = {name: tmp_path / f"{name}.journal" for name in learners}
    with monkeypatch.context() as earlier:
        earlier.setattr(
            plan_module,
            "foreign_source",
            lambda kind: (
                {"defined_in": "mine.Stubborn", "source": "0123456789abcdef"} if kind.__module__ == "mine" else {}
            ),
        )
        old = {
            name: cb.simulate(problem, {name: learner}, 50, 2, journal=journals[name])
            for name, learner in learners.items()
        }
        task = Task("own", _plan(learners["own"]), 2)
        run_tasks([task], tmp_path / "results")
    with pytest.raises(InvalidInput, match=r"learners differs in own\.source.*choose another file"):
        cb.simulate(problem, {"own": learners["own"]}, 50, 2, journal=journals["own"])
    with pytest.raises(InvalidInput, match=r"learners differs in own\.source"):
        cb.simulate(problem, {"own": learners["own"]}, 50, 3, resume=old["own"])
    run_tasks([Task("own", _plan(learners["own"]), 2)], tmp_path / "results")
    assert len(list((tmp_path / "results").glob("own.*.npz"))) == 2
    again = cb.simulate(problem, {"ours": learners["ours"]}, 50, 2, journal=journals["ours"])
    assert np.array_equal(again.regret, old["ours"].regret)
