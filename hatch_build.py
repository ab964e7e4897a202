"""Build hook: compile the kernels if there is a C++ compiler, and carry on without them if there is none."""

from __future__ import annotations

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path("src/powerkmeans/compute/native")


class KernelBuildHook(BuildHookInterface):
    """Adds the compiled libraries to wheels, and to the source tree of editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, or say why not."""
        if self.target_name != "wheel":
            return
        build = runpy.run_path(str(Path(self.root) / KERNELS / "build.py"))
        reason = build["compile_libraries"](build["FOLDER"])
        if reason is not None:
            self.app.display_warning(f"powerkmeans is installed without compiled kernels: {reason}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform_tag()}"
        build_data["artifacts"].append(str(KERNELS / "cpp" / "*.so"))


def _platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
