"""Read the profile of a remote robot policy from TOML, or take one that comes with the package."""

from __future__ import annotations

import hashlib
import tomllib
from importlib.resources import files
from pathlib import Path

from .fields import Fields, ProfileError
from .images import Resize, Turn
from .profile import (
    CHARACTERS_PER_TOKEN,
    SOURCES,
    Action,
    Chunk,
    Gripper,
    Meaning,
    Number,
    OutOfRange,
    Owner,
    Profile,
    Prompt,
    Resample,
    Says,
    Stale,
    View,
)


def built_in() -> tuple[str, ...]:
    """Return the names of the profiles that come with the package."""
    return tuple(sorted(entry.name[:-5] for entry in files(__package__).joinpath("profiles").iterdir()))


def find_profile(name: str) -> Profile:
    """Return the built-in profile called `name`, or the one in the file of that path; raises `ProfileError`."""
    return parse(profile_bytes(name), name)


def profile_bytes(name: str) -> bytes:
    """Return the TOML of the built-in profile called `name`, or of the file of that path; raises `ProfileError`."""
    if name in built_in():
        return files(__package__).joinpath("profiles", f"{name}.toml").read_bytes()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ProfileError(
            f"No profile {name!r}; the path of a TOML file would work, or one of {', '.join(built_in())}."
        ) from error


def parse(text: bytes, source: str) -> Profile:
    """Return the profile that TOML `text` holds; `source` names it in sentences."""
    try:
        table = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{source} is not TOML: {error}.") from error
    fields = Fields(source, table, "")
    action = _action(fields.table("action"))
    profile = Profile(
        name=fields.text("name"),
        version=fields.text("version", "1"),
        sha256=hashlib.sha256(text).hexdigest(),
        views=tuple(_view(name, entry) for name, entry in fields.tables("cameras")),
        state=_state(fields.table("state")),
        number=fields.choice("number", Number, "float64"),
        vocabulary=fields.text("vocabulary", ""),
        prompt=_prompt(fields.table("prompt")),
        action=action,
        gripper=_gripper(fields.table("gripper")),
        chunk=_chunk(fields.table("chunk")),
        says=_says(fields.table("says")),
        deadline_s=fields.positive("deadline_s", 60.0),
        start_m=fields.positive("start_m", 0.05),
        start_rad=fields.positive("start_rad", 0.5),
    )
    fields.done()
    _check(profile, source)
    return profile


def _check(profile: Profile, source: str) -> None:
    """Refuse what no field is wrong with on its own."""
    keys = [profile.prompt.key, profile.vocabulary, *(key for key, _ in profile.state)]
    for view in profile.views:
        keys += [view.key, view.depth, view.intrinsics, view.pose]
        if view.intrinsics and (view.size is not None or view.turn != "none"):
            raise ProfileError(
                f"{source}: the intrinsics of camera {view.camera!r} belong to its own size, unturned; leave out its "
                "size and turn, or its intrinsics."
            )
    used = [key for key in keys if key]
    if twice := sorted({key for key in used if used.count(key) > 1}):
        raise ProfileError(f"{source}: the key {twice[0]!r} is used twice; each needs its own.")
    if profile.chunk.owner == "server" and profile.chunk.execute != 1:
        raise ProfileError(
            f"{source}: chunk.execute is {profile.chunk.execute}; a server that owns the chunk hands out 1 action."
        )
    if profile.chunk.execute > profile.action.spec.longest_chunk:
        longest = profile.action.spec.longest_chunk
        raise ProfileError(f"{source}: chunk.execute is {profile.chunk.execute}; 1 to {longest} would work.")
    _check_rate(profile, source)


