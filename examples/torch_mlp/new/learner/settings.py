"""The config: a YAML file and words that change it."""

import yaml


def read(file, words=()):
    """The keys of a YAML file, some of them set anew by `a.b=value`."""
    config = yaml.safe_load(file.read_text())
    for word in words:
        place, _, value = word.partition("=")
        *above, last = place.split(".")
        section = config
        for name in above:
            section = section[name]
        if last not in section:
            raise KeyError(f"the config has no {place}")
        section[last] = yaml.safe_load(value)
    return config
