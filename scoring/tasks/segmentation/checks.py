"""Checks of label images."""

from scoring.archives.checking import Checked, Inspection
from scoring.archives.fingerprints import digest_of
from scoring.archives.result_files import ResultFile
from scoring.data.label_maps import VOID
from scoring.errors import Problem
from scoring.tasks.segmentation.reader import read_label_image


def check_label_images(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check one label image."""
    found = read_label_image(file.read(), inspection.images, file=file.name, problems=inspection.problems)
    checked.lines += 1
    if found is not None:
        checked.grey += found.grey
        checked.recoloured += found.recoloured
        if found.moved is not None:
            checked.moved[file.name] = found.moved
        labels = found.labels.tobytes()
        checked.painted.update(label for label in range(1, inspection.images.classes + 1) if label in labels)
        checked.digests[file.key] = digest_of(found.labels)


def remark_on_label_images(checked: Checked, inspection: Inspection) -> None:
    """Add one note each for all grey images and all images with another palette."""
    name, total, problems = checked.info.name, len(checked.files), inspection.problems
    if total > 1:
        classes = inspection.images.description.classes
        checked.partial |= {classes[label - 1] for label, images in checked.painted.items() if images == 1}
    if checked.grey:
        message = f"{name}: {checked.grey} of {total} images are grey, not indexed; their values are taken as labels"
        problems.note(Problem("grey-image", message, found=str(checked.grey)))
    if checked.moved:
        problems.warn(_moved_colours(checked, inspection))
    elif checked.recoloured:
        message = (
            f"{name}: {checked.recoloured} of {total} images have a palette that shows labels in other colours than the"
            " development kit; the indices count, not the colours"
        )
        problems.note(Problem("other-palette", message, found=str(checked.recoloured)))


def _moved_colours(checked: Checked, inspection: Inspection) -> Problem:
    """The warning that masks have the development kits' colours at other indices, as programs make them that choose a palette."""
    names = {0: "the background", VOID: "void"}
    names |= {label: f"'{name}'" for label, name in enumerate(inspection.images.description.classes, 1)}
    file, (label, other) = next(iter(checked.moved.items()))
    message = (
        f"{checked.info.name}: in {len(checked.moved):,} of {len(checked.files):,} images the colours of the development kit stand at "
        f"other indices, such as that of {names[other]} ({other}) at {label}, which is {names[label]}. The indices count, not the "
        "colours. Did a program choose the palette?"
    )
    return Problem(
        "moved-colours", message, file, found=f"{other} at {label}", expected="each colour at its label"
    )
