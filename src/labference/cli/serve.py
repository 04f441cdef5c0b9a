"""`labference serve`: a local policy behind a wire."""

from __future__ import annotations

from typing import Annotated

import typer

from labference.policies import BUILT_IN

from .common import Profile, one_sentence


def serve(
    policy: Annotated[str, typer.Argument(help=f"{', '.join(BUILT_IN)}, or module:Class.")],
    over: Annotated[str, typer.Option(help="http, openpi or vla-eval.")] = "http",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 takes a free one.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    profile: Profile = "",
) -> None:
    """Serve a local policy over a wire until Ctrl-C; prints the address to give to --policy once it listens."""
    with one_sentence():
        from functools import partial

        from labference.policies import find_policy, make_policy
        from labference.serving import find_server
        from labference.truth.identity import PlanError
        from labference.wire import Refusal

        find_policy(policy)
        listen = find_server(over)
        try:
            listen(partial(make_policy, policy), host, port, profile, lambda address: print(address, flush=True))
        except KeyboardInterrupt:
            return
        except Refusal as refusal:
            raise PlanError(str(refusal)) from refusal
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise PlanError(f"Cannot listen at {host}:{port} ({why}); --port 0 takes a free one.") from error
