"""What each command is called and takes. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import click

from powerkmeans.cli.commands.fitting import choose_k, explain, fit, predict
from powerkmeans.cli.commands.other import bandwidth, bench, demo, evaluate, info

COMMANDS: list[click.Command] = [fit, predict, explain, evaluate, choose_k, bandwidth, bench, demo, info]
