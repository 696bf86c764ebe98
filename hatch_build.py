"""What the package says of itself where it is published; and a simulator that is compiled.

    PEERLOCK_URL=https://forge.example/peerlock python -m build

A package index shows the README away from the files beside it.  So a release is built with
the address of the repository: links and pictures of the README are made absolute, at the
tag of the version, and the usual addresses are named.  Without it the README is left as it
is, and no address is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilderConfig
from hatchling.metadata.plugin.interface import MetadataHookInterface

# What every event of a run passes through.
COMPILED = [
    f"peerlock/simulator/{name}.py"
    for name in ("arrivals", "judge", "load", "network", "simulation", "statistics")
]

LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\((?![a-z]+:|#)([^)]+)\)")


class PublishedMetadata(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        url = os.environ.get("PEERLOCK_URL", "").rstrip("/")
        metadata["urls"] = addresses(url, metadata["version"]) if url else {}
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, url, metadata["version"]) if url else text,
        }


def addresses(url: str, version: str) -> dict[str, str]:
    return {
        "Source": url,
        "Documentation": f"{url}/tree/v{version}/docs",
        "Changelog": f"{url}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{url}/issues",
    }


def absolute(text: str, url: str, version: str) -> str:
    """With links to files as the usual forges have them; pictures as they are."""

    def replaced(link: re.Match[str]) -> str:
        picture, words, path = link.groups()
        kind = "raw" if picture else "blob"
        inner = LINK.sub(replaced, words)
        return f"{picture}[{inner}]({url}/{kind}/v{version}/{path})"

    return LINK.sub(replaced, text)


class CompiledSimulator(BuildHookInterface[WheelBuilderConfig]):
    """For one machine: the same simulator, compiled, if the build is asked for it.

        HATCH_BUILD_HOOK_ENABLE_CUSTOM=true python -m build --wheel

    The files stay in the wheel as they are beside what is made of them.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            raise ValueError("only a wheel can have the simulator compiled")
        self.folder = Path(tempfile.mkdtemp())
        shutil.copytree(Path(self.root, "src"), self.folder, dirs_exist_ok=True)
        command = [sys.executable, "-m", "mypyc", *COMPILED]
        subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, check=True)
        ending = f"*{sysconfig.get_config_var('EXT_SUFFIX')}"
        folders = (self.folder, self.folder / "peerlock" / "simulator")
        for path in [path for folder in folders for path in folder.glob(ending)]:
            build_data["force_include"][str(path)] = str(path.relative_to(self.folder))
        build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(
        self, version: str, build_data: dict[str, Any], artifact_path: str
    ) -> None:
        shutil.rmtree(self.folder)
