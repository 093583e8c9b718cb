"""The scan of a server's sources: which keys it finds read, in which dict, and on which condition."""

from __future__ import annotations

from textwrap import dedent

import pytest

from parity.consumers_guards import Guard
from parity.consumers_static import Entry, scan
from porttool.errors import EnvironmentFault

ENTRY = Entry("fwd", "pkg/server.py", "", "serve", (("request", "request"), ("job", "job")))


@pytest.fixture
def scanned(tmp_path):
    """Scan a package given as text by file name; its entry is `serve(request, job)`."""

    def run(**files):
        folder = tmp_path / "pkg"
        folder.mkdir(exist_ok=True)
        made = []
        for name, text in files.items():
            file = folder / f"{name}.py"
            file.write_text(dedent(text))
            made.append(file)
        return scan(tmp_path, made, [ENTRY])

    return run


def told(found, how=None):
    """`dict.key` of each read with its conditions."""
    return {
        f"{read.dict}.{read.key}": [f"{guard}" for guard in read.guards]
        for read in found.reads
        if how is None or read.how == how
    }


@pytest.mark.parametrize(
    ("line", "how", "default"),
    [
        ("meta['k']", "index", ""),
        ("meta.get('k')", "get", "None"),
        ("meta.get('k', 4)", "get", "4"),
        ("x = meta.pop('k', None)", "pop", "None"),
        ("meta.pop('k', None)", "drop", "None"),
        ("meta.setdefault('k', {'a': 1})", "setdefault", "{'a': 1}"),
        ("'k' in meta", "in", ""),
    ],
)
def test_ways_to_read(scanned, line, how, default):
    """Each way to ask a dict for a key is a read with its default; a popped value that is thrown away is dropped."""
    found = scanned(server=f"def serve(request, job):\n    meta = request['meta']\n    {line}\n")
    assert [(read.dict, read.key, read.how, read.default, read.line) for read in found.reads] == [
        ("meta", "k", how, default, 3)
    ]


@pytest.mark.parametrize(
    "body",
    [
        "m = dict(request['meta'] or {})\nm['k']",
        "m = {**request['meta'], 'x': 1}\nm['k']",
        "m = {a: b for a, b in request['meta'].items()}\nm['k']",
        "m = request['meta'].copy()\nm['k']",
        "_, m = split(request)\nm['k']",
        "[m['k'] for m in chop(request['meta'])]",
        "for n, m in enumerate(chop(request['meta'])):\n    m['k']",
        "{name: request['meta'][name] for name in ['k']}",
        "inner(values=request['meta'])",
        "Config(request['meta'])",
        "w = Config({})\nw.later.remote(request['meta'])",
        "held = []\nheld.append(dict(meta=request['meta']))\nheld[0]['meta']['k']",
    ],
)
def test_ways_of_a_dict(scanned, body):
    """A dict is followed through copies, parts of tuples, loops, calls, classes and remote calls."""
    lines = [f"    {line}" for line in body.splitlines()]
    found = scanned(
        server="\n".join(["def serve(request, job):", *lines]),
        other="""
        def split(request):
            return request['batch'], request['meta']
        def chop(d):
            return [{k: v for k, v in d.items()} for _ in range(2)]
        def inner(values):
            return values['k']
        class Config:
            def __init__(self, told):
                self.k = told.get('k')
            def later(self, told):
                return self.k, told['k']
        """,
    )
    assert ("meta", "k") in {(read.dict, read.key) for read in found.reads}


def test_dicts_below_have_names_of_their_own(scanned):
    """A dict inside a job is known by its key, one inside meta by both names."""
    found = scanned(
        server="""
        def serve(request, job):
            opt = (job.get('training_config') or {}).get('optimizer', {})
            opt.get('lr', 1e-5)
            request['meta'].get('actor_config', {})['clip']
        """
    )
    assert {"job.training_config", "training_config.optimizer", "training_config.optimizer.lr"} <= set(told(found))
    assert {"meta.actor_config", "meta.actor_config.clip"} <= set(told(found))


@pytest.mark.parametrize(
    ("body", "guards"),
    [
        ("if meta.get('on', False):\n    meta['k']", ["meta.on"]),
        ("if not meta.get('on'):\n    meta['k']", ["not meta.on"]),
        ("if meta.get('on'):\n    pass\nelse:\n    meta['k']", ["not meta.on"]),
        ("on = meta.get('on', False)\nif on and meta['n'] > 0:\n    meta['k']", ["meta.on and meta.n > 0"]),
        ("if meta.get('mode', 'a') == 'b':\n    meta['k']", ["meta.mode is 'b'"]),
        ("if meta.get('mode') != 'b':\n    meta['k']", ["meta.mode is not 'b'"]),
        ("if meta.get('x') is not None:\n    meta['k']", ["meta.x is sent"]),
        ("if 'x' in meta:\n    meta['k']", ["meta.x is sent"]),
        ("if not meta.get('on'):\n    return\nmeta['k']", ["meta.on"]),
        ("pack = True\nif meta.get('on'):\n    pack = False\nif pack:\n    meta['k']", ["not meta.on"]),
        ("if helper(meta):\n    meta['k']", []),
        ("try:\n    meta['k']\nexcept KeyError:\n    pass", []),
        ("if meta.get('on'):\n    inner(meta)", ["meta.on"]),
        ("self = 1\nif meta.get('on') or unknown():\n    meta['k']", []),
    ],
)
def test_conditions(scanned, body, guards):
    """A read carries the conditions on sent keys that lead to it; what cannot be judged is left open."""
    lines = [f"    {line}" for line in ["meta = request['meta']", *body.splitlines()]]
    other = "def inner(values):\n    return values['k']\n"
    found = scanned(server="\n".join(["def serve(request, job):", *lines]), other=other)
    assert told(found)["meta.k"] == guards


