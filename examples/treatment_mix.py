"""A treatment mix of which only the total is seen: two sites share one study through the HTTP service.

Three measures share a programme's time. Each participant gets a mix, and in the end there is one number, the change of
a score. The sites talk to a server; here it is started on a free port of this machine and stopped at the end.

    python treatment_mix.py [--store treatment.db] [--participants 300]

Every run adds as many participants to the study. All numbers are made up. covbandit is not a medical device: treatment
of people belongs to clinicians, and experiments with it to approved protocols.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import covbandit as cb

MEASURES = ["exercise", "diet", "sleep"]
# What nobody knows: diet has the best mean and by far the largest risk.
MEAN = np.array([2.0, 3.0, 1.5])
COVARIANCE = np.array([[16.0, 9.6, 2.4], [9.6, 64.0, 0.0], [2.4, 0.0, 9.0]])


@contextmanager
def serving(store: str) -> Iterator[str]:
    """Run the service on a free port of this machine; give its address."""
    command = [sys.executable, "-m", "covbandit.cli", "serve", "--port", "0", "--log-level", "error"]
    place = {**os.environ, "COVBANDIT_STORE": store}  # not in the command, where others would see a password
    with subprocess.Popen(command, env=place, stdout=subprocess.PIPE, text=True) as server:
        try:
            said = "".join(server.stdout.readline() for _ in range(2)).split()  # it says where as soon as it listens
            if not said:
                raise SystemExit("the service did not start; its last words are above")
            yield said[-1]
        finally:
            server.terminate()  # requests in flight finish


def total(participant: int, mix: dict[str, float]) -> float:
    """Return how a participant's score changed under a mix."""
    rewards = np.random.default_rng([3, participant]).multivariate_normal(MEAN, COVARIANCE)
    return round(float(rewards @ [mix[name] for name in MEASURES]), 3)


def opened(client: cb.Client):
    """Return the study, created the first time."""
    learner = cb.allocator(MEASURES, feedback="total", risk_aversion=0.1, seed=1)
    try:
        return client.create("treatment mix", MEASURES, learner, outcome="per_unit")
    except cb.errors.Conflict:
        return client.open("treatment mix")


def shown(weights: dict[str, float]) -> str:
    """Return weights in short."""
    return ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())


def main() -> None:
    """Let two sites ask and tell, then hear what another learner would advise."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--store", default="sqlite:///treatment.db", help="a URL or the path of a SQLite file")
    arguments.add_argument("--participants", type=int, default=300, help="how many more")
    given = arguments.parse_args()
    with serving(given.store) as address, cb.Client(address) as client:
        study = opened(client)
        print(f"{study.summary().told} participants so far")
        first, second = study.ask(client="north"), study.ask(client="south")
        assert study.ask(client="north") == first  # asked again, after a lost answer say: the same round
        print(f"north, round {first.id}: {shown(first.weights)}\nsouth, round {second.id}: {shown(second.weights)}")
        for _ in range(given.participants // 2):
            under_way = [study.ask(client=site) for site in ("north", "south")]
            for one in reversed(under_way):  # whoever finishes first is told first
                study.tell(one.id, total(one.id, one.weights))
        print(f"{study.summary().told} participants now\n\n{study.explain()}")

        fork = study.fork(cb.GradientTS(n_options=3, risk_aversion=1.0, seed=1))  # ten times as cautious
        print(f"\nfork with ρ = 1, told the same {fork.rounds_replayed} rounds: {shown(fork.weights)}\n{fork.note}")
        print(f"\nCheck: {study.verify().message}")


if __name__ == "__main__":
    main()
