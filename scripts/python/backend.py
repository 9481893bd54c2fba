"""PEP 517 and PEP 660 build backend: packs the files of this directory unchanged into a
wheel, without network access.

Nothing is compiled: the package finds the shared libraries when it is used (hexc/_find.py).
"""

from __future__ import annotations

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    return project


def _metadata(project: dict[str, Any]) -> str:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
    ]
    lines += [f"Requires-Dist: {need}" for need in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs]
    return "\n".join(lines) + "\n"


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _write(folder: str, files: dict[str, bytes]) -> str:
    """Writes a wheel with these files, by their paths in site-packages; returns its name."""
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    info = f"{stem}.dist-info"
    name = f"{stem}-py3-none-any.whl"
    files[f"{info}/METADATA"] = _metadata(project).encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: hexc\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{path},{_digest(data)},{len(data)}" for path, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    return name


def build_wheel(folder: str, settings: object = None, metadata: object = None) -> str:
    packages = [HERE / "hexc", HERE / "hexc_tune"]
    names = sorted(p for package in packages for p in [*package.glob("*.py"), package / "py.typed"])
    return _write(folder, {f"{p.parent.name}/{p.name}": p.read_bytes() for p in names})


def build_editable(folder: str, settings: object = None, metadata: object = None) -> str:
    return _write(folder, {"hexc.pth": f"{HERE}\n".encode()})
