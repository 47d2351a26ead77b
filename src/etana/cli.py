"""The command line. Heavy imports stay inside the commands, so that help appears at once.

Exit codes: 0 done; 1 a fault of etana; 2 a wrong option; 3 data, costs or a model file that cannot be used;
130 interrupted. Errors are one line on standard error. Output files appear whole or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from etana.commands.complaints import INTERRUPTED, complain, one_line_errors, one_line_warnings, warn
from etana.service.command import register as register_service

if TYPE_CHECKING:
    from rich.console import Console

    from etana.model import Model

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Classification that asks for one feature at a time and stops when the next would cost more than it saves.",
    epilog="Exit codes: 0 done, 2 wrong option, 3 data or model file that cannot be used, 130 interrupted.",
)

DataFile = Annotated[
    str, typer.Argument(help="CSV (also .csv.gz) or Parquet file with a header; - for CSV on standard input.")
]
ModelFile = Annotated[str, typer.Argument(help="Model file made by 'etana fit'.")]
Output = Annotated[str, typer.Option("-o", "--output", help="File to write.")]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="NAME", help="Column that is no evidence, such as an id; can be repeated."),
]
MissingValues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="Cell that means a missing value, as -9, or in one column, as glucose=0; can be repeated. Empty cells, "
        "NA, n/a, NULL, ? and the like mean it anyway.",
    ),
]
OtherMissingValues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="Cell that means a missing value, as for 'fit', instead of those that the model was fitted with; can be "
        "repeated.",
    ),
]
Mistakes = Annotated[
    str | None,
    typer.Option(
        help="What a mistake costs (1 if not given): a number, or a CSV file with a row per true class and a column "
        "per decided class."
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="TYPE",
        help="Type that a scikit-learn estimator in the file may be made of; can be repeated.",
    ),
]


def _stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        from etana import __version__

        typer.echo(f"etana {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Classify with only the features that pay."""


@app.command()
def demo(
    cost: Annotated[float, typer.Option(help="Price of one feature; a mistake costs 1.", min=0.0)] = 0.01,
    seed: Annotated[int, typer.Option(help="Seed of the split into training and test rows.", min=0)] = 0,
) -> None:
    """Fit on data bundled with scikit-learn, and show what is saved."""
    from etana.commands.demo import show_demo

    with one_line_errors():
        show_demo(cost, seed)


@app.command()
def data(
    name: Annotated[
        str,
        typer.Argument(help="Name of a set; heart, hepatitis, breast_cancer, wine, iris and digits need no download."),
    ],
    output: Annotated[str, typer.Option("-o", "--output", help="Folder for the CSV files.")] = ".",
    seed: Annotated[int, typer.Option(help="Seed of the split, where the set has none of its own.", min=0)] = 0,
    data_dir: Annotated[str | None, typer.Option(help="Folder with data sets, instead of what is at hand.")] = None,
) -> None:
    """Write a data set as CSV files: NAME.csv for training, NAME-test.csv, and costs.csv where prices are known."""
    with one_line_errors():
        from etana.commands.data import write_data

        for path in write_data(name, output, seed, data_dir):
            typer.echo(f"etana: {path} written", err=True)


