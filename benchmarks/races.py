"""Which programs race, over which work loads."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks.contestants import Contestant, Outcome, race
from benchmarks.loads import classifications, coco, detections, masks, persons
from benchmarks.loads.archives import Results
from benchmarks.loads.scene import draw_scene, save_scene, truth_of
from benchmarks.tables import Section

_QUICK_IMAGES: Final = 300
_KIT_LOOP: Final = "plain loop of the kit's rules"
_PIXELS: Final = "Pillow and bincount, from files"
_QUICK_PEERS: Final = ("hotcoco", "ultrafast_pycocotools", "vernier")
_COCO_PEERS: Final = (*_QUICK_PEERS, "faster_coco_eval", "pycocotools")


@dataclass(frozen=True, slots=True)
class Plan:
    """Where work loads are kept, which sizes of detection, how many rounds; peers: their Python; quick: smallest loads."""

    place: Path
    sizes: tuple[str, ...]
    rounds: int
    peers: str | None = None
    quick: bool = False

    def race(self, contestants: Sequence[Contestant]) -> tuple[Outcome, ...]:
        """Let them race."""
        return tuple(race(contestants, rounds=self.rounds, peers=self.peers))


@dataclass(frozen=True, slots=True)
class _Files:
    """What programs read before they are timed."""

    truth: Path
    known: Path


def _scene_files(plan: Plan) -> _Files:
    scene = draw_scene(_QUICK_IMAGES) if plan.quick else draw_scene()
    files = _Files(plan.place / f"truth-{len(scene.ids)}", plan.place / f"known-{len(scene.ids)}.npz")
    truth_of(scene).save(files.truth)
    save_scene(scene, files.known)
    return files


def race_detection(plan: Plan) -> list[Section]:
    """Detection at every size, and what it costs ten times as many lines to be scored."""
    files, scene = _scene_files(plan), draw_scene(_QUICK_IMAGES) if plan.quick else draw_scene()
    sections = []
    for size in plan.sizes:
        load = detections.write_detections(plan.place, scene, size)
        shuffled = detections.write_detections(plan.place, scene, size, shuffled=True)
        outcomes = plan.race(_detectors(files, load, shuffled, size))
        about = f"{detections.SIZES[size]:,} lines, {load.unpacked / 1e6:.0f} MB, {load.packed / 1e6:.1f} MB packed."
        sections.append(Section(f"Detection, {size}", about, outcomes, (_KIT_LOOP,)))
    return [*sections, *_growth(sections, plan.sizes)]


def _detectors(files: _Files, load: Results, shuffled: Results, size: str) -> list[Contestant]:
    truth, number = files.truth, detections.COMPETITION
    ours = [
        Contestant("ours, tar.gz to AP", "ours.py", (number, truth, load.archive)),
        Contestant("ours, from a folder", "ours.py", (number, truth, load.folder)),
        Contestant("ours, lines shuffled", "ours.py", (number, truth, shuffled.archive)),
        Contestant("ours, without any check", "unchecked.py", (truth, load.archive)),
        Contestant("ours, validation alone", "ours.py", (number, truth, load.archive, "validate")),
        Contestant("floor: gunzip and parse", "floor.py", (truth, load.archive)),
    ]
    # of ten million detections the others make sixteen gigabytes of Python objects
    peers = ["hotcoco"] if size == "large" else ["hotcoco", "faster_coco_eval", "pycocotools"]
    others = [
        Contestant(f"{peer} (other rules)", "coco_peers.py", (peer, files.known, load.folder), peer)
        for peer in peers
    ]
    if size != "large":
        others.append(Contestant(_KIT_LOOP, "kit_loop.py", (files.known, load.folder)))
    if size in ("tiny", "small"):
        arguments = (files.known, load.folder)
        others.append(Contestant("globox (other rules)", "globox_peer.py", arguments, "globox"))
        slow = "mean_average_precision"
        others.append(Contestant("mean-average-precision", f"{slow}_peer.py", arguments, slow))
    return [*ours, *others]


def _growth(sections: Sequence[Section], sizes: Sequence[str]) -> list[Section]:
    """How time grows with the number of lines: the exponent between neighbouring sizes."""
    steps = []
    for (one, first), (other, second) in zip(
        zip(sizes, sections, strict=True), zip(sizes[1:], sections[1:], strict=True), strict=False
    ):
        before, after = first.outcomes[0].median, second.outcomes[0].median
        if before and after:
            exponent = math.log(after / before) / math.log(detections.SIZES[other] / detections.SIZES[one])
            steps.append(f"{one} to {other}: lines to the power of {exponent:.2f}")
    return [Section("Detection, growth", "; ".join(steps) + ".", ())] if steps else []


def race_coco(plan: Plan) -> list[Section]:
    """COCO's evaluation of boxes from its JSON, and without reading it."""
    scene = draw_scene(_QUICK_IMAGES) if plan.quick else draw_scene()
    sections = []
    for size in plan.sizes:
        load = coco.write_coco(plan.place, scene, size)
        about = f"{detections.SIZES[size]:,} detections, {load.detections.stat().st_size / 1e6:.0f} MB."
        for how, title in (("whole", "from JSON"), ("matching", "matching and accumulating alone")):
            files = (load.instances, load.detections, how)
            peers = [
                Contestant(peer, "coco_files.py", (peer, *files), peer)
                for peer in (_QUICK_PEERS if size == "large" else _COCO_PEERS)
                if how == "whole" or peer != "vernier"
            ]
            outcomes = plan.race([Contestant("ours", "coco_ours.py", files), *peers])
            sections.append(Section(f"COCO, {size}, {title}", about, outcomes, _COCO_PEERS))
    return sections


