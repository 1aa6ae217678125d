"""The README of a development kit, in the words that the pages have, and the script that submits."""

from collections.abc import Iterator
from dataclasses import dataclass
from string import Template
from typing import Final

from app.challenges.challenges import PhaseView
from app.challenges.examples import line_grammar
from app.challenges.pictures_from import ParticipantsPictures
from app.challenges.protocols import task_rules
from app.challenges.rules import RulesView
from heldout_scoring import CompetitionInfo
from heldout_scoring.competitions import name_of

SUBMIT: Final = Template(r"""#!/bin/sh
# Checks an archive of results and submits it: sh submit.sh ARCHIVE IMAGE_SET COMPETITION METHOD
# The token is in the variable HELDOUT_TOKEN; it comes from $address/account/tokens, with the scope submit.
# With CHECK=1 in the environment it only checks, which costs nothing.
# OTHER_DATA names what else than the given data the method was trained on, or says none; it is needed where any data is allowed,
# and states that neither the test images nor other excluded data was used.
# ANNOTATION says which was used for segmentation with the given data: "segmentations" or "segmentations and boxes".
set -eu
server=$${HELDOUT_URL:-$address}
if [ $$# -ne 4 ] || [ -z "$${HELDOUT_TOKEN:-}" ]; then
    sed -n '2,7s/^# //p' "$$0" >&2
    exit 2
fi
archive=$$1 set=$$2 competition=$$3 method=$$4
answer=$$(mktemp)
trap 'rm -f "$$answer"' EXIT

# the first value of a name in a response
value() {
    tr '{,' '\n\n' <"$$answer" | sed -n 's/^"'"$$1"'":"\{0,1\}\([^"}]*\)"\{0,1\}}*$$/\1/p' | sed 1q
}

# a text within the quotes of JSON
quoted() {
    printf %s "$$1" | tr -d '\n' | sed 's/[\\"]/\\&/g'
}

# what a response says is wrong, or else all of it
messages() {
    awk '{
        text = $$0
        while (match($$0, /"message":"([^"\\]|\\.)*"/)) {
            print "  " substr($$0, RSTART + 11, RLENGTH - 12)
            $$0 = substr($$0, RSTART + RLENGTH)
            found = 1
        }
        if (!found) print text
    }' "$$answer" >&2
}

# send ARGUMENTS of curl; an answer that is not 2xx ends the script
send() {
    status=$$(curl -sS -o "$$answer" -w '%{http_code}' -H "Authorization: Bearer $$HELDOUT_TOKEN" "$$@")
    case $$status in
        2*) ;;
        *) echo "The server answered $$status:" >&2; messages; exit 1 ;;
    esac
}

send -T "$$archive" "$$server/api/v1/challenges/$challenge/$$set/uploads?filename=$$(basename "$$archive" | tr -c 'A-Za-z0-9._\n-' _)"
upload=$$(value id)
case $$(value valid) in
    true) echo "The archive is valid: $$server/uploads/$$upload" ;;
    false)
        echo "The archive is invalid: $$server/uploads/$$upload" >&2
        messages
        exit 1 ;;
    *) echo "The archive is not checked yet: $$server/uploads/$$upload" >&2; exit 1 ;;
esac
[ -z "$${CHECK:-}" ] || exit 0

case $${OTHER_DATA:-none} in none) given=true ;; *) given=false ;; esac
training='"given_data_only": '$$given
[ -z "$${OTHER_DATA:-}" ] || training=$$training', "no_excluded_data": true, "other_data": "'$$(quoted "$$OTHER_DATA")'"'
[ -z "$${ANNOTATION:-}" ] || training=$$training', "annotation": "'$$(quoted "$$ANNOTATION")'"'
send -H "Content-Type: application/json" -H "Idempotency-Key: $$upload" \
    -d '{"upload": "'"$$upload"'", "method": {"name": "'"$$(quoted "$$method")"'"}, "competitions": ['"$$competition"'], "training": {'"$$training"'}}' \
    "$$server/api/v1/submissions"
echo "Submitted. The score will be at $$server/submissions/$$(value id)"
""")


@dataclass(frozen=True, slots=True)
class KitPhase:
    """A phase in a kit. has_examples: its archives with valid results are in it; has_annotation: its annotation is in it."""

    phase: PhaseView
    competitions: tuple[CompetitionInfo, ...]
    has_examples: bool
    has_annotation: bool
    licence: str = ""  # of the annotation


@dataclass(frozen=True, slots=True)
class Baseline:
    """How the baseline is run: what it is trained on, what it predicts, in which competition."""

    train: str
    predict: str
    competition: CompetitionInfo


def submit_script(address: str, challenge: str) -> str:
    """Return the script that checks and submits an archive, for the plain shell of POSIX."""
    return SUBMIT.substitute(address=address, challenge=challenge)


