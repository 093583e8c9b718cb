"""Config reads: the absolute key behind an expression, and its new spelling in the same style."""

from __future__ import annotations

import pytest

from porttool.rewrite.python_keys import Keys
from tests.porttool.python_support import both_ways, forth, layout, unchanged

KEYS = layout(
    keys={
        "arctic_rl.use_zorro": "remote_backend.zorro_train.enable",
        "arctic_rl": "remote_backend",
        "trainer.deep.knob": "trainer.flat",
    }
)

STYLES = [
    ("config.arctic_rl.use_zorro", "config.remote_backend.zorro_train.enable"),
    ("config.arctic_rl.lr", "config.remote_backend.lr"),
    ("self.config.arctic_rl.use_zorro", "self.config.remote_backend.zorro_train.enable"),
    ("x.main_config.arctic_rl", "x.main_config.remote_backend"),
    ("cfg.arctic_rl", "cfg.remote_backend"),
    ("conf.arctic_rl.items()", "conf.remote_backend.items()"),
    ('cfg["arctic_rl"]["use_zorro"]', 'cfg["remote_backend"]["zorro_train"]["enable"]'),
    ("cfg['arctic_rl']['use_zorro']", "cfg['remote_backend']['zorro_train']['enable']"),
    ('cfg.arctic_rl["use_zorro"]', 'cfg.remote_backend["zorro_train"]["enable"]'),
    ('cfg["arctic_rl"].use_zorro', 'cfg["remote_backend"].zorro_train.enable'),
    ('cfg.arctic_rl.get("use_zorro", False)', 'cfg.remote_backend.zorro_train.get("enable", False)'),
    ('cfg["arctic_rl"].get("use_zorro")', 'cfg["remote_backend"].zorro_train.get("enable")'),
    ('cfg.get("arctic_rl", {}).get("use_zorro", d)', 'cfg.get("remote_backend", {}).zorro_train.get("enable", d)'),
    ('(cfg.get("arctic_rl") or {}).get("lr")', '(cfg.get("remote_backend") or {}).get("lr")'),
    ('cfg.a["arctic_rl"].get("c")', 'cfg.a["arctic_rl"].get("c")'),
    ('cfg.trainer["deep"].get("q")', 'cfg.trainer["deep"].get("q")'),
    ('OmegaConf.select(cfg, "arctic_rl.use_zorro")', 'OmegaConf.select(cfg, "remote_backend.zorro_train.enable")'),
    (
        'OmegaConf.select(cfg, key="arctic_rl.lr", default=1)',
        'OmegaConf.select(cfg, key="remote_backend.lr", default=1)',
    ),
    (
        'OmegaConf.update(cfg, "arctic_rl.use_zorro", True)',
        ('OmegaConf.update(cfg, "remote_backend.zorro_train.enable", True)'),
    ),
    ('OmegaConf.select(cfg.arctic_rl, "use_zorro")', 'OmegaConf.select(cfg.remote_backend, "zorro_train.enable")'),
    ('"arctic_rl" in cfg', '"remote_backend" in cfg'),
    ('"use_zorro" not in cfg.arctic_rl', '"enable" not in cfg.remote_backend.zorro_train'),
    ('hasattr(cfg, "arctic_rl")', 'hasattr(cfg, "remote_backend")'),
    ('getattr(cfg.arctic_rl, "use_zorro", None)', 'getattr(cfg.remote_backend.zorro_train, "enable", None)'),
    ('getattr(cfg, "arctic_rl").use_zorro', 'getattr(cfg, "remote_backend").zorro_train.enable'),
    ('setattr(cfg.arctic_rl, "lr", 1)', 'setattr(cfg.remote_backend, "lr", 1)'),
    (
        'OmegaConf.to_container(cfg.arctic_rl)["use_zorro"]',
        ('OmegaConf.to_container(cfg.remote_backend)["zorro_train"]["enable"]'),
    ),
    ("f(use_zorro=config.arctic_rl.use_zorro)", "f(use_zorro=config.remote_backend.zorro_train.enable)"),
    ('f"{config.arctic_rl.use_zorro}"', 'f"{config.remote_backend.zorro_train.enable}"'),
    ("config.arctic_rl.use_zorro = 1", "config.remote_backend.zorro_train.enable = 1"),
    ("config.trainer.flat_not", "config.trainer.flat_not"),
    ("config.actor_config.arctic_rl", "config.actor_config.remote_backend"),
    ("config.arctic_rl.arctic_rl", "config.remote_backend.arctic_rl"),
    ("config\\\n    .arctic_rl\\\n    .use_zorro", "config\\\n    .remote_backend.zorro_train\\\n    .enable"),
]


