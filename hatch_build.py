"""Build hooks: compile the kernels if there is a C++ compiler, and make the README fit for an index page."""

from __future__ import annotations

import os
import platform
import re
import runpy
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

KERNELS = Path("src/powerkmeans/compute/native")

# where the repository can be read in a browser, such as https://host/owner/powerkmeans
ADDRESS = "POWERKMEANS_URL"
PAGES = {
    "Homepage": "",
    "Documentation": "/blob/main/docs/index.md",
    "Changelog": "/blob/main/CHANGELOG.md",
    "Issues": "/issues",
}

# [text](place) and ![picture](place), where the place is a file of the project
_PICTURE = re.compile(r"!\[([^\]]*)\]\((?![a-z]+:)([^)]*)\)(\n*)")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:)([^)]*)\)")


class KernelBuildHook(BuildHookInterface):
    """Puts the compiled libraries into wheels, and into the source tree of editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, or say why not."""
        build = runpy.run_path(str(Path(self.root) / KERNELS / "build.py"))
        self.made = tempfile.TemporaryDirectory()
        folder = build["FOLDER"] if version == "editable" else Path(self.made.name)
        reason = build["compile_libraries"](folder)
        if reason is not None:
            self.app.display_warning(f"powerkmeans is installed without compiled kernels: {reason}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(sysconfig.get_platform())}"
        if version != "editable":
            build_data["force_include"] |= placed(folder)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Forget what the wheel has now."""
        self.made.cleanup()


class ReadmeHook(MetadataHookInterface):
    """The README as the long description, and the addresses of the project where its own is known."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set what ``dynamic`` in pyproject.toml promises."""
        text, address = (Path(self.root) / "README.md").read_text(encoding="utf-8"), public_address()
        metadata["readme"] = {"content-type": "text/markdown", "text": index_page(text, address)}
        metadata["urls"] = {name: address + page for name, page in PAGES.items()} if address else {}


def placed(folder: Path) -> dict[str, str]:
    """Where in a wheel each library of a folder goes."""
    inside = KERNELS.relative_to("src") / "cpp"
    return {str(library): str(inside / library.name) for library in sorted(folder.glob("*.so"))}


def platform_tag(name: str) -> str:
    """The platform of a wheel from Python's name for it; a library is for one processor, never for two."""
    return re.sub(r"[-.]", "_", name.replace("universal2", platform.machine()))


def public_address() -> str:
    """Where the project is to be found, as whoever builds it says; empty if nobody does."""
    address = os.environ.get(ADDRESS, "").strip().rstrip("/")
    if address and not re.fullmatch(r"https://[^\s/]+(/[^\s?#\\]*)?", address):
        raise ValueError(
            f"{ADDRESS} is {address!r}; it has to be an address such as https://host/owner/powerkmeans"
        )
    return address


def index_page(readme: str, address: str = "") -> str:
    """The README with links and pictures at an address; without one as plain text, and without its pictures."""
    if not address:
        return _LINK.sub(r"\1", _PICTURE.sub("", readme))
    pictured = _PICTURE.sub(rf"![\1]({address}/raw/main/\2)\3", readme)
    whole = pictured.replace("](#", "](README.md#")  # a place on the page itself
    return _LINK.sub(rf"[\1]({address}/blob/main/\2)", whole)
