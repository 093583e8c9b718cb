"""Train on made-up data: `python train.py [key=value ...]`."""

import sys
from pathlib import Path

from learner.settings import read
from learner.training import Learner


def main(words):
    config = read(Path(__file__).parent / "config/train.yaml", words)
    trainer = Learner(config)
    for told in trainer.fit():
        print("  ".join(f"{name} {value:.6f}" for name, value in told.items()))
    print(f"accuracy {trainer.accuracy():.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
