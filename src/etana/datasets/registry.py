"""Every data set as plain data: what it is, what its archive looks like, and where the world publishes it.

A set has an *archive*, ``<name>.npz`` with a known SHA-256, and may have an *origin*: public files that a reader turns
into the same arrays. Three archives are stand-ins for data that is published elsewhere only: ``car``, ``lung2_1543``
and ``news20_rebuilt`` differ from the paper's copies and say so. Their origins are the paper's own files, so a set that
was downloaded as ``car``, ``lung2`` or ``news20`` does not differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from etana.datasets.arrays import Facts
from etana.datasets.prices import PRICES
from etana.errors import InputError

__all__ = ["ALIASES", "BASES", "ENTRIES", "NAMES", "Entry", "OpenML", "Origin", "RawFile", "entry_of", "names"]

BASES = {
    "uci": "https://archive.ics.uci.edu/ml/machine-learning-databases",
    "libsvm": "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets",
    "scikit-feature": "https://raw.githubusercontent.com/jundongl/scikit-feature/master/skfeature/data",
    "etana-paper": "https://raw.githubusercontent.com/IDIASLab/ETANA/a5e7cb92dbc395cd1cef3df6f0f878c9b773b2b9",
}

_MB = 2**20


@dataclass(frozen=True)
class RawFile:
    """A published file: where it is, how large it may be, and its SHA-256 where that is known."""

    base: str
    path: str
    limit: int = 4 * _MB
    sha256: str | None = None

    @property
    def url(self) -> str:
        """The full address."""
        return f"{BASES[self.base]}/{self.path}"

    @property
    def filename(self) -> str:
        """The last part of the address."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class OpenML:
    """A set that scikit-learn's OpenML client fetches by name and version."""

    name: str
    version: int


@dataclass(frozen=True)
class Origin:
    """Where a set is published, how its files are read, and what they must look like."""

    name: str
    published: tuple[RawFile, ...] | OpenML
    parser: str
    facts: Facts
    class_names: tuple[str, ...]
    title: str | None = None  # None: that of the archive, and so below
    source: str | None = None
    feature_names: tuple[str, ...] | None = None

    @property
    def file(self) -> str:
        """Name of the converted file in the cache."""
        return f"{self.name}.fetched.npz"


@dataclass(frozen=True)
class Entry:
    """A data set: texts for people, the digest and the facts of its archive, and its origin if it has one."""

    name: str
    title: str
    description: str
    source: str
    licence: str
    sha256: str
    facts: Facts
    origin: Origin | None = None
    differs: str | None = None

    @property
    def file(self) -> str:
        """Name of the archive."""
        return f"{self.name}.npz"


ALIASES = {"lung2": "lung2_1543", "news20": "news20_rebuilt"}

_UCI = "UCI, CC BY 4.0"
_ACADEMIC = "published academic data, no explicit licence"


def _uci(*paths: str, limit: int = 4 * _MB) -> tuple[RawFile, ...]:
    return tuple(RawFile("uci", path, limit) for path in paths)


def _as_archive(entry_name: str, files: tuple[RawFile, ...] | OpenML, facts: Facts, classes: str) -> Origin:
    """An origin that holds the very values of the archive."""
    features = tuple(PRICES[entry_name].full) if entry_name in PRICES else None
    return Origin(entry_name, files, entry_name, facts, tuple(classes.split()), feature_names=features)


_SPAM_WORDS = """make address all 3d our over remove internet order mail receive will people report addresses free
business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data 415 85 technology 1999 parts pm
direct cs meeting original project re edu table conference"""
_SPAM_CHARACTERS = "semicolon bracket boxbracket exclamation dollar hash"
_SPAM_NAMES = (
    *(f"word_freq_{word}" for word in _SPAM_WORDS.split()),
    *(f"char_freq_{character}" for character in _SPAM_CHARACTERS.split()),
    *(f"capital_run_length_{what}" for what in ("average", "longest", "total")),
)

