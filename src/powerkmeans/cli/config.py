"""Options from a TOML file: keys are the options, the command line wins."""

from __future__ import annotations

import tomllib
from typing import Any

import click

from powerkmeans.cli.errors import listed, near, usage


def load_config(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Make the file's values the defaults of the command that runs."""
    if path is None:
        return
    try:
        with open(path, "rb") as stream:
            content = tomllib.load(stream)
    except OSError as error:
        raise usage(f"The config file {path!r} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise usage(f"The config file {path!r} is not TOML: {error}.") from error
    context.default_map = {**(context.default_map or {}), **_defaults(context, content, path)}


def _defaults(context: click.Context, content: dict[str, Any], path: str) -> dict[str, Any]:
    """Values for this command: of its own table, and of the top where it has such an option."""
    commands = _commands(context)
    everywhere = {key: value for key, value in content.items() if key not in commands}
    known = {key for command in commands.values() for key in keys_of(command)}
    _check(everywhere, known, path, "")
    for name, values in content.items():
        if name in commands:
            if not isinstance(values, dict):
                raise usage(f"{path}: {name!r} is a command; its options go into a table [{name}].")
            _check(values, set(keys_of(commands[name])), path, f"[{name}] ")
    keys = keys_of(context.command)
    section = content.get(context.info_name or "", {})
    chosen = {**{key: value for key, value in everywhere.items() if key in keys}, **section}
    return {keys[key]: _as_option(key, value, path) for key, value in chosen.items()}


def _commands(context: click.Context) -> dict[str, click.Command]:
    group = context.parent.command if context.parent is not None else None
    return dict(group.commands) if isinstance(group, click.Group) else {}


def keys_of(command: click.Command) -> dict[str, str]:
    """The keys of a command's options: their names without dashes in front, and arguments'."""
    keys: dict[str, str] = {}
    for parameter in command.params:
        if parameter.name is None or parameter.name in ("config", "help"):
            continue
        for name in (parameter.name, *parameter.opts):
            plain = name.lstrip("-")
            keys |= dict.fromkeys((plain, plain.replace("-", "_")), parameter.name)
    return keys


def _check(values: dict[str, Any], known: set[str], path: str, where: str) -> None:
    unknown = [key for key in values if key not in known]
    if unknown:
        hint = near(unknown[0], sorted(known)) if len(unknown) == 1 else "."
        raise usage(
            f"{path}: {where}unknown {'key' if len(unknown) == 1 else 'keys'} {listed(unknown)}{hint or '.'}"
        )


def _as_option(key: str, value: Any, path: str) -> Any:
    """A value as an option takes it: a table of views or parameters becomes ``name=value`` texts."""
    if isinstance(value, dict):
        return [f"{name}={_joined(item)}" for name, item in value.items()]
    if isinstance(value, list):
        if any(isinstance(item, (dict, list)) for item in value):
            raise usage(f"{path}: {key!r} must be a list of plain values.")
        return [str(item) for item in value]
    return value


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
