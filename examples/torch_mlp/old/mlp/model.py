"""The model."""

from torch import nn


class Net(nn.Module):
    """A perceptron with `model.layers` hidden layers."""

    def __init__(self, config):
        super().__init__()
        width = config["model"]["hidden"]
        sizes = [config["data"]["features"]] + [width] * config["model"]["layers"]
        self.body = nn.ModuleList(nn.Linear(size, width) for size in sizes[:-1])
        self.head = nn.Linear(width, 2)

    def forward(self, features):
        for layer in self.body:
            features = layer(features).relu()
        return self.head(features)