def _check_rate(profile: Profile, source: str) -> None:
    """Refuse another rate than ours unless it is declared how commands get from one to the other, without remainder."""
    action, ours = profile.action, profile.action.spec.rate_hz
    if action.rate_hz == ours:
        return
    if action.resample == "refuse":
        raise ProfileError(
            f"{source}: action.rate_hz is {action.rate_hz:g} Hz and the laboratory takes {ours:g} Hz; "
            'action.resample = "linear" would interpolate joint targets.'
        )
    if action.meaning == "end_effector_delta":
        raise ProfileError(
            f"{source}: end-effector deltas at {action.rate_hz:g} Hz cannot be resampled; {ours:g} Hz would work."
        )
    rows = profile.chunk.execute * ours / action.rate_hz
    if abs(rows - round(rows)) > 1e-9 or round(rows) > action.spec.longest_chunk:
        fitting = [
            count
            for count in range(1, 200)
            if abs(count * ours / action.rate_hz - round(count * ours / action.rate_hz)) < 1e-9
            and round(count * ours / action.rate_hz) <= action.spec.longest_chunk
        ]
        near = sorted(sorted(fitting, key=lambda count: abs(count - profile.chunk.execute))[:2])
        would = " or ".join(map(str, near)) or "another rate"
        raise ProfileError(
            f"{source}: {profile.chunk.execute} actions at {action.rate_hz:g} Hz are {rows:.4g} commands at {ours:g} "
            f"Hz; chunk.execute = {would} would work."
        )


def _view(camera: str, fields: Fields) -> View:
    view = View(
        camera,
        fields.text("key"),
        fields.size("size"),
        fields.choice("resize", Resize, "pad"),
        fields.choice("turn", Turn, "none"),
        fields.flag("optional", False),
        fields.text("depth", ""),
        fields.text("intrinsics", ""),
        fields.text("pose", ""),
    )
    fields.done()
    return view


def _state(fields: Fields) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = []
    for key in fields.names():
        sources = fields.words(key)
        if strange := [source for source in sources if source not in SOURCES]:
            raise ProfileError(f"{fields.at(key)} names {strange[0]!r}; {', '.join(SOURCES)} would work.")
        found.append((key, sources))
    return tuple(found)


def _prompt(fields: Fields) -> Prompt:
    prompt = Prompt(
        fields.text("key", ""),
        fields.text("text", ""),
        fields.count("max_tokens", None),
        fields.count("reserved_tokens", 0) or 0,
        fields.positive("characters_per_token", CHARACTERS_PER_TOKEN),
    )
    fields.done()
    return prompt


def _action(fields: Fields) -> Action:
    meaning: Meaning = fields.choice("meaning", Meaning, "joint_position")
    lengths: dict[Meaning, int] = {"joint_position": 1, "joint_velocity": 1, "end_effector_delta": 2}
    action = Action(
        fields.text("key", "actions"),
        meaning,
        fields.numbers("scale", lengths[meaning], (1.0,) * lengths[meaning]),
        fields.positive("rate_hz"),
        fields.choice("resample", Resample, "refuse"),
        fields.limit("limit"),
        fields.choice("out_of_range", OutOfRange, "refuse"),
    )
    fields.done()
    return action


def _gripper(fields: Fields) -> Gripper:
    gripper = Gripper(
        fields.number("open"),
        fields.number("closed"),
        fields.flag("binary", False),
        fields.flag("starts_closed", False),
    )
    if gripper.open == gripper.closed:
        raise ProfileError(f"{fields.at('open')} is {gripper.open:g} and so is closed; two values would work.")
    fields.done()
    return gripper


def _says(fields: Fields) -> Says:
    says = Says(fields.text("operation", ""), fields.text("look", ""), fields.text("stop", ""))
    fields.done()
    return says


def _chunk(fields: Fields) -> Chunk:
    owner: Owner = fields.choice("owner", Owner, "client")
    execute = fields.count("execute", 1 if owner == "server" else 50)
    chunk = Chunk(owner, execute or 1, fields.choice("stale", Stale, "refuse"))
    fields.done()
    return chunk