@pytest.mark.parametrize(("old", "new"), STYLES)
def test_a_read_keeps_its_style(old: str, new: str) -> None:
    """Each segment is written in the style of the one it replaces, and comes back."""
    both_ways(KEYS, old + "\n", new + "\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("config.trainer.deep.knob", "config.trainer.flat"),
        ('config.trainer["deep"].get("knob", 1)', 'config.trainer.get("flat", 1)'),
    ],
)
def test_a_key_can_get_shallower(old: str, new: str) -> None:
    """Segments that the new key has no more are taken out."""
    assert forth(KEYS, old.encode()) == (new.encode(), [])


def test_open_dict_reads_are_reads() -> None:
    """`with open_dict(cfg)` changes nothing about the reads inside, nor does its alias."""
    both_ways(
        KEYS,
        (
            "with open_dict(config):\n    config.arctic_rl.use_zorro = True\n"
            'with open_dict(config.arctic_rl) as a:\n    a["use_zorro"] = 1\n'
        ),
        (
            "with open_dict(config):\n    config.remote_backend.zorro_train.enable = True\n"
            "with open_dict(config.remote_backend) as a:\n"
            '    a["zorro_train"]["enable"] = 1\n'
        ),
    )


ALIASES = [
    ("arctic = config.arctic_rl\narctic.use_zorro\n", "arctic = config.remote_backend\narctic.zorro_train.enable\n"),
    (
        ("a: DictConfig = cfg.get('arctic_rl', {})\na.get('use_zorro')\n"),
        ("a: DictConfig = cfg.get('remote_backend', {})\na.zorro_train.get('enable')\n"),
    ),
    (
        "a = config.arctic_rl\nb = a\nb['use_zorro']\n",
        ("a = config.remote_backend\nb = a\nb['zorro_train']['enable']\n"),
    ),
    (
        "a = None\nif x:\n    a = config.arctic_rl\na.use_zorro\n",
        ("a = None\nif x:\n    a = config.remote_backend\na.zorro_train.enable\n"),
    ),
    (
        "a = config.arctic_rl if q else {}\na.use_zorro\n",
        ("a = config.remote_backend if q else {}\na.zorro_train.enable\n"),
    ),
    (
        "a = config.arctic_rl\ndef f():\n    return a.use_zorro\n",
        ("a = config.remote_backend\ndef f():\n    return a.zorro_train.enable\n"),
    ),
    (
        "if (a := config.get('arctic_rl')):\n    a.use_zorro\n",
        ("if (a := config.get('remote_backend')):\n    a.zorro_train.enable\n"),
    ),
    ("a = b = config.arctic_rl\na.use_zorro\n", "a = b = config.remote_backend\na.zorro_train.enable\n"),
    ("cfg = config.arctic_rl\ncfg.use_zorro\n", "cfg = config.remote_backend\ncfg.zorro_train.enable\n"),
    (
        ("def f(config):\n    config = config.arctic_rl\n    return config.use_zorro\n"),
        ("def f(config):\n    config = config.remote_backend\n    return config.zorro_train.enable\n"),
    ),
    (
        (
            "class W:\n    def __init__(self, config):\n        self.cfg = config.arctic_rl\n"
            "    def run(self):\n        return self.cfg.use_zorro\n"
        ),
        (
            "class W:\n    def __init__(self, config):\n"
            "        self.cfg = config.remote_backend\n    def run(self):\n"
            "        return self.cfg.zorro_train.enable\n"
        ),
    ),
    (
        (
            "class W:\n    def f(self):\n        self.a = None\n"
            "        self.a = self.config.arctic_rl\n        q = self.a\n"
            "        q['use_zorro']\nclass V:\n    def f(self): self.a.use_zorro\n"
        ),
        (
            "class W:\n    def f(self):\n        self.a = None\n"
            "        self.a = self.config.remote_backend\n        q = self.a\n"
            "        q['zorro_train']['enable']\nclass V:\n"
            "    def f(self): self.a.use_zorro\n"
        ),
    ),
]


@pytest.mark.parametrize(("old", "new"), ALIASES)
def test_a_read_through_an_alias_follows(old: str, new: str) -> None:
    """A variable or `self.` attribute that holds a sub-config stands for its key."""
    both_ways(KEYS, old, new)


def test_an_alias_that_is_assigned_anew_is_not_trusted() -> None:
    """Reads before the new assignment follow, those after it stay."""
    both_ways(
        KEYS,
        "a = config.arctic_rl\na.use_zorro\na = other()\na.use_zorro\n",
        "a = config.remote_backend\na.zorro_train.enable\na = other()\na.use_zorro\n",
    )