def race_classification(plan: Plan) -> list[Section]:
    """Classification, every image in each of twenty files."""
    files = _scene_files(plan)
    scene = draw_scene(_QUICK_IMAGES) if plan.quick else draw_scene()
    load = classifications.write_classifications(plan.place, scene)
    loop = "label_loop.py"
    contestants = [
        *_ours(classifications.COMPETITION, files.truth, load),
        Contestant(_KIT_LOOP, loop, (files.known, load.folder)),
        Contestant("scikit-learn, other rules", loop, (files.known, load.folder, "--sklearn"), "sklearn"),
    ]
    about = f"20 files of {len(scene.ids):,} lines."
    return [Section("Classification", about, plan.race(contestants), (_KIT_LOOP,))]


def race_action(plan: Plan) -> list[Section]:
    """Action classification of two thousand persons."""
    people, truth = _people(plan)
    load = persons.write_actions(plan.place, people)
    contestants = [
        *_ours(persons.ACTION, truth, load),
        Contestant(_KIT_LOOP, "person_loop.py", (_known_people(plan, people), load.folder)),
    ]
    about = f"{len(persons.ACTIONS)} files of {len(people.owner):,} lines."
    return [Section("Action classification", about, plan.race(contestants), (_KIT_LOOP,))]


def race_layout(plan: Plan) -> list[Section]:
    """Layout of two thousand persons."""
    people, truth = _people(plan)
    load = persons.write_layouts(plan.place, people)
    contestants = [
        *_ours(persons.LAYOUT, truth, load),
        Contestant(_KIT_LOOP, "layout_loop.py", (_known_people(plan, people), load.folder)),
    ]
    about = f"one file of {len(people.owner):,} layouts, {load.unpacked / 1e6:.1f} MB."
    return [Section("Layout of persons", about, plan.race(contestants), (_KIT_LOOP,))]


def _ours(competition: int, truth: Path, load: Results) -> list[Contestant]:
    """The scorer, with the archive and with the folder that the loops read."""
    return [
        Contestant("ours, tar.gz to AP", "ours.py", (competition, truth, load.archive)),
        Contestant("ours, from a folder", "ours.py", (competition, truth, load.folder)),
    ]


def _known_people(plan: Plan, people: persons.LayoutPersons) -> Path:
    path = plan.place / f"people-{len(people.owner)}.npz"
    persons.save_people(people, path)
    return path


def _people(plan: Plan) -> tuple[persons.LayoutPersons, Path]:
    people = persons.draw_people(draw_scene(_QUICK_IMAGES) if plan.quick else draw_scene())
    path = plan.place / f"people-truth-{len(people.owner)}"
    persons.truth_of_people(people).save(path)
    return people, path


def race_segmentation(plan: Plan) -> list[Section]:
    """Segmentation, smooth label images and noisy ones."""
    count = _QUICK_IMAGES // 10 if plan.quick else masks.IMAGES
    truth, truths = plan.place / f"masks-{count}", plan.place / f"seg-truth-{count}"
    if not truth.exists():
        masks.masks_truth(count).save(truth)
        masks.write_truth_images(truths, count)
    sections = []
    for noisy in (False, True):
        load = masks.write_masks(plan.place, count, noisy=noisy)
        contestants = [
            Contestant("ours, tar.gz to IoU", "ours.py", (masks.COMPETITION, truth, load.archive)),
            Contestant(_PIXELS, "pixel_loop.py", (truths, load.folder)),
            Contestant(
                "scikit-learn (a tenth, times ten)",
                "pixel_loop.py",
                (truths, load.folder, "--sklearn"),
                "sklearn",
                10,
            ),
        ]
        about = (
            f"{count:,} indexed PNGs of {masks.WIDTH} by {masks.HEIGHT}, {load.packed / 1e6:.1f} MB packed."
        )
        sections.append(
            Section(
                f"Segmentation, {'noisy' if noisy else 'smooth'}", about, plan.race(contestants), (_PIXELS,)
            )
        )
    return sections


def race_bootstrap(plan: Plan) -> list[Section]:
    """Intervals for twenty classes, from what was kept of a scored archive."""
    files, scene = _scene_files(plan), draw_scene(_QUICK_IMAGES) if plan.quick else draw_scene()
    size = "medium" if "medium" in plan.sizes else plan.sizes[-1]
    load = detections.write_detections(plan.place, scene, size)
    replicates, few = (100, 1) if plan.quick else (1000, 10)
    factor = replicates / few
    contestants = [
        Contestant(
            "ours, drawing included", "replicates.py", ("ours", files.truth, load.archive, replicates)
        ),
        Contestant(
            f"replicate by replicate ({few}, times {factor:.0f})",
            "replicates.py",
            ("naive", files.truth, load.archive, few),
            repeats=factor,
        ),
    ]
    about = f"{replicates} replicates of 20 classes, {detections.SIZES[size]:,} detections."
    return [Section("Bootstrap", about, plan.race(contestants))]


RACES: Final[Mapping[str, Callable[[Plan], list[Section]]]] = MappingProxyType(
    {
        "detection": race_detection,
        "coco": race_coco,
        "classification": race_classification,
        "action": race_action,
        "layout": race_layout,
        "segmentation": race_segmentation,
        "bootstrap": race_bootstrap,
    }
)
"""The races by name, in the order in which they are run."""
