"""The training loop."""

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_

from learner.batches import batches, points
from learner.network import Network


class Learner:
    """A model and what trains it; `fit` gives the numbers of each step."""

    def __init__(self, config):
        torch.manual_seed(config["seed"])
        self.config = config
        self.net = Network(config)
        self.steps = 0
        self.optimizer = torch.optim.SGD(
            self.net.parameters(),
            lr=config["optimizer"]["lr"],
            momentum=config["optimizer"]["momentum"],
        )

    def fit(self):
        """Train; yields loss, score, grad_norm and lr of each step."""
        for features, labels in batches(self.config):
            yield self.step(features, labels)

    def step(self, features, labels):
        """One step on one batch."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.optimizer.zero_grad()
        norm = clip_grad_norm_(self.net.parameters(), self.config["optimizer"]["clip"])
        logits = self.net(features)
        loss = cross_entropy(logits, labels)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        score = (logits.argmax(dim=1) == labels).float().mean()
        return {
            "loss": loss.item(),
            "score": score.item(),
            "grad_norm": norm.item(),
            "lr": self.optimizer.param_groups[0]["lr"],
        }

    def rate(self):
        """The learning rate of the step that comes."""
        optim = self.config["optimizer"]
        return optim["lr"] * min(1.0, self.steps / optim["schedule"]["warmup"])

    def accuracy(self):
        """The share of points it has not seen that it puts on the right side."""
        features, labels = points(self.config, self.config["seed"] + 1)
        with torch.no_grad():
            return (self.net(features).argmax(dim=1) == labels).float().mean().item()