def test_an_alias_that_may_be_two_things_is_not_trusted() -> None:
    """Two branches, a loop that assigns later, or two assignments to `self.x` make an alias unknown."""
    both_ways(
        KEYS,
        "if x:\n    a = config.arctic_rl\nelse:\n    a = config.other\na.use_zorro\n",
        "if x:\n    a = config.remote_backend\nelse:\n    a = config.other\na.use_zorro\n",
    )
    both_ways(
        KEYS,
        "a = config.arctic_rl\nfor x in y:\n    a.use_zorro\n    a = f()\n",
        "a = config.remote_backend\nfor x in y:\n    a.use_zorro\n    a = f()\n",
    )
    both_ways(
        KEYS,
        (
            "class C:\n    def f(self):\n        self.a = config.arctic_rl\n"
            "    def g(self):\n        self.a = h()\n        self.a.use_zorro\n"
        ),
        (
            "class C:\n    def f(self):\n        self.a = config.remote_backend\n"
            "    def g(self):\n        self.a = h()\n        self.a.use_zorro\n"
        ),
    )


def test_an_alias_is_no_root() -> None:
    """A variable called `cfg` that holds a sub-config is not the root."""
    unchanged(KEYS, "cfg = config.trainer\ncfg.arctic_rl\n")


@pytest.mark.parametrize(
    "source",
    [
        "arctic.use_zorro\n",
        "x.arctic_rl\n",
        "reconfig.arctic_rl\n",
        "config.arctic_rl_x\n",
        "config.use_zorro\n",
        "arctic_rl = 1\nuse_zorro = arctic_rl\n",
        "@dataclass\nclass ArcticConfig:\n    use_zorro: bool = False\n    arctic_rl: int = 1\n",
        "f(arctic_rl=1, use_zorro=2)\n",
        'x["arctic_rl"]\n',
        'd = {"arctic_rl": {"use_zorro": 1}}\n',
        'config.arctic(arctic_rl)["x"]\n',
        'cfg[b"arctic_rl"]\ncfg["arctic" "_rl"]\ncfg[f"arctic_rl{x}"]\ncfg["arctic\\x5frl"]\n',
        'cfg[arctic_rl]\ncfg["arctic_rl":]\n',
    ],
)
def test_what_is_no_read_stays(source: str) -> None:
    """Same-named variables, fields, keywords, other objects and computed keys are not config reads."""
    unchanged(KEYS, source)


def test_a_key_out_of_reach_is_noted() -> None:
    """A key whose new place is not below the alias is left and named."""
    at = layout(keys={"a.b": "x.y"})
    got, notes = forth(at, b"r = config.a\nr.b.c\n")
    assert got == b"r = config.a\nr.b.c\n"
    assert [(note.kind, note.offset) for note in notes] == [("key-moved", 15)]


def test_a_flattened_key_keeps_reads_through_the_alias() -> None:
    """`remote_backend.arctic` folded into `remote_backend` drops a segment."""
    at = layout(keys={"remote_backend.arctic": "remote_backend"})
    assert forth(at, b"config.remote_backend.arctic.x\nrb = config.remote_backend\nrb.arctic.y\nrb.arctic\n")[0] == (
        b"config.remote_backend.x\nrb = config.remote_backend\nrb.y\nrb\n"
    )
    got, notes = forth(at, b'rb = config.remote_backend\nrb.get("arctic", {})\n')
    assert got == b'rb = config.remote_backend\nrb.get("arctic", {})\n'
    assert [note.kind for note in notes] == ["key-moved"]


def test_a_selected_key_changes_inside_its_string() -> None:
    """A dotted string gains and loses segments where it stands."""
    at = layout(keys={"a.b": "c", "d": "e.f"})
    both_ways(at, 'OmegaConf.select(cfg, "a.b.x")\n', 'OmegaConf.select(cfg, "c.x")\n')
    both_ways(at, 'OmegaConf.select(cfg, "d.x")\n', 'OmegaConf.select(cfg, "e.f.x")\n')


def test_aliases_that_read_each_other_end() -> None:
    """A circle of assignments is not followed for ever."""
    unchanged(KEYS, "a = b.c\nb = a.c\na = b\nb = a\na.arctic_rl\nb.use_zorro\n")


def test_a_long_chain_is_walked_once(monkeypatch):
    """Each link asks for the whole expression around it; what is known of one link serves the next."""
    asked = []
    enclosing = Keys.enclosing
    monkeypatch.setattr(Keys, "enclosing", lambda self, node: asked.append(node) or enclosing(self, node))
    chain = ".arctic_rl" * 200
    got, _ = forth(KEYS, f"cfg{chain}\n".encode())
    assert got == f"cfg.remote_backend{chain.removeprefix('.arctic_rl')}\n".encode()
    assert len(asked) <= 200
