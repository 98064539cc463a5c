"""Every learner proposes, on one fixed history, the weights that it has always proposed.

A change of any constant or formula of a learner shows here. Where the change is meant, print the new weights by
``python tests/test_golden_weights.py`` and say in the change why they moved.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.learners import learner_classes

D, ROUNDS = 5, 400
SHOWN = (20, 100, 250, 400)
MAKERS: dict[str, Any] = {
    "FixedWeights": lambda: cb.FixedWeights(weights=[0.4, 0.3, 0.1, 0.1, 0.1]),
    "GradientTS": lambda: cb.GradientTS(n_options=D, risk_aversion=2.0, seed=11),
    "GradientTS, forced": lambda: cb.GradientTS(n_options=D, risk_aversion=2.0, seed=12, forced=1.0),
    "GradientTS, curvature as estimated": lambda: cb.GradientTS(n_options=D, risk_aversion=2.0, curvature_sampling=0.0),
    "LinearFB": lambda: cb.LinearFB(n_options=D),
    "LinearFI": lambda: cb.LinearFI(n_options=D),
    "MCEmpirical": lambda: cb.MCEmpirical(n_options=D, risk_aversion=2.0),
    "MCEmpirical, half-life": lambda: cb.MCEmpirical(n_options=D, risk_aversion=2.0, half_life=60),
    "MCETE": lambda: cb.MCETE(n_options=D, risk_aversion=2.0),
    "MCUCB": lambda: cb.MCUCB(n_options=D, risk_aversion=2.0, min_weight=0.15, radius_scale=(0.1, 0.1)),
    "MCUCBGamma": lambda: cb.MCUCBGamma(n_options=D, risk_aversion=2.0, min_weight=0.15, radius_scale=(0.1, 0.1)),
    "OGD": lambda: cb.OGD(n_options=D, risk_aversion=2.0),
    "OGD, plug-in": lambda: cb.OGD(n_options=D, risk_aversion=2.0, gradient="plugin"),
    "OGDETE": lambda: cb.OGDETE(n_options=D, risk_aversion=2.0),
    "OLSUCBC": lambda: cb.OLSUCBC(n_options=D, min_weight=0.15, radius_scale=(0.1, 0.1)),
    "PairUCB": lambda: cb.PairUCB(n_options=D, risk_aversion=2.0, min_weight=0.15),
    "ShrunkEmpirical": lambda: cb.ShrunkEmpirical(n_options=D, risk_aversion=2.0),
}


def history() -> np.ndarray:
    """Return rewards made of whole numbers alone, so that they are the same on every machine and for ever.

    Sums of twelve uniform numbers, nearly Gaussian, by a linear congruential generator; three common factors.
    """
    state, rows = 20_261_118, []
    for _ in range(ROUNDS):
        row = []
        for _ in range(D + 3):
            total = 0
            for _ in range(12):
                state = (6_364_136_223_846_793_005 * state + 1_442_695_040_888_963_407) % 2**64
                total += state >> 44
            row.append(total / 2**20 - 6)
        rows.append(row)
    z = np.array(rows)
    loadings = np.array([[3, 1, 0, 2, -1], [0, 2, 1, -1, 3], [1, 0, 2, 2, 1]]) / 8
    scale, mean = np.array([2, 3, 4, 3, 5]) / 8, np.array([10, 14, 12, 8, 18]) / 64
    rewards = np.empty((ROUNDS, D))
    for i in range(D):  # written out: a matrix product may add in another order elsewhere
        common = sum(z[:, D + k] * loadings[k, i] for k in range(3))
        rewards[:, i] = mean[i] + scale[i] * (z[:, i] / 2 + common)
    return rewards


def played(learner: cb.Learner) -> np.ndarray:
    """Return what a learner proposed in each round."""
    asked = []
    for reward in history():
        weights = learner.ask()
        asked.append(weights)
        if learner.feedback == "total":
            learner.tell(weights, sum(float(w) * float(y) for w, y in zip(weights, reward, strict=True)))
        else:
            learner.tell(weights, reward if learner.feedback == "all" else np.where(weights > 0, reward, np.nan))
    return np.array(asked)


def is_pull(weights: np.ndarray) -> np.ndarray:
    """Tell which rounds were an option alone, or two half and half."""
    most, second = np.sort(weights, axis=1)[:, :-3:-1].T
    return np.asarray((most == 1.0) | ((most == 0.5) & (second == 0.5)))


TOLERANCE = {"MCUCB": 1e-6, "MCUCBGamma": 1e-6}
"""Of those whose index is maximised by a search: it stops where nothing is to be gained, 1e-8 from the best weights."""

GOLDEN: dict[str, list[list[float]]] = {
    "FixedWeights": [
        [0.4, 0.3, 0.1, 0.1, 0.1],
        [0.4, 0.3, 0.1, 0.1, 0.1],
        [0.4, 0.3, 0.1, 0.1, 0.1],
        [0.4, 0.3, 0.1, 0.1, 0.1],
    ],
    "GradientTS": [
        [0.15, 0.15, 0.15, 0.15, 0.4],
        [0.0, 0.110731869269849, 0.19436882881455, 0.455627136271197, 0.239272165644404],
        [0.143452181586233, 0.299857965627832, 0.233007507796649, 0.134389558481997, 0.189292786507288],
        [0.382483820874732, 0.0175254066440129, 0.271388875044802, 0.166740387703699, 0.161861509732755],
    ],
    "GradientTS, forced": [
        [0.15, 0.15, 0.15, 0.15, 0.4],
        [0.331902872549472, 0.105719503456895, 0.260909275286288, 0.0, 0.301468348707346],
        [0.234946849216497, 0.0675825881725926, 0.352174578547364, 0.175916747938116, 0.16937923612543],
        [0.0, 0.0, 0.0, 1.0, 0.0],
    ],
    "GradientTS, curvature as estimated": [
        [0.15, 0.15, 0.15, 0.15, 0.4],
        [0.444655833405953, 0.195126357659, 0.0, 0.0, 0.360217808935047],
        [0.407800579886927, 0.217748320892198, 0.0, 0.0, 0.374451099220875],
        [0.317090742550248, 0.44832439997639, 0.0, 0.0, 0.234584857473362],
    ],
    "LinearFB": [
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.5, 0.0, 0.5, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ],
    "LinearFI": [
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ],
    "MCEmpirical": [
        [0.74408702535446, 0.0, 0.16290193369579, 0.0, 0.0930110409497498],
        [0.367646649947074, 0.368516415736165, 0.0908321374238958, 0.0, 0.173004796892866],
        [0.305538716074555, 0.471769951397116, 0.0613194341851903, 0.0, 0.161371898343138],
        [0.28090944651352, 0.4586598503061, 0.0988300994053654, 0.0, 0.161600603775014],
    ],
    "MCEmpirical, half-life": [
        [0.718669935877271, 0.0, 0.18220477601963, 0.0, 0.099125288103099],
        [0.336881861294058, 0.404458842706679, 0.0556444167682543, 0.0, 0.203014879231008],
        [0.247190845749834, 0.562936457909589, 0.0, 0.0, 0.189872696340576],
        [0.205379148899867, 0.414526331030835, 0.1703448887589, 0.0, 0.209749631310398],
    ],
    "MCETE": [
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.5, 0.0, 0.5, 0.0],
        [0.0671177931094297, 0.474368290243658, 0.130163425858903, 0.0, 0.32835049078801],
        [0.281719772963933, 0.120532169030624, 0.247934759715863, 0.0, 0.34981329828958],
    ],
    "MCUCB": [
        [0.0, 0.0, 0.5, 0.5, 0.0],
        [0.182810800691937, 0.317632636822717, 0.15, 0.15, 0.199556562485346],
        [0.15, 0.394498845353372, 0.15, 0.15, 0.155501154646628],
        [0.15, 0.394643119680589, 0.15, 0.15, 0.155356880319411],
    ],
    "MCUCBGamma": [
        [0.0, 0.0, 0.5, 0.5, 0.0],
        [0.251480694582982, 0.367966278998602, 0.0, 0.15153073806687, 0.229022288351547],
        [0.15, 0.4, 0.15, 0.15, 0.15],
        [0.234280763132758, 0.461181951439022, 0.150856020162909, 0.0, 0.153681265265312],
    ],
    "OGD": [
        [0.211934083965672, 0.226624730668146, 0.38118086471184, 0.00213340948553364, 0.178126911168808],
        [0.218749390615252, 0.449741110687526, 0.0, 0.0, 0.331509498697222],
        [0.186076885447758, 0.549857968895396, 0.00416919802682392, 0.00449368605288725, 0.255402261577134],
        [0.0964684146399589, 0.416901481748972, 0.193315539793708, 0.0, 0.293314563817361],
    ],
    "OGD, plug-in": [
        [0.59878786334899, 0.027288605371364, 0.16371339257138, 0.141929085923246, 0.0682810527850202],
        [0.4824713000879, 0.198353684173603, 0.144254963420668, 0.0, 0.17492005231783],
        [0.364821733857949, 0.389726475615948, 0.0936225696485087, 0.0, 0.151829220877594],
        [0.322805888205994, 0.450978395586465, 0.0725910673081032, 0.0008701383692582, 0.152754510530179],
    ],
    "OGDETE": [
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.5, 0.0, 0.5, 0.0],
        [0.348260234986661, 0.0949030507645297, 0.181262166758488, 0.0, 0.375574547490322],
        [0.346030886997748, 0.0640177132756311, 0.229536888903219, 0.0, 0.360414510823402],
    ],
    "OLSUCBC": [
        [0.0, 0.0, 0.5, 0.5, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
    ],
    "PairUCB": [
        [0.15, 0.233496232369334, 0.222234049738018, 0.243124078734787, 0.151145639157862],
        [0.262423959435323, 0.415902008347741, 0.15, 0.0, 0.171674032216936],
        [0.217930913765871, 0.467024382048995, 0.15, 0.0, 0.165044704185134],
        [0.15, 0.385238762445968, 0.15, 0.15, 0.164761237554032],
    ],
    "ShrunkEmpirical": [
        [0.573270033232041, 0.196272660121349, 0.178151317189285, 0.035075228884977, 0.0172307605723484],
        [0.391346994026473, 0.343458076572611, 0.112822473075655, 0.0, 0.152372456325261],
        [0.315765416675257, 0.456174016718057, 0.0710928517093513, 0.0, 0.156967714897335],
        [0.289727217606424, 0.446603994625501, 0.10438350036648, 0.0014229911664437, 0.157862296235151],
    ],
}
"""At the rounds of `SHOWN`."""
PULLS: dict[str, list[int]] = {
    "GradientTS": [365],
    "GradientTS, forced": [68, 71, 149, 158, 168, 234, 295, 339, 361, 385, 392, 400],
    "GradientTS, curvature as estimated": [258, 361],
}
"""Rounds in which a pull was forced."""


def test_no_learner_is_left_out() -> None:
    assert {type(make()).__name__ for make in MAKERS.values()} == set(learner_classes())
    assert set(GOLDEN) == set(MAKERS)


def test_the_history_is_the_same_everywhere() -> None:
    rewards = history()
    assert rewards[0].tolist() == [
        0.2434961199760437,
        0.21986231207847595,
        -0.30131101608276367,
        0.14532828330993652,
        0.2289348542690277,
    ]
    assert rewards[-1].tolist() == [
        0.1847965121269226,
        0.3340425193309784,
        -0.2979774475097656,
        0.009416818618774414,
        0.37064996361732483,
    ]


@pytest.mark.parametrize("name", list(MAKERS))
def test_weights_are_what_they_always_were(name: str) -> None:
    asked = played(MAKERS[name]())
    for t, expected in zip(SHOWN, GOLDEN[name], strict=True):
        assert np.abs(asked[t - 1] - expected).max() <= TOLERANCE.get(name, 1e-9), (t, asked[t - 1].tolist())
    if name.startswith("GradientTS"):
        assert (np.flatnonzero(is_pull(asked)) + 1).tolist() == PULLS[name]


def test_forced_pulls_are_among_them() -> None:
    assert all(len(rounds) >= 1 for rounds in PULLS.values())
    assert len(PULLS["GradientTS, forced"]) >= 3


if __name__ == "__main__":
    golden = {name: played(make()) for name, make in MAKERS.items()}
    for name, weights in golden.items():
        print(json.dumps(name), [[float(f"{w:.15g}") for w in weights[t - 1]] for t in SHOWN], sep=": ", end=",\n")
    print({name: (np.flatnonzero(is_pull(w)) + 1).tolist() for name, w in golden.items() if name.startswith("Grad")})
    print(history()[[0, -1]].tolist())
