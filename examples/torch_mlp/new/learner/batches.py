"""Made-up data: points in a space, and on which side of a bent surface they are."""

import torch


def batches(config):
    """Every (features, labels) of the training, in order: the same for the same seed."""
    size = config["data"]["batch_size"]
    features, labels = points(config, config["seed"])
    for number in range(config["steps"]):
        rows = torch.arange(number * size, (number + 1) * size) % len(features)
        yield features[rows], labels[rows]


def points(config, seed):
    """Features and labels of `data.rows` points."""
    source = torch.Generator().manual_seed(seed)
    features = torch.randn(config["data"]["rows"], config["data"]["features"], generator=source)
    return features, (features[:, 0] * features[:, 1] + features[:, 2] > 0).long()
