"""Detection by globox, which follows COCO's rules; small loads only. `globox_peer.py KNOWN FOLDER`."""

import sys
from collections.abc import Mapping

from globox import Annotation, AnnotationSet, BoundingBox, COCOEvaluator
from known import class_files, read_known
from serving import serve


def _main(known_file: str, folder: str) -> None:
    known = read_known(known_file)
    sizes = dict(zip(known.ids, known.sizes.tolist(), strict=True))

    def annotations(boxes: dict[str, list[BoundingBox]]) -> AnnotationSet:
        return AnnotationSet(Annotation(image, sizes[image], found) for image, found in boxes.items())

    there: dict[str, list[BoundingBox]] = {image: [] for image in known.ids}
    for image, name, box in zip(known.image, known.name, known.boxes.tolist(), strict=True):
        there[known.ids[image]].append(
            BoundingBox(label=known.classes[name], xmin=box[0], ymin=box[1], xmax=box[2], ymax=box[3])
        )
    truth = annotations(there)

    def run() -> Mapping[str, float]:
        found: dict[str, list[BoundingBox]] = {image: [] for image in known.ids}
        for name, path in class_files(folder).items():
            for line in path.read_text().splitlines():
                image, confidence, *box = line.split()
                left, top, right, bottom = map(float, box)
                found[image].append(
                    BoundingBox(
                        label=name, xmin=left, ymin=top, xmax=right, ymax=bottom, confidence=float(confidence)
                    )
                )
        scorer = COCOEvaluator(ground_truths=truth, predictions=annotations(found))
        return {"mean": float(scorer.ap_50())}

    serve(run)


_main(*sys.argv[1:])
