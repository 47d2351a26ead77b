"""The command line. Heavy imports stay inside the commands, so that help appears at once.

Exit codes: 0 done; 1 a fault of etana; 2 a wrong option; 3 data, costs or a model file that cannot be used;
130 interrupted. Errors are one line on standard error. Output files appear whole or not at all.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from etana.acquisition import Model

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Classification that asks for one feature at a time and stops when the next would cost more than it saves.",
    epilog="Exit codes: 0 done, 2 wrong option, 3 data or model file that cannot be used, 130 interrupted.",
)

_BAD_INPUT, _INTERRUPTED = 3, 130

DataFile = Annotated[str, typer.Argument(help="CSV or Parquet file with a header; - for CSV on standard input.")]
ModelFile = Annotated[str, typer.Argument(help="Model file made by 'etana fit'.")]
Output = Annotated[str, typer.Option("-o", "--output", help="File to write.")]


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    """Errors that name their cure become one line and an exit code."""
    from etana.errors import EtanaError

    try:
        yield
    except EtanaError as error:
        _complain(str(error), _BAD_INPUT)
    except ImportError as error:
        if error.name and error.name.startswith("etana"):
            raise
        _complain(str(error), _BAD_INPUT)
    except KeyboardInterrupt:
        _complain("interrupted; nothing was written", _INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        raise typer.Exit(0) from None
    except OSError as error:
        _complain(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), _BAD_INPUT)


def _complain(message: str, code: int) -> None:
    typer.echo(f"etana: {' '.join(message.split())}", err=True)
    raise typer.Exit(code) from None


def _stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True)


@app.callback()
def main() -> None:
    """Classify with only the features that pay."""


@app.command()
def demo(
    cost: Annotated[float, typer.Option(help="Price of one feature; a mistake costs 1.", min=0.0)] = 0.01,
    seed: Annotated[int, typer.Option(help="Seed of the split into training and test rows.", min=0)] = 0,
) -> None:
    """Fit on data bundled with scikit-learn, and show what is saved."""
    from etana.screens import show_demo

    with _one_line_errors():
        show_demo(cost, seed)


@app.command()
def fit(
    data: DataFile,
    target: Annotated[str, typer.Option(help="Column with the class labels.")],
    output: Output = "model.etana",
    costs: Annotated[
        str,
        typer.Option(help="Price of every feature, or a CSV file with columns feature, cost [, group, discounted]."),
    ] = "0.01",
    mistakes: Annotated[
        str | None,
        typer.Option(help="CSV file with the cost of mistakes: a row per true class, a column per decided class."),
    ] = None,
    bins: Annotated[str, typer.Option(help="auto, or the (largest) number of bins.")] = "auto",
    binning: Annotated[str, typer.Option(help="supervised, quantile, uniform or published.")] = "supervised",
    ordering: Annotated[str, typer.Option(help="error, variance or information.")] = "error",
    priors: Annotated[str, typer.Option(help="empirical or uniform.")] = "empirical",
    solver: Annotated[str, typer.Option(help="auto, exact, points, grid, or thresholds (F-ETANA).")] = "auto",
    missing: Annotated[str, typer.Option(help="skip: no evidence; bin: evidence of its own.")] = "skip",
    seed: Annotated[int, typer.Option(help="Seed of whatever is drawn.", min=0)] = 0,
) -> None:
    """Learn a model from a table."""
    with _one_line_errors():
        from etana.training import train

        with _stderr().status("reading, binning and solving"):
            clf = train(
                data, target, costs=costs, mistakes=mistakes, output=output,
                options={
                    "n_bins": int(bins) if bins.isdigit() else bins, "binning": binning, "ordering": ordering,
                    "priors": priors, "solver": solver, "missing": missing, "random_state": seed,
                },
            )  # fmt: skip
        from etana.screens import show_model

        typer.echo(f"etana: {output} written", err=True)
        show_model(clf.model_, most=5)


@app.command()
def show(
    model: ModelFile,
    most: Annotated[int, typer.Option(help="How many features to list.", min=1)] = 20,
) -> None:
    """Say what a model is: order, costs, what it expects, how far from the optimum it can be."""
    with _one_line_errors():
        from etana.screens import show_model

        show_model(_load(model), most)


@app.command()
def classify(
    model: ModelFile,
    data: DataFile,
    output: Output = "-",
    max_cost: Annotated[float | None, typer.Option(help="Charge no row more than this.", min=0.0)] = None,
) -> None:
    """Classify the rows of a table, however long: label, probabilities, features asked, cost."""
    with _one_line_errors():
        from etana.scoring import classify_file

        loaded = _load(model)
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
        with Progress(*columns, console=_stderr(), transient=True, disable=output == "-") as progress:
            task = progress.add_task("", total=None)
            n = classify_file(loaded, data, output, max_cost, lambda rows: progress.advance(task, rows))
        if output != "-":
            typer.echo(f"etana: {n:,} rows written to {output}", err=True)


@app.command()
def ask(
    model: ModelFile,
    max_cost: Annotated[float | None, typer.Option(help="Charge no more than this.", min=0.0)] = None,
) -> None:
    """Ask for one value at a time, show belief and money spent, and say when to stop."""
    with _one_line_errors():
        from etana.screens import converse

        converse(_load(model), max_cost)


@app.command()
def report(
    model: ModelFile,
    data: DataFile,
    target: Annotated[
        str | None, typer.Option(help="Column with the true labels; if not given, the one that is no feature.")
    ] = None,
    output: Output = "report.html",
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
) -> None:
    """Write a self-contained page on what a model asks and costs on a table with known labels."""
    with _one_line_errors():
        from etana.report import make_report
        from etana.scoring import read_labelled

        loaded = _load(model)
        table, labels = read_labelled(loaded, data, target)
        with _stderr().status("classifying and drawing"):
            page = make_report(loaded, table, labels, path=None if output == "-" else output, title=title)
        if output == "-":
            typer.echo(page)
        else:
            typer.echo(f"etana: {output} written", err=True)


@app.command()
def select(
    data: DataFile,
    target: Annotated[str, typer.Option(help="Column with the class labels.")],
    method: Annotated[
        str, typer.Option(help="saola, osfs, fast-osfs, alpha-investing, ofs-density or ofs-a3m.")
    ] = "saola",
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="CSV file for the selected columns and the target.")
    ] = None,
) -> None:
    """Print the columns that a streaming feature selector keeps, in order of arrival."""
    with _one_line_errors():
        from etana.training import select_columns

        for name in select_columns(data, target, method, output):
            typer.echo(name)


def _load(path: str) -> Model:
    from etana.modelfile import load_model

    return load_model(path)


if __name__ == "__main__":
    app()