@app.command()
def fit(
    data: Annotated[
        str, typer.Argument(help="CSV or Parquet file with a header, a folder of such files, or - for CSV on stdin.")
    ],
    target: Annotated[str, typer.Option(help="Column with the class labels.")],
    output: Output = "model.etana",
    costs: Annotated[
        str,
        typer.Option(
            help="Price of every feature, or a CSV file with columns feature, cost [, group, discounted, delayed]."
        ),
    ] = "0.01",
    wait: Annotated[
        float,
        typer.Option("--round", help="Price of a round of waiting, for all that is ordered together.", min=0.0),
    ] = 0.0,
    mistakes: Mistakes = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="frugal (if not given): what pays least on training rows; or committee, adaptive (the next feature "
            "chosen for each instance), sequential (one order, nearest neighbours), etana (the paper's: one order, "
            "bins; also where one of its options is given)."
        ),
    ] = None,
    exportable: Annotated[
        bool, typer.Option("--exportable", help="Of frugal: only what etana export can write.")
    ] = False,
    effort: Annotated[
        str | None, typer.Option(help="Of frugal: fast, auto (if not given) or best: seconds to minutes.")
    ] = None,
    bins: Annotated[str | None, typer.Option(help="auto (if not given), or the (largest) number of bins.")] = None,
    binning: Annotated[
        str | None, typer.Option(help="supervised (if not given), quantile, uniform or published.")
    ] = None,
    ordering: Annotated[
        str | None, typer.Option(help="auto (if not given), error, variance, information, or cost.")
    ] = None,
    priors: Annotated[str | None, typer.Option(help="empirical (if not given) or uniform.")] = None,
    solver: Annotated[
        str | None, typer.Option(help="auto (if not given), exact, points, grid, or thresholds (F-ETANA).")
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="skip (if not given): no evidence; bin: evidence of its own.")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            help="How far counts are believed, 1: wholly. If not given, held-out rows say; etana on parts has none: 1."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of whatever is drawn.", min=0)] = 0,
    engine: Annotated[
        str, typer.Option(help="memory: this process; dask: several; auto: memory unless there is a scheduler.")
    ] = "auto",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler; without it dask uses this machine's cores.")
    ] = None,
    sample_size: Annotated[
        int | None,
        typer.Option(
            help="Of parts: rows that methods other than etana choose and judge by, every class in proportion; 20,000 "
            "if not given. Counts are those of all rows.",
            min=2,
        ),
    ] = None,
    dictionary: Annotated[
        str | None,
        typer.Option(help="CSV file about the features: name [, description, unit, lowest, highest, choices]."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            "--keep",
            metavar="NAME",
            help="Column that is no evidence and no part of the model, such as an id, which 'classify --keep' passes "
            "through; can be repeated.",
        ),
    ] = None,
    identifiers: Annotated[
        str | None,
        typer.Option(help="auto (if not given): columns that number the rows are left out; none: no column is."),
    ] = None,
    missing_values: MissingValues = None,
) -> None:
    """Learn a model from a table, or from a folder of parts of any size, read block by block."""
    with one_line_errors():
        from etana.commands.fit import given_options, train
        from etana.commands.show import show_fit

        options = given_options(
            bins, identifiers, exportable, binning=binning, ordering=ordering, priors=priors, solver=solver,
            missing=missing, random_state=seed, temperature=temperature, effort=effort,
        )  # fmt: skip
        with _stderr().status("reading and learning"), one_line_warnings():
            clf = train(
                data, target, costs=costs, wait=wait, mistakes=mistakes, output=output, engine=engine,
                scheduler=scheduler, method=method, dictionary=dictionary, ignore=ignore or (),
                missing_values=missing_values or (), sample_size=sample_size, options=options,
            )  # fmt: skip
        typer.echo(f"etana: {output} written", err=True)
        show_fit(clf)


@app.command()
def show(
    model: ModelFile,
    most: Annotated[int, typer.Option(help="How many features to list.", min=1)] = 20,
    trust: Trust = None,
) -> None:
    """Say what a model is: order, costs, what it expects, how far from the optimum it can be."""
    with one_line_errors():
        from etana.commands.show import show_model

        show_model(_load(model, trust), most)


@app.command()
def classify(
    model: ModelFile,
    data: DataFile,
    output: Output = "-",
    max_cost: Annotated[float | None, typer.Option(help="Charge no row more than this.", min=0.0)] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Column that is there for all rows and costs nothing; can be repeated."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Column to pass through to the output, such as an id; can be repeated."),
    ] = None,
    missing_values: OtherMissingValues = None,
    trust: Trust = None,
) -> None:
    """Classify the rows of a table, however long: label, probabilities, features asked, cost."""
    with one_line_errors():
        from etana.commands.classify import classify_file
        from etana.tablefile import check_output

        check_output(output, model, data)
        loaded = _load(model, trust)
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
        with Progress(*columns, console=_stderr(), transient=True, disable=output == "-") as progress:
            task = progress.add_task("", total=None)
            done = classify_file(
                loaded, data, output, max_cost, lambda rows: progress.advance(task, rows), known, keep or (),
                missing_values or (),
            )  # fmt: skip
        if output != "-":
            typer.echo(f"etana: {done.n_rows:,} rows written to {output}", err=True)
        for finding in done.findings:
            warn(finding)


@app.command()
def ask(
    model: ModelFile,
    max_cost: Annotated[float | None, typer.Option(help="Charge no more than this.", min=0.0)] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="What is known already and costs nothing; can be repeated."),
    ] = None,
    trust: Trust = None,
) -> None:
    """Ask for one value at a time, show belief and money spent, and say when to stop."""
    with one_line_errors():
        from etana.commands.ask import converse

        converse(_load(model, trust), max_cost, known or ())


@app.command()
def export(
    model: ModelFile,
    output: Annotated[
        str,
        typer.Option("-o", "--output", help="File to write: .c (and .h), .js (and .d.ts), .sql, .py, .json or .html."),
    ],
    max_nodes: Annotated[
        int, typer.Option(help="Most states of a policy that chooses for each instance.", min=1)
    ] = 4096,
    rows: Annotated[
        str | None, typer.Option(help="Table (CSV, Parquet) whose rows must not leave these states.")
    ] = None,
    real: Annotated[str, typer.Option(help="Type of numbers in C: double or float.")] = "double",
    table: Annotated[str, typer.Option(help="Table that the SQL statement selects from.")] = "data",
    max_cost: Annotated[float | None, typer.Option(help="In SQL: charge no row more than this.", min=0.0)] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    trust: Trust = None,
) -> None:
    """Write the policy as C, JavaScript, SQL, Python without packages, JSON, or a page that works offline."""
    with one_line_errors():
        from etana.commands.export import export_file
        from etana.tablefile import check_output

        check_output(output, model, rows)
        loaded = _load(model, trust)
        export_file(loaded, output, rows, max_nodes=max_nodes, real=real, table=table, max_cost=max_cost, title=title)


