"""Completion scripts for bash, zsh and fish. What a lookup returns is compared and quoted, never evaluated."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable

from porttool.completion import ASKED, CHOICES, FILES, FOLDERS, MANIFESTS, TEXT, Command, Grammar, Word, grouped

_GLOBAL = ("--help", "--version")

_BASH = r"""# bash completion for porttool: eval "$(porttool completion bash)"
# Words are compared here and not by `compgen -W`, which expands what it is given: a branch may be called $(...).

__porttool_offer() {
    local line
    while IFS= read -r line; do
        [[ $line == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$line")")
    done
}

__porttool_files() {
    local line
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$1" -- "$cur")
}

__porttool_manifests() {
    local file
    for file in manifests/*.yaml manifests/*.yml; do
        [[ -f $file && $file == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$file")")
    done
    ((${#COMPREPLY[@]})) || __porttool_files -f
}

__porttool_value() {
    local -a of=()
    case $1 in
        manifests) __porttool_manifests ;;
        files) __porttool_files -f ;;
        folders) __porttool_files -d ;;
        choices) __porttool_offer <<<"$2" ;;
        @ASKED@)
            [[ -n $manifest ]] && of=(--manifest "$manifest")
            __porttool_offer < <(porttool completion words "$1" "${of[@]}" 2>/dev/null)
            ;;
    esac
}

__porttool_verbs() { printf '%s\n' @VERBS@; }

__porttool_steps() {
    case $1 in
@STEPS@
    esac
}

__porttool_options() {
    case $1 in
@OPTIONS@
    esac
}

# kind and choices of an option's value; nothing for an option that takes none
__porttool_option_kind() {
    case $1 in
@OPTION_KINDS@
    esac
}

# kind and choices of the n-th word that is no option
__porttool_word_kind() {
    case $1 in
@WORD_KINDS@
    esac
}

_porttool() {
    local cur=${COMP_WORDS[COMP_CWORD]} command='' manifest='' waiting='' word kind
    local -i i n=0
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = ]]; then
            continue
        elif [[ -n $waiting ]]; then
            [[ $waiting == --manifest ]] && manifest=$word
            waiting=''
        elif [[ -z $command ]]; then
            command=$word
        elif [[ $word == -* ]]; then
            [[ -n $(__porttool_option_kind "$command:$word") ]] && waiting=$word
        elif [[ $command != *' '* && -n $(__porttool_steps "$command") ]]; then
            command+=" $word"
        else
            kind=$(__porttool_word_kind "$command:$n")
            [[ ${kind%%$'\n'*} == manifests ]] && manifest=$word
            n+=1
        fi
    done
    [[ $cur == = ]] && cur=''
    if [[ -n $waiting ]]; then
        kind=$(__porttool_option_kind "$command:$waiting")
    elif [[ -z $command ]]; then
        __porttool_offer < <(__porttool_verbs)
        return
    elif [[ $cur == -* ]]; then
        __porttool_offer < <(__porttool_options "$command")
        return
    elif [[ $command != *' '* && -n $(__porttool_steps "$command") ]]; then
        __porttool_offer < <(__porttool_steps "$command")
        return
    else
        kind=$(__porttool_word_kind "$command:$n")
    fi
    __porttool_value "${kind%%$'\n'*}" "${kind#*$'\n'}"
}

complete -F _porttool porttool
"""


def bash(found: Grammar) -> str:
    """The script for bash."""
    steps = [_case(verb, names) for verb, names in found.steps.items()]
    options = [_case(command.key, _spelled(command)) for command in found.commands]
    kinds = [_case(places, (kind, *choices)) for kind, choices, places in grouped(found.commands)]
    words = [
        _case(f"{command.key}:{'*' if word.many else at}", (word.kind, *word.choices), glob=word.many)
        for command in found.commands
        for at, word in enumerate(command.positionals)
    ]
    return _filled(
        _BASH, ASKED="|".join(ASKED), VERBS=" ".join((*found.verbs, *_GLOBAL)), STEPS=steps, OPTIONS=options,
        OPTION_KINDS=kinds, WORD_KINDS=words,
    )  # fmt: skip


def _case(pattern: str | list[str], lines: Iterable[str], *, glob: bool = False) -> str:
    patterns = [pattern] if isinstance(pattern, str) else pattern
    quoted = [shlex.quote(text[:-1]) + "*" if glob else shlex.quote(text) for text in patterns]
    return f"        {'|'.join(quoted)}) printf '%s\\n' {' '.join(map(shlex.quote, lines))} ;;"


def _spelled(command: Command) -> list[str]:
    return [name for option in command.options for name in option.names if name.startswith("--")]


_ZSH = r"""#compdef porttool
# zsh completion for porttool: put it into a folder of $fpath as _porttool.

__porttool_manifests() {
    local -a found=(manifests/*.y(a|)ml(N.))
    if (( $#found )); then compadd -f -a found; else _files; fi
}

__porttool_asked() {
    local kind=$1 word last
    local -a found of
    for word in $words; do
        [[ $word == *.(yaml|yml) || $last == --manifest ]] && of=(--manifest ${(Q)word})
        last=$word
    done
    found=(${(f)"$(command porttool completion words $kind $of 2>/dev/null)"})
    (( $#found )) && compadd -a found
}

_porttool() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -C '(- *)--help[show the verbs]' '(- *)--version[show the version]' '1:verb:->verb' '*::word:->word'
    case $state in
        verb)
            local -a verbs=(
@VERBS@
            )
            _describe verb verbs
            ;;
        word)
            case $line[1] in
@COMMANDS@
            esac
            ;;
    esac
}

if [[ $funcstack[1] == _porttool ]]; then _porttool "$@"; else compdef _porttool porttool; fi
"""

_ZSH_STEPS = r"""                @VERB@)
                    _arguments -C '1:step:->step' '*::word:->below'
                    case $state in
                        step)
                            local -a steps=(
@STEPS@
                            )
                            _describe step steps
                            ;;
                        below)
                            case $line[1] in
@COMMANDS@
                            esac
                            ;;
                    esac
                    ;;"""


def zsh(found: Grammar) -> str:
    """The script for zsh."""
    by_key = {command.key: command for command in found.commands}
    blocks = []
    for verb in found.verbs:
        if verb not in found.steps:
            blocks.append(_zsh_command(16, verb, by_key[verb]))
            continue
        steps = found.steps[verb]
        below = [_zsh_command(32, step, by_key[f"{verb} {step}"]) for step in steps]
        blocks.append(_filled(_ZSH_STEPS, VERB=verb, STEPS=_zsh_menu(32, steps.items()), COMMANDS=below))
    return _filled(_ZSH, VERBS=_zsh_menu(16, found.verbs.items()), COMMANDS=blocks)


def _zsh_menu(indent: int, items: Iterable[tuple[str, str]]) -> list[str]:
    return [" " * indent + shlex.quote(f"{name}:{told}") for name, told in items]


def _zsh_command(indent: int, name: str, command: Command) -> str:
    margin = " " * indent
    specs = [spec for option in command.options for spec in _zsh_option(option)]
    for word in command.positionals:
        specs.append(f"{'*' if word.many else ''}:{_zsh_told(word.label)}:{_zsh_action(word)}")
    lines = [f"{margin}{name})", f"{margin}    _arguments \\"]
    lines += [f"{margin}        {shlex.quote(spec)} \\" for spec in specs]
    return "\n".join(lines).removesuffix(" \\") + f"\n{margin}    ;;"


def _zsh_option(option: Word) -> list[str]:
    told = f"[{_zsh_told(option.told)}]"
    if not option.kind:
        return [f"{name}{told}" for name in option.names]
    value = f":{_zsh_told(option.label)}:{_zsh_action(option)}"
    return [f"{name}{'=' if name.startswith('--') else ''}{told}{value}" for name in option.names]


def _zsh_action(word: Word) -> str:
    # Behind a space, so that _arguments puts no words of its own before ours.
    if word.kind == CHOICES:
        return f"({' '.join(word.choices)})"
    if word.kind in ASKED:
        return f" __porttool_asked {word.kind}"
    return {MANIFESTS: " __porttool_manifests", FILES: "_files", FOLDERS: "_files -/", TEXT: " "}[word.kind]


def _zsh_told(text: str) -> str:
    return "".join("\\" + mark if mark in "[]:\\" else mark for mark in text)


_FISH = r"""# fish completion for porttool: put it into ~/.config/fish/completions/porttool.fish
complete -c porttool -f

set -g __porttool_valued @VALUED@

# The verb typed so far, with its step where it has steps; with -n N only for the N-th word after it that is no option
function __porttool_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l nth ''
    if test "$argv[1]" = -n
        set nth $argv[2]
        set -e argv[1 2]
    end
    set -l found
    set -l count 0
    set -l waiting 0
    for word in $words
        if test $waiting -eq 1
            set waiting 0
        else if string match -q -- '-*' $word
            contains -- "$found:$word" $__porttool_valued; and set waiting 1
        else if test (count $found) -eq 0
            set -a found $word
        else if test (count $found) -eq 1; and contains -- $found[1] @STEPPED@
            set -a found $word
        else
            set count (math $count + 1)
        end
    end
    test "$found" = "$argv"; and test -z "$nth" -o "$nth" = $count
end

function __porttool_manifests
    set -l typed (commandline -ct)
    set -l found
    for file in manifests/*.yaml manifests/*.yml
        test (string sub -l (string length -- "$typed") -- $file) = "$typed"; and set -a found $file
    end
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path $typed
    end
end

function __porttool_words
    set -l of
    set -l last
    for word in (commandline -opc)
        if string match -qr -- '\.ya?ml$' $word; or test "$last" = --manifest
            set of --manifest $word
        end
        set last $word
    end
    command porttool completion words $argv $of 2>/dev/null
end

"""


def fish(found: Grammar) -> str:
    """The script for fish."""
    lines = [_fish_line("", ("-l", name.removeprefix("--")), f"show the {told}")
             for name, told in (("--help", "verbs"), ("--version", "version"))]  # fmt: skip
    lines += [_fish_line("", ("-a", verb), told) for verb, told in found.verbs.items()]
    for verb, steps in found.steps.items():
        lines += [_fish_line(verb, ("-a", step), told) for step, told in steps.items()]
    for command in found.commands:
        lines += ["", *(_fish_line(command.key, _fish_option(option), option.told) for option in command.options)]
        for at, word in enumerate(command.positionals):
            here = command.key if word.many else f"-n {at} {command.key}"
            lines += [_fish_line(here, given, word.label)] if (given := _fish_value(word)) else []
    valued = [_fish_quoted(place) for _, _, places in grouped(found.commands) for place in places]
    filled = _filled(_FISH, STEPPED=" ".join(found.steps), VALUED=" ".join(valued))
    return filled + "\n".join(lines) + "\n"


def _fish_line(at: str, given: tuple[str, ...], told: str) -> str:
    here = f"__porttool_at {at}".rstrip()
    return " ".join(["complete -c porttool -n", _fish_quoted(here), *given, "-d", _fish_quoted(told)])


def _fish_option(option: Word) -> tuple[str, ...]:
    names = [part for name in option.names for part in
             (("-l", name[2:]) if name.startswith("--") else ("-s", name[1:]))]  # fmt: skip
    if not option.kind:
        return tuple(names)
    return (*names, "-r" if option.kind == FILES else "-x", *_fish_value(option))


def _fish_value(word: Word) -> tuple[str, ...]:
    match word.kind:
        case "choices":
            return ("-a", _fish_quoted(" ".join(word.choices)))
        case "manifests":
            return ("-a", _fish_quoted("(__porttool_manifests)"))
        case "files":
            return ("-F",)
        case "folders":
            return ("-a", _fish_quoted("(__fish_complete_directories)"))
        case "text":
            return ()
        case kind:
            return ("-a", _fish_quoted(f"(__porttool_words {kind})"))


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _filled(template: str, **parts: str | list[str]) -> str:
    """A template with each `@NAME@` replaced: a list stands for whole lines."""

    def part(found: re.Match[str]) -> str:
        given = parts[found[1]]
        return given if isinstance(given, str) else "\n".join(given)

    return re.sub(r"@([A-Z_]+)@", part, template)


SCRIPTS: dict[str, Callable[[Grammar], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
