"""Lighter visual meshes of the robot: a tenth of the faces, crisp edges, made once and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from .engine import mujoco

KEEP = 0.10
"""Share of faces that stays; at 5 % the hand falls apart."""
FEWEST = 60
"""Faces below which a mesh is left as it is."""
CREASE = 35.0
"""Edges sharper than this keep separate normals [degrees]."""


def lighten(robot: Any) -> None:
    """Replace the visual meshes of the spec `robot` by lighter ones, merged per body and material."""
    folder = Path(robot.modelfiledir) / robot.meshdir
    files = {mesh.name or Path(mesh.file).stem: folder / mesh.file for mesh in robot.meshes}
    shown = [
        (body, geom)
        for body in robot.bodies
        for geom in body.geoms
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH and geom.classname.name == "visual"
    ]
    light = _light_meshes({geom.meshname: files[geom.meshname] for _, geom in shown})
    groups: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
    for body, geom in shown:
        groups.setdefault((body.name, geom.material), []).append((body, geom))
    for (body_name, material), members in groups.items():
        name = f"{body_name}_{material}"
        vertices, faces = _merge([light[geom.meshname] for _, geom in members])
        shell = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        robot.add_mesh(name=name, uservert=vertices.ravel(), userface=faces.ravel(), inertia=shell)
        members[0][0].add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, material=material, contype=0, conaffinity=0, group=2, mass=0
        )
        for _, geom in members:
            robot.delete(geom)
    used = {geom.meshname for geom in robot.geoms if geom.type == mujoco.mjtGeom.mjGEOM_MESH}
    for mesh in list(robot.meshes):
        if (mesh.name or Path(mesh.file).stem) not in used:
            robot.delete(mesh)


def _light_meshes(files: dict[str, Path]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return (vertices, faces) per mesh name, from the cache when the same files were lightened before."""
    digest = hashlib.sha256(repr((KEEP, FEWEST, CREASE)).encode())
    for name in sorted(files):
        digest.update(name.encode() + files[name].read_bytes())
    cached = user_cache_path("labference") / f"panda-{digest.hexdigest()[:16]}.npz"
    if not cached.is_file():
        _write({name: _lighten_file(path) for name, path in sorted(files.items())}, cached)
    with np.load(cached) as arrays:
        return {name: (arrays[f"{name}.v"], arrays[f"{name}.f"]) for name in files}


def _write(meshes: dict[str, tuple[np.ndarray, np.ndarray]], path: Path) -> None:
    """Write in one stroke, so that two processes may race."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, suffix=".npz")
    with os.fdopen(handle, "wb") as stream:
        arrays = {
            f"{name}.{part}": array for name, mesh in meshes.items() for part, array in zip("vf", mesh, strict=True)
        }
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    os.replace(partial, path)


def _lighten_file(path: Path) -> tuple[np.ndarray, np.ndarray]:
    import fast_simplification  # slow to import, and needed once per machine
    import trimesh

    mesh = trimesh.load(path, process=False, force="mesh")
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    vertices, faces = np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces, np.int32)
    target = max(FEWEST, int(KEEP * len(faces)))
    if len(faces) > target:
        vertices, faces = fast_simplification.simplify(vertices, faces, target_count=target)
    crisp = trimesh.graph.smooth_shade(trimesh.Trimesh(vertices, faces, process=False), angle=np.radians(CREASE))
    return np.asarray(crisp.vertices, np.float64), np.asarray(crisp.faces, np.int32)


def _merge(meshes: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.cumsum([0] + [len(vertices) for vertices, _ in meshes])
    faces = [faces + start for (_, faces), start in zip(meshes, starts, strict=False)]
    return np.concatenate([vertices for vertices, _ in meshes]), np.concatenate(faces)