@app.command()
def report(
    model: ModelFile,
    data: DataFile,
    target: Annotated[
        str | None, typer.Option(help="Column with the true labels; if not given, the one that is no feature.")
    ] = None,
    output: Output = "report.html",
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    missing_values: OtherMissingValues = None,
    trust: Trust = None,
) -> None:
    """Write a self-contained page on what a model asks and costs on a table with known labels."""
    with one_line_errors():
        from etana.commands.model_table import read_true_labels
        from etana.plots._canvas import matplotlib
        from etana.report import Provenance, make_report
        from etana.tablefile import check_output

        check_output(output, model, data)
        matplotlib()
        loaded = _load(model, trust)
        table, labels = read_true_labels(loaded, data, target, missing_values or ())
        origin = Provenance.of_files(model, data)
        with _stderr().status("classifying and drawing"):
            path = None if output == "-" else output
            page = make_report(loaded, table, labels, path=path, title=title, origin=origin)
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
    ignore: Ignore = None,
) -> None:
    """Print the columns that a streaming feature selector keeps, in order of arrival."""
    with one_line_errors():
        from etana.commands.select import select_columns

        with one_line_warnings():
            chosen = select_columns(data, target, method, output, ignore or ())
        for name in chosen:
            typer.echo(name)


@app.command()
def reproduce(
    output: Annotated[str, typer.Option("-o", "--output", help="Folder for results, tables and the page.")] = "results",
    quick: Annotated[bool, typer.Option("--quick", help="Small sets only: a minute or two.")] = False,
    beyond: Annotated[bool, typer.Option("--beyond", help="What goes beyond the paper, instead of it.")] = False,
    data_dir: Annotated[str | None, typer.Option(help="Folder with the data sets (.npz).")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Run only cells that fit, such as mll or 'tables/*/saola*'; repeatable.")
    ] = None,
    again: Annotated[list[str] | None, typer.Option(help="Run these anew, although they are there.")] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for one training and test part of a cell.")] = 600.0,
    skip_slow: Annotated[bool, typer.Option("--skip-slow", help="Leave out rivals that take minutes.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Run nothing, only draw what is there.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write the tables as Markdown too.")] = False,
    jobs: Annotated[int, typer.Option(help="Cells at a time; with more than one, seconds are not honest.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of folds and of whatever is drawn.", min=0)] = 0,
) -> None:
    """Make the paper's tables and figures again, in a checkout; a run that was stopped goes on where it was."""
    with one_line_errors():
        from rich.console import Console

        from etana.commands import reproduce as door

        written = door.reproduce(
            output, Console(), _stderr(), draw_only=tables, markdown=markdown, quick=quick, beyond=beyond,
            data_dir=data_dir, only=only or (), again=again or (), limit=time_limit, skip_slow=skip_slow, jobs=jobs,
            seed=seed, interrupted=lambda: complain(
                f"interrupted; what is finished is in {output}, the same command goes on", INTERRUPTED
            ),
        )  # fmt: skip
        for path in written:
            typer.echo(f"etana: {path} written", err=True)


@app.command()
def compare(
    data: DataFile,
    target: Annotated[str, typer.Option(help="Column with the class labels.")],
    costs: Annotated[
        str,
        typer.Option(help="Price of every feature, or a CSV file with columns feature, cost [, group, discounted]."),
    ] = "0.01",
    mistakes: Mistakes = None,
    folds: Annotated[int, typer.Option(help="Folds of a cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(help="Cross-validations, each with folds of its own.")] = 5,
    methods: Annotated[str | None, typer.Option(help="Methods, with commas between; all if not given.")] = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="HTML page to write.")] = None,
    table: Annotated[str | None, typer.Option("--csv", help="CSV file to write.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of folds and of whatever is drawn.", min=0)] = 0,
    ignore: Ignore = None,
    missing_values: MissingValues = None,
) -> None:
    """Compare all methods on a table: accuracy, features and cost with 95 % intervals."""
    with one_line_errors():
        from rich.console import Console

        from etana.commands.compare import compare_file

        chosen = None if methods is None else [name.strip() for name in methods.split(",")]
        with one_line_warnings():
            comparison = compare_file(
                data, target, costs=costs, mistakes=mistakes, folds=folds, repeats=repeats, methods=chosen, seed=seed,
                page=output, table=table, console=_stderr(), ignore=ignore or (), missing_values=missing_values or (),
            )  # fmt: skip
        Console().print(comparison.to_terminal())


register_service(app, one_line_errors)


def _load(path: str, trusted: list[str] | None) -> Model:
    from etana.modelfile import load_model

    return load_model(path, trusted or ())


if __name__ == "__main__":
    app()