def readme(
    address: str,
    rules: RulesView,
    pictures: ParticipantsPictures,
    phases: tuple[KitPhase, ...],
    baseline: Baseline | None,
) -> str:
    """Return the README in Markdown."""
    here = f"{address}/challenges/{rules.challenge}"
    blocks = [
        f"# {rules.title}: development kit",
        f"The server makes this archive of what is public, and again when something of that changes: {here}/data",
        "## What is in it",
        "\n".join(_contents(phases, baseline)),
        *(
            ["## Images", f"{pictures.words} {pictures.pictures_address or f'{here}/data'}"]
            if pictures.words
            else []
        ),
        "## Submit",
        f"Make a token with the scope `submit` at {address}/account/tokens, and put it into the variable `HELDOUT_TOKEN`.",
        *submitting(phases),
        *_baseline(baseline),
        "## How results are scored",
        *_tasks(phases),
        *_rules(rules),
        *(["## Rules of the organisers", rules.text] if rules.text else []),
        *(["## Terms", f"You accept them at {here}/terms.", rules.terms] if rules.terms else []),
    ]
    return "\n\n".join(blocks) + "\n"


def _contents(phases: tuple[KitPhase, ...], baseline: Baseline | None) -> Iterator[str]:
    yield "- `submit.sh`: checks an archive and submits it"
    if baseline:
        yield "- `baseline.py`: a small method, to begin with"
    for each in phases:
        parts = [
            "names and sizes of the images",
            "`description.json`, with which archives are checked at home",
            "classes",
        ]
        if each.has_examples:
            parts.append("a valid archive of each competition in `examples`")
        if each.has_annotation:
            licence = f", under {each.licence}" if each.licence else ""
            parts.append(f"the annotation in `annotation`{licence}")
        yield f"- `{each.phase.image_set}/`: {'; '.join(parts)}"


def submitting(phases: tuple[KitPhase, ...]) -> Iterator[str]:
    """Yield how an archive is submitted to a competition, rather of public annotation."""
    offering = sorted((each for each in phases if each.competitions), key=lambda each: each.phase.is_held_out)
    if not offering:
        return
    yield f"```sh\n{_command(offering[0].phase.image_set, offering[0].competitions[0], 'MyMethod')}\n```"
    yield "`CHECK=1` before it only checks."
    infos = [info for each in phases for info in each.competitions]
    if any(info.own_data for info in infos):
        yield (
            "Where any training data is allowed, `OTHER_DATA` names what else than the given data was used, such as `OTHER_DATA=ImageNet`, or says `none`. "
            "With it you state that neither the test images nor other excluded data was used."
        )
    if any(_asks_for_annotation(info) for info in infos):
        yield "`ANNOTATION` is `segmentations` or `segmentations and boxes`: what a method of segmentation was trained on."


def _command(image_set: str, info: CompetitionInfo, method: str) -> str:
    variables = "OTHER_DATA=none " if info.own_data else ""
    variables += "ANNOTATION=segmentations " if _asks_for_annotation(info) else ""
    return f"{variables}sh submit.sh results.tar.gz {image_set} {info.number} {method}"


def _asks_for_annotation(info: CompetitionInfo) -> bool:
    return info.task == "segmentation" and not info.own_data


def _baseline(baseline: Baseline | None) -> Iterator[str]:
    if baseline:
        number = baseline.competition.number
        yield "Unpack the images into a folder `images`. Then the baseline, which needs NumPy and Pillow, writes a first archive:"
        yield (
            f"```sh\npython3 baseline.py images {baseline.train} {baseline.predict} {number}\n"
            f"{_command(baseline.predict, baseline.competition, 'Baseline')}\n```"
        )


def _tasks(phases: tuple[KitPhase, ...]) -> Iterator[str]:
    """Yield each task once for each protocol that scores it, with the files of all its competitions."""
    found: dict[tuple[str, str], list[tuple[PhaseView, CompetitionInfo]]] = {}
    for each in phases:
        for info in each.competitions:
            found.setdefault((each.phase.protocol, info.task), []).append((each.phase, info))
    for (protocol, task), rows in found.items():
        yield f"### {rows[0][1].title}, {', '.join(dict.fromkeys(phase.image_set for phase, _ in rows))}"
        yield "\n".join((*_files(rows), *_measures(protocol, task)))


def _files(rows: list[tuple[PhaseView, CompetitionInfo]]) -> Iterator[str]:
    for phase, info in rows:
        yield (
            f"- Competition {info.number} of {phase.image_set}, {name_of(phase.dataset, info.number)}, {info.own_data_rule}:"
            f" `{info.file_pattern_of(phase.image_set)}`"
        )
    yield f"- Format: `{line_grammar(rows[0][1].task)}`"


def _measures(protocol: str, task: str) -> Iterator[str]:
    if rules := task_rules(protocol, task):
        for title, words in (
            ("Measure", rules.measure),
            ("Mean", rules.mean),
            ("What counts", rules.counts),
            ("Match", rules.threshold),
            ("Boxes", rules.boxes),
        ):
            if words:
                yield f"- {title}: {words}"


def _rules(rules: RulesView) -> Iterator[str]:
    for each in rules.phases:
        yield f"## Rules of {each.phase.image_set}"
        yield "\n".join(f"- {rule.title}: {' '.join(rule.sentences)}" for rule in each.rules)