_MADELON = Facts(
    *(2000, 500, 2, (1000, 1000), 600, (300, 300)),
    bounds=(0, 999),
    fingerprint="c5eb1699f71580da1d817f400c2da06ffbd1f2e52262174a5fba1652dff9f9fc",
)
_LUNG = Facts(
    *(181, 12533, 2, (150, 31)),
    bounds=(-3134, 92377.3),
    fingerprint="2e516759410fc55a00dbd58d3ef16c379eefdfb5c5cb5217919af24479bc497c",
)
_MLL = Facts(
    *(57, 5848, 3, (20, 17, 20), 15, (4, 3, 8)),
    bounds=(2, 4.20412015914917),
    fingerprint="4e816ce5ef680c0c483270d852dff5c429386a6734619d8dbecd8d903530d1cd",
)
_DEXTER = Facts(
    *(300, 20000, 2, (150, 150), 300, (150, 150)),
    bounds=(1, 943),
    sparse=True,
    fingerprint="5a3dcadf65a40e66f91d0d1e407cb9813e9293652da1527bd541686b4d976e17",
)
_CAR = Facts(
    *(174, 9183, 11, (27, 8, 26, 23, 12, 11, 7, 26, 6, 14, 14)),
    bounds=(1.3010300397872925, 4.831203937530518),
    fingerprint="bac165f8c675b49162067e0cccbe5c83a2353fc0bab1e97e8051bc362002e1dc",
)
_CARCINOM = Facts(*(174, 9182, 11, (6, 7, 8, 11, 12, 14, 14, 23, 26, 26, 27)), ordered=False)
_LUNG2_1543 = Facts(
    *(203, 1543, 5, (139, 17, 21, 20, 6)),
    bounds=(10, 10239),
    fingerprint="cdef2f237e183e08d7698e1ec9e30a84f167216d693382c8b9248da867707f88",
)
_LUNG2 = Facts(*(203, 3312, 5, (6, 17, 20, 21, 139)), ordered=False)
_NEWS20_REBUILT = Facts(
    *(19997, 1409654, 2, (9997, 10000)),
    bounds=(0, 1),
    sparse=True,
    fingerprint="dc761d8672a9de0d713ef6d8a68c2892f36ecda4d38d3b91e06b34394b290543",
)
_NEWS20 = Facts(19996, 1355191, 2, bounds=(0, 1), sparse=True)
_HEART = Facts(
    *(303, 13, 2, (164, 139)),
    missing=6,
    bounds=(0, 564),
    fingerprint="663e59f0a7156bf943ce7c48eaa6f6e1e5b3c2eabcdeb12d8e89f1aab879a3e5",
)
_HEPATITIS = Facts(
    *(155, 19, 2, (32, 123)),
    missing=167,
    bounds=(0, 648),
    fingerprint="04db256d668b457478660c95333337de5bff1845683ad1f8d76eaebc7f6ddf8e",
)
_THYROID = Facts(
    *(3772, 21, 3, (93, 191, 3488), 3428, (73, 177, 3178)),
    bounds=(0, 1),
    fingerprint="50952be01ed1f97a9c8bdf913636bdea2f63a503c64db3c006ffc0edd0bdf9fa",
)
_PIMA = Facts(
    *(768, 8, 2, (500, 268)),
    bounds=(0, 846),
    fingerprint="b67340df24d0d5927c20ed1c638a0a8aaa3899fb84a79e2432c94d72b2db58af",
)
_BUPA = Facts(
    *(345, 5, 2, (169, 176)),
    bounds=(4, 297),
    fingerprint="bd8e0b5868c19bdc8f260b999d7efd9d3e51120fc13094fed6223cbef48c4656",
)
_SPAMBASE = Facts(
    *(4601, 57, 2, (2788, 1813)),
    bounds=(0, 15841),
    fingerprint="6a68b6255c944a31f7b8142ea539a3141a85f49d5cd7cc160d558b1b4f8df26b",
)
_PHYSIONET = Facts(
    *(12000, 41, 2, (10293, 1707)),
    missing=129088,
    bounds=(0, 17995.22265625),
    fingerprint="c980bb60384930b992eb225a1b123f84717e5b219313afe65fe0a17d2c47fe1b",
)

