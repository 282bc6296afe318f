"""Break a release: hide faces by Mixup, attack exactly what would be shared, and judge what was found.

A path as argument gets the picture of what was found in Mixup.
"""

import sys
from pathlib import Path

from hideseek.chance import secure
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.report.evidence_sheet import evidence_sheet
from hideseek.score.judge import judge
from hideseek.seek import run
from hideseek.seek.rows.mixup_pairs import MixupPairs

private = normalise(load("faces").take(slice(0, 60)), "channel")

for name, scheme in (("Mixup", Mixup(k=2)), ("InstaHide", InstaHide(k=4))):
    # Every face is hidden ten times, as re-encoding for every epoch does. The secret stays at home.
    release, secret = scheme.hide(private, public=None, chance=secure(), rounds=10)

    # The attack is given the release, and nothing else.
    evidence = run(MixupPairs(), release, secure())
    print(f"{name}: {evidence.seconds:.1f} s, {evidence.memory / 2**20:.0f} MiB")

    # The judge has both, and scores baselines that ignore the release beside the attack.
    judgement = judge(evidence, secret, secure(), metrics=("fitted-ssim", "correlation", "auc"))
    for score in judgement.scores:
        found, baseline = score.interval, score.baselines[score.best_baseline].mean
        verdict = "beats its baseline" if score.beats else "no better than its baseline"
        limits = f"{found.mean:.2f} ({found.low:.2f} to {found.high:.2f}), baseline {baseline:.2f}"
        print(f"  {score.metric:12} {limits}: {verdict}")

    if name == "Mixup":
        assert any(score.beats for score in judgement.scores), "Mixup with reuse is broken"
        picture = evidence_sheet("faces out of Mixup", release, evidence)
        if picture is not None and sys.argv[1:]:
            picture.save(Path(sys.argv[1]))
