"""Detection by mean-average-precision, image by image; small loads only. `mean_average_precision_peer.py KNOWN FOLDER`."""

import sys
from collections.abc import Mapping

import numpy as np
from known import class_files, read_known
from mean_average_precision import MetricBuilder
from serving import serve


def _main(known_file: str, folder: str) -> None:
    known = read_known(known_file)
    nothing = np.zeros(len(known.image))
    truth = np.column_stack([known.boxes, known.name, known.difficult, nothing])
    first = np.searchsorted(known.image, np.arange(len(known.ids) + 1))

    def run() -> Mapping[str, float]:
        found: dict[str, list[list[float]]] = {image: [] for image in known.ids}
        files = class_files(folder)
        for number, name in enumerate(known.classes):
            for line in files[name].read_text().splitlines():
                image, confidence, *box = line.split()
                found[image].append([*map(float, box), number, float(confidence)])
        metric = MetricBuilder.build_evaluation_metric(
            "map_2d", async_mode=False, num_classes=len(known.classes)
        )
        for place, image in enumerate(known.ids):
            metric.add(np.array(found[image]).reshape(-1, 6), truth[first[place] : first[place + 1]])
        return {"mean": float(metric.value(iou_thresholds=0.5)["mAP"])}

    serve(run)


_main(*sys.argv[1:])