_ALL = (
    Entry(
        "madelon",
        "Madelon",
        "An artificial problem: 5 informative features, 15 combinations of them, 480 without any use.",
        "UCI, NIPS 2003 feature selection challenge; training and validation part",
        _UCI,
        "4d4da20611dd2a53d034c7355dfb864a9ee12a7b79ae05bbb851badcfea324a0",
        _MADELON,
        _as_archive(
            "madelon",
            _uci(
                "madelon/MADELON/madelon_train.data",
                "madelon/MADELON/madelon_train.labels",
                "madelon/MADELON/madelon_valid.data",
                "madelon/madelon_valid.labels",
                limit=16 * _MB,
            ),
            _MADELON,
            "-1 +1",
        ),
    ),
    Entry(
        "lung",
        "Lung",
        "Gene expression of two lung cancers, adenocarcinoma and mesothelioma; raw intensities.",
        "Gordon et al. (2002); the 32 training and 149 test rows of the study as one set, as in the paper",
        _ACADEMIC,
        "9d47d815f846bcbb262857479914ee3b2042d6cb9496270bf34d903882f75fa7",
        _LUNG,
    ),
    Entry(
        "mll",
        "MLL",
        "Gene expression of three leukaemias; log10 intensities.",
        "Armstrong et al. (2002), as published with the paper's program",
        _ACADEMIC,
        "4b3180742f506765260f1f6dcb87db572cac0b83b9c28225d5afda8fbb21bc2a",
        _MLL,
        _as_archive(
            "mll",
            (RawFile("etana-paper", "Datasets/Gene/MLL_data_label_all.mat", 16 * _MB),),
            _MLL,
            "ALL MLL AML",
        ),
    ),
    Entry(
        "dexter",
        "Dexter",
        "Texts about corporate acquisitions, or not, as word counts; about half of the words are probes without use.",
        "UCI, NIPS 2003 feature selection challenge; training and validation part",
        _UCI,
        "371c16044df3d29c6b6f278b0c44ca9120dbb0938c9770a12a902b144d0bfe17",
        _DEXTER,
        _as_archive(
            "dexter",
            _uci(
                "dexter/DEXTER/dexter_train.data",
                "dexter/DEXTER/dexter_train.labels",
                "dexter/DEXTER/dexter_valid.data",
                "dexter/dexter_valid.labels",
            ),
            _DEXTER,
            "-1 +1",
        ),
    ),
    Entry(
        "car",
        "Car",
        "Gene expression of carcinomas of eleven tissues; log10 intensities, floor 20.",
        "Su et al. (2001), rebuilt from the unfiltered matrix of the GEMS collection",
        _ACADEMIC,
        "7d0a3d7c778cce954dc451a2e1a2a9d3c0096a4372e84f639381848d0c15f52c",
        _CAR,
        Origin(
            "car",
            (RawFile("scikit-feature", "Carcinom.mat", 32 * _MB),),
            "gene",
            _CARCINOM,
            tuple(map(str, range(1, 12))),
            source="Su et al. (2001), Carcinom.mat of the scikit-feature collection",
        ),
        differs="Car has 9183 features, the paper's 9182: rebuilt from the unfiltered matrix with a filter chosen for "
        "its number of features; samples and classes are the same.",
    ),
    Entry(
        "lung2_1543",
        "Lung2 (1543 genes)",
        "Gene expression of four lung cancers and normal lung, strongly filtered.",
        "Bhattacharjee et al. (2001), as filtered by de Souto et al. (2008)",
        _ACADEMIC,
        "bb6750043d5a1a899d0b3adf5edb5f5b7ce3138f78c089b57eec1262ae415463",
        _LUNG2_1543,
        Origin(
            "lung2",
            (RawFile("scikit-feature", "lung.mat", 16 * _MB),),
            "gene",
            _LUNG2,
            tuple(map(str, range(1, 6))),
            title="Lung2",
            source="Bhattacharjee et al. (2001), lung.mat of the scikit-feature collection",
        ),
        differs="Lung2 has 1543 features, the paper's 3312: a stronger gene filter; samples and classes are the same, "
        "numbers of features do not compare with the paper's.",
    ),
    Entry(
        "news20_rebuilt",
        "News20 (rebuilt)",
        "Posts of 20 news groups in two halves, as presence of words and word pairs, rows of unit length.",
        "20 Newsgroups, features rebuilt from the raw posts (subject and body)",
        _UCI,
        "ce040c38531aa1421156a02c67a7e7b7358f7a560b83c5f2552b00115338d17e",
        _NEWS20_REBUILT,
        Origin(
            "news20",
            (RawFile("libsvm", "binary/news20.binary.bz2", 128 * _MB),),
            "news20",
            _NEWS20,
            ("-1", "+1"),
            title="News20",
            source="LIBSVM data sets, news20.binary (Keerthi and DeCoste 2005)",
        ),
        differs="News20 is rebuilt from the raw posts: 19,997 rows and 1,409,654 features, where the paper's "
        "news20.binary has 19,996 and 1,355,191; corpus and classes are the same, tokens are not.",
    ),
    Entry(
        "heart",
        "Heart",
        "Heart disease or none in 303 patients of Cleveland, with real prices of tests; 6 cells are missing.",
        "UCI heart disease, processed.cleveland.data; class 1 where num > 0; prices of Turney (1995)",
        _UCI,
        "38d90aed2fe7225af3ac30b07d9704cd90d47e4f095b5e318d8ab9f2859786bc",
        _HEART,
        _as_archive(
            "heart",
            (
                RawFile(
                    "uci",
                    "heart-disease/processed.cleveland.data",
                    sha256="a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
                ),
            ),
            _HEART,
            "no_disease disease",
        ),
    ),
    Entry(
        "hepatitis",
        "Hepatitis",
        "Death or survival of 155 patients, with real prices of tests; 167 cells are missing. That the five blood "
        "tests share a fee and are delayed is inferred from Turney's description.",
        "UCI hepatitis; prices of Turney (1995)",
        _UCI,
        "926ce80773c58b0ea5aa93b72909315bf9b67b7dab125adb8bee11f71d5f6079",
        _HEPATITIS,
        _as_archive("hepatitis", _uci("hepatitis/hepatitis.data"), _HEPATITIS, "die live"),
    ),
    Entry(
        "thyroid",
        "Thyroid",
        "Function of the thyroid, with real prices of tests. FTI is computed from TT4 and T4U and has no price of its "
        "own: it is listed at the price of both, and costs nothing where both are already bought, which groups cannot "
        "express. Discounts and delays are not known.",
        "UCI thyroid disease, ann-train.data and ann-test.data; prices of Turney (1995)",
        _UCI,
        "5ccbee74bf7f06ea37b79cc4573c7cb6b774aed10fb9643b60bf73979c202c02",
        _THYROID,
        _as_archive(
            "thyroid",
            (
                RawFile(
                    "uci",
                    "thyroid-disease/ann-train.data",
                    sha256="3da53a156bda36cb0c97e9f4b6b111c9226c54c4aa00230de5604b787c47e3a6",
                ),
                RawFile(
                    "uci",
                    "thyroid-disease/ann-test.data",
                    sha256="c649ea19416e78c7996cfaaa2a9e281cb597d4b075aaa68c494fc3e4ee3aa30b",
                ),
            ),
            _THYROID,
            "1 2 3_normal",
        ),
    ),
    Entry(
        "pima",
        "Pima",
        "Diabetes in 768 women, with real prices of tests. Zeros in glucose_tol, diastolic_bp, triceps, insulin and "
        "mass_index are missing values in truth; they are left as zeros.",
        "UCI Pima Indians diabetes; prices of Turney (1995)",
        "UCI, terms not checked",
        "0b50f8518279ce2765f57dbe9f85a0ddd882a53b5de36c4fe97ae6f9e021c076",
        _PIMA,
        _as_archive("pima", OpenML("diabetes", 1), _PIMA, "negative positive"),
    ),
    Entry(
        "bupa",
        "Bupa",
        "Whether a man takes three drinks a day or more, from five blood tests with real prices, all delayed. The "
        "column that many take for a label only splits the rows and is left out. A hard problem.",
        "UCI liver disorders (BUPA); class 1 where drinks >= 3; prices of Turney (1995)",
        _UCI,
        "560fa42c959b12a118a2bbf85a37cf6348ffd825985554ffdb89acbf0de3bfa6",
        _BUPA,
        _as_archive("bupa", _uci("liver-disorders/bupa.data"), _BUPA, "drinks<3 drinks>=3"),
    ),
    Entry(
        "spambase",
        "Spambase",
        "Mail that is spam, or not, as frequencies of words and characters; 394 rows repeat another row.",
        "UCI spambase",
        _UCI,
        "b233c7359335b62def4ae359bfec099cc90282de70f899197521c548d91432b4",
        _SPAMBASE,
        Origin(
            "spambase",
            _uci("spambase/spambase.data"),
            "spambase",
            _SPAMBASE,
            ("ham", "spam"),
            feature_names=_SPAM_NAMES,
        ),
    ),
    Entry(
        "physionet2012",
        "PhysioNet 2012",
        "Death in hospital of 12,000 patients in intensive care, from means of 41 variables; 26 % of the cells are "
        "missing, and of MechVent only whether it is there informs.",
        "PhysioNet/Computing in Cardiology Challenge 2012, means per patient",
        "ODC-By 1.0",
        "bf25fbda911615bab94da6f72cf1c1e16b65642bef33b448374ae0eeee8da49e",
        _PHYSIONET,
    ),
)

ENTRIES = {entry.name: entry for entry in _ALL}
NAMES = tuple(ENTRIES)


def names() -> list[str]:
    """Names of all data sets.

    Examples
    --------
    >>> import etana.datasets
    >>> etana.datasets.names()[:3]
    ['madelon', 'lung', 'mll']
    """
    return list(NAMES)


def entry_of(name: str) -> Entry:
    """The entry of a name or an alias; a name that nobody knows is an error that lists all."""
    entry = ENTRIES.get(ALIASES.get(name, name)) if isinstance(name, str) else None
    if entry is None:
        also = ", ".join(f"{alias!r} for {known!r}" for alias, known in ALIASES.items())
        raise InputError(f"there is no data set {name!r}; there are {', '.join(NAMES)} (and {also})")
    return entry
