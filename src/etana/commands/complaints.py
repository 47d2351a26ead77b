"""What goes wrong in a command, or looks odd, as a line on standard error and an exit code."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator

import typer

from etana.commands.interrupts import heard_interrupts
from etana.errors import CostWarning, EtanaError, TableWarning

__all__ = ["INTERRUPTED", "complain", "one_line_errors", "one_line_warnings", "warn"]

_BAD_INPUT, INTERRUPTED = 3, 130
_EXTRAS = {
    "serve": ("fastapi", "uvicorn", "pydantic", "jinja2", "starlette", "python_multipart", "multipart", "h11"),
    "plot": ("matplotlib",),
    "dask": ("dask", "distributed"),
    "skops": ("skops",),
}


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors that name their cure become one line and an exit code; so does an interrupt, even one that is lost."""
    try:
        with heard_interrupts():
            yield
    except EtanaError as error:
        complain(str(error), _BAD_INPUT)
    except ImportError as error:
        if error.name and error.name.startswith("etana"):
            raise
        complain(_cure(error), _BAD_INPUT)
    except KeyboardInterrupt:
        complain("interrupted; nothing was written", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        raise typer.Exit(0) from None
    except OSError as error:
        complain(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), _BAD_INPUT)


@contextlib.contextmanager
def one_line_warnings() -> Iterator[None]:
    """What etana finds odd in a table or in prices becomes a line on standard error, each once."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object) -> None:
        if str(message) not in said:
            said.add(str(message))
            warn(str(message))

    with warnings.catch_warnings():
        for kind in (TableWarning, CostWarning):
            warnings.simplefilter("always", kind)
        # scikit-learn's word on labels that look like measurements; ours names the column and the cure.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def warn(message: str) -> None:
    """Say what looks odd, and go on."""
    typer.echo(f"etana: warning: {' '.join(message.split())}", err=True)


def _cure(error: ImportError) -> str:
    """What to install for a package that is missing; an error that says it itself is left as it is."""
    package = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in _EXTRAS.items() if package in packages), None)
    if extra is None or not isinstance(error, ModuleNotFoundError):
        return str(error)
    return f"{package} is not installed; install the extra {extra!r}: pip install 'etana[{extra}]'"


def complain(message: str, code: int) -> None:
    """Say what is wrong, and leave."""
    typer.echo(f"etana: {' '.join(message.split())}", err=True)
    raise typer.Exit(code) from None
