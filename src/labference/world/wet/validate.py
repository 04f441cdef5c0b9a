"""Compare the chemistry with measured properties and print the table: python -m labference.world.wet.validate."""

from __future__ import annotations

from collections.abc import Iterator

from .chemistry import equilibrium
from .references import READ, UNITS, Reference, references


def table() -> Iterator[str]:
    """Yield the lines of a Markdown table: what should be seen, what is computed, and who says so."""
    rows = references()
    sources = list(dict.fromkeys(row.source for row in rows))
    yield "| at 25 °C unless said otherwise | | reference | computed | error | within | source |"
    yield "|---|---|--:|--:|--:|--:|---|"
    for row in rows:
        yield _line(row, sources.index(row.source) + 1)
    yield ""
    yield from (f"{number}. {source}." for number, source in enumerate(sources, 1))


def _line(row: Reference, source: int) -> str:
    found = READ[row.quantity](equilibrium(row.solution))
    if row.quantity == "pH":
        numbers = f"{row.value:.3f} | {found:.3f} | {row.error():+.3f} | {row.tolerance:.2f}"
    else:
        unit = UNITS[row.quantity]
        numbers = (
            f"{row.value:.4g} {unit} | {found:.4g} {unit} | {row.error() * 100:+.2f} % | {row.tolerance * 100:.3g} %"
        )
    return f"| {row.what} | {row.quantity} | {numbers} | {source}, {row.origin} |"


if __name__ == "__main__":
    print("\n".join(table()))