def test_switches_in_the_code_and_in_the_environment(scanned):
    """A branch that a literal closes is never met, nor one behind an environment variable; both are named."""
    found = scanned(
        server="""
        import os
        def serve(request, job):
            meta = request['meta']
            DEBUG = False
            if DEBUG:
                meta['a']
                inner(meta)
            if os.environ.get('TRACE'):
                inner(meta)
        def inner(meta):
            meta['b']
        """
    )
    assert told(found) == {
        "meta.a": ["DEBUG is on, which it is not"],
        "meta.b": ["$TRACE is on, which it is not"],
    }


def test_a_parameter_with_a_literal(scanned):
    """What a caller fixes decides on the branches of the function."""
    found = scanned(
        server="""
        def serve(request, job):
            run(request['meta'], pack=False)
        def run(meta, pack=True):
            if pack:
                return deeper(meta)
            meta['k']
        def deeper(meta):
            meta['never']
        """
    )
    assert told(found) == {"meta.k": []}


def test_a_model_of_fields(scanned):
    """A class without an __init__ of its own takes the keys as attributes, and is a dict again when dumped."""
    found = scanned(
        server="""
        class Config(BaseModel):
            name: str
        def serve(request, job):
            config = Config(**job)
            if config.fast:
                config.name
            config.model_dump()['kind']
            config.model_dump().values
        """
    )
    assert told(found) == {"job.fast": [], "job.name": ["job.fast"], "job.kind": []}


def test_functions_that_the_request_names(scanned):
    """A function registered by name runs where the request asks for it."""
    found = scanned(
        server="""
        LOSSES, POSTS = {}, {}
        def register(name):
            def inner(fn):
                LOSSES[name] = fn
                return fn
            return inner
        def register_post(name):
            def inner(fn):
                POSTS[name] = fn
                return fn
            return inner
        def find(registry, name):
            return registry[name]
        LOSSES = {}
        @register('grpo')
        def one(meta):
            meta['one']
        @register_post('temperature')
        def two(meta):
            meta['two']
        def serve(request, job):
            processing, meta = request['processing'], request['meta']
            for name in processing.get('post', []):
                fn = find(POSTS, name)
                fn(meta)
            loss = processing.get('loss_fn', 'grpo')
            if loss is not None:
                fn = find(LOSSES, loss)
                fn(meta)
        """
    )
    assert told(found)["meta.two"] == ["'temperature' is in processing.post"]
    assert told(found)["meta.one"] == ["processing.loss_fn is sent", "processing.loss_fn is 'grpo'"]
    default = next(read.guards[1] for read in found.reads if read.key == "one")
    assert default == Guard("equals", ("processing", "loss_fn"), "grpo", "grpo")


def test_shelved(scanned):
    """A key that only goes into an attribute nobody reads is told apart from one that is used."""
    found = scanned(
        server="""
        class Policy:
            def __init__(self, told):
                self.used = told['used']
                self.dusty = told['dusty']
        def serve(request, job):
            policy = Policy(request['meta'])
            return policy.used
        """
    )
    assert found.shelved == (("meta", "dusty", "Policy.dusty"),)


def test_writes_and_whole_dicts(scanned):
    """What the server writes itself is known, who gets a dict as a whole, and which loops go over all keys."""
    found = scanned(
        server="""
        import deepspeed
        def serve(request, job):
            meta, config = request['meta'], job['ds_config']
            meta['a'] = 1
            meta.update(b=2, **dict(c=3))
            deepspeed.initialize(config=config)
            for key in meta:
                meta[key] + 1
        """
    )
    assert {(read.dict, read.key) for read in found.writes} == {("meta", "a"), ("meta", "b"), ("meta", "c")}
    assert ("ds_config", "deepspeed.initialize") in found.handed
    assert found.loops == {"pkg/server.py:serve:9"}


def test_what_is_printed_is_not_read(scanned):
    """A key in an f-string for a log is no reader."""
    found = scanned(server="def serve(request, job):\n    print(f\"{request['meta']['k']}\")\n")
    assert found.reads == ()


def test_an_entry_that_is_not_there(scanned):
    """Another version of the server is said to be one, not scanned as if nothing were read."""
    with pytest.raises(EnvironmentFault, match=r"has no \.serve"):
        scanned(server="def other():\n    pass\n")


def test_recursion_ends(scanned):
    """A function that calls itself is scanned once."""
    found = scanned(
        server="""
        def serve(request, job):
            meta = request['meta']
            meta['k']
            return serve(request, job)
        """
    )
    assert told(found) == {"meta.k": []}
