"""What the displays of meters showed over an episode, recomputed from the recorded samples as the audit does."""

from __future__ import annotations

import math
from collections.abc import Sequence

from labference.records.reader import Run
from labference.tasks import find_task
from labference.truth.contract import ContractError, ports_of, read_ports
from labference.truth.draw import lay_out
from labference.truth.identity import Seeds
from labference.truth.measurement import OK, QUANTITIES, STATUSES, Block


def displays(run: Run, blocks: Sequence[Block]) -> dict[str, list[tuple[float, float]]]:
    """Return time [s] and value of every new display by "meter quantity"; NaN where it showed no number or the tip was
    in no liquid.

    Meters that never showed a number are left out, and all of them where the task file is not here any more.
    """
    timestep, meters = run.channels.timestep, run.channels.meters
    try:
        contract = find_task(run.run["task"])
    except ContractError:
        return {}
    setup = lay_out(contract, contract.restore(run.run["instance"]), Seeds(**run.run["identity"]["seeds"]))
    ports = ports_of(contract.parts(), timestep, setup)
    shown: dict[str, list[tuple[float, float]]] = {f"{meter} {name}": [] for meter in meters for name in QUANTITIES}
    for block in blocks:
        for meter, dipped in zip(meters, read_ports(ports, block), strict=True):
            for tick, values in zip(dipped.ticks, dipped.values, strict=True):
                for name, entry in zip(QUANTITIES, values, strict=True):
                    valid = entry.value if entry.value is not None and entry.status == STATUSES[OK] else math.nan
                    shown[f"{meter} {name}"].append((tick * timestep, valid))
            if not dipped.ticks and block.tick >= 0:
                for name in QUANTITIES:
                    shown[f"{meter} {name}"].append((block.tick * timestep, math.nan))
    return {name: found for name, found in shown.items() if not all(math.isnan(value) for _, value in found)}
